package main

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/fullsend-ai/discovery/internal/poll"
	"github.com/fullsend-ai/discovery/query"
)

// planSchema names the form of planView.
const planSchema = "plan/v1"

// planView is the plans as programs read them.
type planView struct {
	Schema string      `json:"schema"`
	Scopes []planScope `json:"scopes"`
}

type planScope struct {
	Driver     string          `json:"driver"`
	Container  string          `json:"container"`
	Kind       query.Kind      `json:"kind"`
	Error      string          `json:"error,omitempty"` // why it cannot be planned
	Hash       string          `json:"hash,omitempty"`
	Sources    int             `json:"sources"`
	Harnesses  int             `json:"harnesses"`
	Searches   []planSearch    `json:"searches"`
	Weakened   []planWeakening `json:"weakened"`
	Unanchored []string        `json:"unanchored"`
	Cost       []string        `json:"cost"`
	Refused    []planRefusal   `json:"refused"`
	Warnings   []string        `json:"warnings"`
}

type planSearch struct {
	Walk string `json:"walk"`
	Text string `json:"text"`
}

type planWeakening struct {
	Source string `json:"source"`
	Test   string `json:"test,omitempty"` // "" is the whole source
	Why    string `json:"why"`
}

type planRefusal struct {
	Source string `json:"source"`
	Field  string `json:"field,omitempty"`
	Why    string `json:"why"`
}

// viewOf has a list, be it empty, wherever the schema has one.
func viewOf(plans []poll.PlanView) *planView {
	v := &planView{Schema: planSchema, Scopes: []planScope{}}
	for i := range plans {
		p := &plans[i]
		s := planScope{
			Driver: p.Driver, Container: p.Container, Kind: p.Kind, Hash: p.Hash, Sources: p.Sources, Harnesses: p.Harnesses,
			Searches: []planSearch{}, Weakened: []planWeakening{}, Refused: []planRefusal{},
			Unanchored: list(p.Unanchored), Cost: list(p.Cost), Warnings: list(p.Warnings),
		}
		if p.Err != nil {
			s.Error = p.Err.Error()
		}
		for _, x := range p.Searches {
			s.Searches = append(s.Searches, planSearch(x))
		}
		for i := range p.Weakened {
			x := &p.Weakened[i]
			s.Weakened = append(s.Weakened, planWeakening{x.Source, leafText(x), x.Why})
		}
		for _, x := range p.Refused {
			s.Refused = append(s.Refused, planRefusal{x.Source, x.Field, x.Why})
		}
		v.Scopes = append(v.Scopes, s)
	}
	return v
}

func list(s []string) []string { return append([]string{}, s...) }

// leafText is the test that was weakened; "" when it is the whole source.
func leafText(w *query.Weakening) string {
	if w.Leaf.Field == 0 {
		return ""
	}
	return strings.TrimSpace(w.Leaf.String())
}

func encodePlan(w io.Writer, v *planView) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
