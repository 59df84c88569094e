package jira

import (
	"encoding/json"
	"errors"
	"strings"
)

// plainText reads a body: null, wiki text of version 2, or a document of version 3 (ADF), of which only the words and their
// lines are kept.
func plainText(raw json.RawMessage) (string, error) {
	s := strings.TrimSpace(string(raw))
	switch {
	case s == "" || s == "null":
		return "", nil
	case s[0] == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	}
	var doc adfNode
	if err := json.Unmarshal(raw, &doc); err != nil {
		return "", err
	}
	if doc.Type != "doc" {
		return "", errors.New("neither a text nor a document")
	}
	var w adfWriter
	w.node(&doc, 0)
	return strings.Trim(w.b.String(), "\n"), nil
}

type adfNode struct {
	Type    string    `json:"type"`
	Text    string    `json:"text"`
	Content []adfNode `json:"content"`
	Attrs   adfAttrs  `json:"attrs"`
}

// adfAttrs are the attributes that hold words. What has another shape holds none.
type adfAttrs struct{ text, url, short string }

func (a *adfAttrs) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	str := func(k string) (s string) {
		_ = json.Unmarshal(m[k], &s) // no string: no words
		return s
	}
	a.text, a.url, a.short = str("text"), str("url"), str("shortName")
	return nil
}

type adfWriter struct{ b strings.Builder }

// maxDepth of a document; what lies deeper is left out.
const maxDepth = 64

func (w *adfWriter) node(n *adfNode, depth int) {
	if depth > maxDepth {
		return
	}
	switch n.Type {
	case "text":
		w.b.WriteString(n.Text)
	case "hardBreak":
		w.b.WriteByte('\n')
	case "mention", "status":
		w.b.WriteString(n.Attrs.text)
	case "emoji":
		if n.Attrs.text != "" {
			w.b.WriteString(n.Attrs.text)
		} else {
			w.b.WriteString(n.Attrs.short)
		}
	case "inlineCard", "blockCard", "embedCard":
		w.b.WriteString(n.Attrs.url)
	}
	for i := range n.Content {
		w.node(&n.Content[i], depth+1)
	}
	switch n.Type {
	case "paragraph", "heading", "codeBlock", "rule", "tableRow", "blockCard", "embedCard":
		w.b.WriteByte('\n')
	case "tableCell", "tableHeader":
		w.b.WriteByte('\t')
	}
}
