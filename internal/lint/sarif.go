package lint

import (
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/fullsend-ai/discovery/internal/diag"
)

// The part of SARIF 2.1.0 that is written.
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Help    string       `json:"helpUri"`
		Short   sarifText    `json:"shortDescription"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int        `json:"startLine"`
		StartColumn int        `json:"startColumn,omitempty"`
		EndLine     int        `json:"endLine,omitempty"`
		EndColumn   int        `json:"endColumn,omitempty"`
		Snippet     *sarifText `json:"snippet,omitempty"`
	}
)

// pages is where the page of each diagnostic lies.
const pages = "https://github.com/fullsend-ai/discovery/blob/main/docs/lint/"

func (r Report) sarif(w io.Writer, version string) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "fullsend query-lint", Version: version, Rules: []sarifRule{}}
	index := map[string]int{}
	for i, rule := range Rules() {
		index[rule.Code] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.Code, pages + rule.Code + ".md", sarifText{rule.Title}, sarifDefault{sarifLevel(rule.Severity)}})
	}
	for _, d := range r.Diagnostics {
		i, ok := index[d.Code]
		if !ok {
			i = -1
		}
		msg := diag.Clean(d.Message)
		if d.Suggest != "" {
			msg += "; " + diag.Clean(d.Suggest)
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: d.Code, RuleIndex: i, Level: sarifLevel(d.Severity), Message: sarifText{msg},
			Locations: []sarifLocation{{sarifPhysical{sarifArtifact{fileURI(d.File)}, region(d)}}},
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{run},
	})
}

func region(d diag.Diagnostic) *sarifRegion {
	if d.Line == 0 {
		return nil
	}
	g := &sarifRegion{StartLine: d.Line, StartColumn: d.Col, EndLine: d.EndLine, EndColumn: d.EndCol}
	if d.Snippet != "" {
		g.Snippet = &sarifText{diag.Clean(d.Snippet)}
	}
	return g
}

func sarifLevel(s diag.Severity) string {
	if s == diag.Info {
		return "note"
	}
	return s.String()
}

// fileURI is relative to where the command ran, as code hosts expect; the colon of a first part would make it a scheme.
func fileURI(file string) string {
	u := url.URL{Path: path.Clean(strings.ReplaceAll(file, `\`, "/"))}
	return u.String()
}
