package conformance

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/query"
)

// The profiles. Every adapter passes core; extended cases are about what only some providers have.
const (
	Core     = "core"
	Extended = "extended"
)

// Case is one story about an adapter. Its file format is described in README.md.
type Case struct {
	Name    string     `json:"name"` // group/name, with the kind behind it where the file is for each
	Title   string     `json:"title"`
	Clauses []string   `json:"clauses"`
	Profile string     `json:"profile"`
	Kind    query.Kind `json:"kind"`
	Kills   string     `json:"kills"` // the fault that it is there for
	Needs   []string   `json:"needs,omitempty"`
	Explain string     `json:"explanation"`

	hints     map[string]string
	sweep     time.Duration
	recheck   time.Duration
	budget    int
	as        string
	only      []string // providers
	agents    map[string]adapters.Role
	setup     []line
	queries   []source
	questions []question
	steps     []line
}

// Group is the folder of the case.
func (c *Case) Group() string { g, _, _ := strings.Cut(c.Name, "/"); return g }

// words are the verbs, steps and placeholders of the case.
func (c *Case) words() []string {
	seen := map[string]bool{}
	text := func(s string) {
		for _, m := range placeholder.FindAllString(s, -1) {
			seen[m] = true
		}
	}
	for _, l := range slices.Concat(c.setup, c.steps) {
		text(l.text)
		seen[l.words[0]] = true
		if l.words[0] == "repeat" && len(l.words) > 2 {
			seen[l.words[2]] = true
		}
	}
	for _, q := range c.queries {
		text(q.text)
	}
	for _, q := range c.questions {
		text(q.text)
	}
	return sortedKeys(seen)
}

// waits reports whether a fault is followed by a time in which its backoff passes.
func (c *Case) waits() bool {
	faulty := false
	for _, l := range c.steps {
		faulty = faulty || l.words[0] == "fault"
		if by, ok := strings.CutPrefix(l.words[len(l.words)-1], "by="); ok && l.words[0] == "advance" && faulty {
			if d, err := time.ParseDuration(by); err != nil || d > time.Minute {
				return true
			}
		}
	}
	return false
}

// makes counts the entities that the case makes.
func (c *Case) makes() int {
	n := 0
	for _, l := range slices.Concat(c.setup, c.steps) {
		switch {
		case l.words[0] == "create":
			n++
		case l.words[0] == "repeat" && len(l.words) > 2 && l.words[2] == "create":
			if k, err := strconv.Atoi(l.words[1]); err == nil {
				n += k
			}
		}
	}
	return n
}

// line is one line of a script, with its place in the file.
type line struct {
	no    int
	text  string
	words []string
}

// source is one line of the section queries.
type source struct {
	harness   string
	threshold adapters.Role
	self      string
	text      string
}

// question is one line of the section matches: a query and the entities that it must find alone.
type question struct {
	line
	threshold adapters.Role
	text      string
	match     []string
	undecided []string
}

// parser reads one file.
type parser struct {
	name  string
	cases Case
	kinds []query.Kind
	no    int
}

// Parse reads a case file. Name is group/name; a file for each kind gives two cases. Errors name the line.
func Parse(name, text string) ([]*Case, error) {
	p := &parser{name: name, kinds: []query.Kind{query.WorkItem}}
	p.cases = Case{Name: name, Profile: Core, as: "admin", sweep: 24 * time.Hour}
	if err := p.file(text); err != nil {
		return nil, fmt.Errorf("%s.txt:%d: %w", name, p.no, err)
	}
	if err := p.whole(); err != nil {
		return nil, fmt.Errorf("%s.txt: %w", name, err)
	}
	var out []*Case
	for _, k := range p.kinds {
		c := p.cases
		c.Kind = k
		if len(p.kinds) > 1 {
			c.Name += "/" + string(k)
		}
		out = append(out, &c)
	}
	return out, nil
}

func (p *parser) file(text string) error {
	sc := bufio.NewScanner(strings.NewReader(text))
	section := "title"
	var explain []string
	for sc.Scan() {
		p.no++
		l := strings.TrimRight(sc.Text(), " \t\r")
		if name, ok := strings.CutPrefix(l, "-- "); ok && strings.HasSuffix(name, " --") {
			section = strings.TrimSuffix(name, " --")
			if !slices.Contains([]string{"setup", "queries", "matches", "steps"}, section) {
				return fmt.Errorf("section %q: want setup, queries, matches or steps", section)
			}
			continue
		}
		var err error
		switch section {
		case "title":
			title, ok := strings.CutPrefix(l, "# ")
			if !ok {
				return fmt.Errorf("the first line is the title: # What must be so")
			}
			p.cases.Title, section = title, "header"
		case "header":
			if l == "" {
				section = "explanation"
				continue
			}
			err = p.header(l)
		case "explanation":
			explain = append(explain, l)
		default:
			err = p.body(section, l)
		}
		if err != nil {
			return err
		}
	}
	p.cases.Explain = strings.TrimSpace(strings.Join(explain, "\n"))
	return sc.Err()
}

func (p *parser) header(l string) error {
	key, val, ok := strings.Cut(l, ":")
	if !ok {
		return fmt.Errorf("header %q: want key: value, and an empty line behind the header", l)
	}
	val = strings.TrimSpace(val)
	c := &p.cases
	var err error
	switch key {
	case "clause":
		c.Clauses = strings.Fields(val)
	case "profile":
		c.Profile = val
		if val != Core && val != Extended {
			return fmt.Errorf("profile %q: want core or extended", val)
		}
	case "kind":
		err = p.kind(val)
	case "kills":
		c.Kills = val
	case "needs":
		c.Needs = append(c.Needs, val)
	case "only":
		c.only = strings.Fields(val)
	case "stage":
		c.hints, err = pairs(strings.Fields(val))
	case "sweep":
		c.sweep, err = time.ParseDuration(val)
	case "recheck":
		c.recheck, err = time.ParseDuration(val)
	case "budget":
		_, err = fmt.Sscan(val, &c.budget)
	case "as":
		c.as = val
	case "agents":
		c.agents, err = accounts(val)
	default:
		return fmt.Errorf("header %q is not known", key)
	}
	if err != nil {
		return fmt.Errorf("header %s: %w", key, err)
	}
	return nil
}

// accounts reads "robo=write helper=none".
func accounts(s string) (map[string]adapters.Role, error) {
	kv, err := pairs(strings.Fields(s))
	if err != nil {
		return nil, err
	}
	out := map[string]adapters.Role{}
	for who, role := range kv {
		if role == "unlisted" {
			out[who] = adapters.NoRole
			continue
		}
		if out[who], err = adapters.ParseRole(role); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (p *parser) kind(val string) error {
	switch val {
	case "each":
		p.kinds = []query.Kind{query.WorkItem, query.ChangeProposal}
	case string(query.WorkItem), string(query.ChangeProposal):
		p.kinds = []query.Kind{query.Kind(val)}
	default:
		return fmt.Errorf("%q: want work_item, change_proposal or each", val)
	}
	return nil
}

func (p *parser) body(section, l string) error {
	trimmed := strings.TrimSpace(l)
	if trimmed == "" || trimmed[0] == '#' {
		return nil
	}
	c := &p.cases
	switch section {
	case "queries":
		s, err := readSource(trimmed)
		c.queries = append(c.queries, s)
		return err
	case "matches":
		q, err := p.question(trimmed)
		c.questions = append(c.questions, q)
		return err
	}
	words, err := split(l)
	if err != nil {
		return err
	}
	ln := line{p.no, trimmed, words}
	if section == "setup" {
		c.setup = append(c.setup, ln)
		return nil
	}
	c.steps = append(c.steps, ln)
	return checkStep(ln)
}

// readSource reads "code [write] [self=robo]: v1: …".
func readSource(l string) (source, error) {
	head, text, ok := strings.Cut(l, ":")
	if !ok {
		return source{}, fmt.Errorf("query %q: want name: v1: …", l)
	}
	s := source{threshold: adapters.Write, text: strings.TrimSpace(text)}
	for i, w := range strings.Fields(head) {
		who, isSelf := strings.CutPrefix(w, "self=")
		switch {
		case i == 0:
			s.harness = w
		case isSelf:
			s.self = who
		default:
			r, err := adapters.ParseRole(w)
			if err != nil {
				return s, err
			}
			s.threshold = r
		}
	}
	if s.harness == "" {
		return s, fmt.Errorf("query %q has no name", l)
	}
	return s, nil
}

// question reads "[triage] v1: … => a b ?c".
func (p *parser) question(l string) (question, error) {
	q := question{line: line{no: p.no, text: l}, threshold: adapters.Write}
	text, found, ok := cutLast(l, "=>")
	if !ok {
		return q, fmt.Errorf("match %q: want query => entities", l)
	}
	text = strings.TrimSpace(text)
	if role, rest, ok := strings.Cut(text, " "); ok && !strings.HasPrefix(text, "v") {
		r, err := adapters.ParseRole(role)
		if err != nil {
			return q, err
		}
		q.threshold, text = r, strings.TrimSpace(rest)
	}
	q.text = text
	words := strings.Fields(found)
	if len(words) == 0 {
		return q, fmt.Errorf("match %q: write none where nothing is found", l)
	}
	for _, w := range words {
		if w == "none" {
			continue
		}
		name, maybe := strings.CutPrefix(w, "?")
		names, err := unfold(name)
		if err != nil {
			return q, err
		}
		if maybe {
			q.undecided = append(q.undecided, names...)
		} else {
			q.match = append(q.match, names...)
		}
	}
	return q, nil
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// whole checks what only the end of the file can tell.
func (p *parser) whole() error {
	c := &p.cases
	switch {
	case len(c.Clauses) == 0:
		return fmt.Errorf("it names no clause")
	case c.Kills == "":
		return fmt.Errorf("it does not say what fault it kills")
	case c.Explain == "":
		return fmt.Errorf("it explains nothing: say why the rule is there, behind the header")
	case len(c.questions) == 0 && !slices.ContainsFunc(c.steps, func(l line) bool { return l.words[0] == "expect" || l.words[0] == "try" }):
		return fmt.Errorf("it expects nothing, so it cannot fail")
	}
	return nil
}
