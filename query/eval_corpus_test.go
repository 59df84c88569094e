package query_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
)

// The corpus is part of the protocol: testdata/v1/README.md describes its format. Lines that begin with -> are what the
// case above must give, all of it and in this order.
func TestEvaluationCorpus(t *testing.T) {
	eachCorpusCase(t, "testdata/v1/eval-*.txt", func(t *testing.T, lines []string) []string {
		c := &evalCase{standings: map[string]query.Standing{}}
		for _, line := range lines {
			require.NoError(t, c.apply(line), line)
		}
		return c.run(t)
	})
}

// eachCorpusCase runs every case of the files: lines before the first case are settings of all, what begins with -> is
// what run must give.
func eachCorpusCase(t *testing.T, pattern string, run func(*testing.T, []string) []string) {
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			head, rest, _ := strings.Cut(string(data), "\ncase ")
			out := bytes.NewBufferString(head + "\n")
			for _, block := range strings.Split(rest, "\ncase ") {
				lines := strings.Split(strings.TrimSpace(block), "\n")
				inputs, want := inputsAndWants(lines[1:])
				t.Run(lines[0], func(t *testing.T) {
					got := run(t, append(settings(head), settings(strings.Join(inputs, "\n"))...))
					fmt.Fprintf(out, "case %s\n%s\n", lines[0], strings.Join(append(inputs, prefixed(got)...), "\n"))
					if !*update {
						assert.Equal(t, want, got)
					}
				})
				out.WriteString("\n")
			}
			if *update {
				require.NoError(t, os.WriteFile(file, append(bytes.TrimSpace(out.Bytes()), '\n'), 0o644))
			}
		})
	}
}

func inputsAndWants(lines []string) (inputs, want []string) {
	for _, line := range lines {
		if result, ok := strings.CutPrefix(line, "-> "); ok {
			want = append(want, result)
		} else {
			inputs = append(inputs, line)
		}
	}
	return inputs, want
}

func settings(text string) []string {
	return slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" || l[0] == '#' })
}

func prefixed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = "-> " + l
	}
	return out
}

type evalCase struct {
	cat       *query.Catalogue
	self      string
	now       time.Time
	text      string
	facts     query.Facts
	standings map[string]query.Standing
}

// splitWords splits at spaces outside quotes.
func splitWords(line string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(line, func(r rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}

func (c *evalCase) apply(line string) (err error) {
	words := splitWords(line)
	args := words[1:]
	switch words[0] {
	case "on":
		c.cat = query.NewCatalogue(args[0], query.Kind(args[1]), nil)
	case "self":
		c.self = args[0]
	case "now":
		c.now, err = time.Parse(time.RFC3339Nano, args[0])
	case "query":
		c.text = strings.TrimPrefix(line, "query ")
	case "admit", "exclude":
		for _, id := range args {
			c.standings[id] = map[string]query.Standing{"admit": query.Admitted, "exclude": query.Excluded}[words[0]]
		}
	case "fact":
		err = c.fact(args)
	case "item":
		err = c.item(args)
	default:
		err = fmt.Errorf("unknown directive %q", words[0])
	}
	return err
}

func (c *evalCase) fact(args []string) error {
	field, ok := c.cat.Field(args[0])
	if !ok {
		return fmt.Errorf("no field %q", args[0])
	}
	fact := query.Fact{Presence: query.Known}
	for _, a := range args[1:] {
		switch {
		case a == "known":
		case a == "partial":
			fact.Presence = query.Partial
		case a == "unknown":
			fact.Presence = query.Unknown
		case strings.HasPrefix(a, "rev="):
			fact.Rev = strings.TrimPrefix(a, "rev=")
		default:
			v, err := parseValue(field.Type, a)
			if err != nil {
				return err
			}
			fact.Values = append(fact.Values, v)
		}
	}
	c.facts.Set(field.ID, fact)
	return nil
}

func (c *evalCase) item(args []string) error {
	field, ok := c.cat.Field(args[0])
	if !ok {
		return fmt.Errorf("no field %q", args[0])
	}
	e := query.Element{Key: args[1], Rev: "r1", Editors: query.EditorsNamed}
	for _, a := range args[2:] {
		name, text, _ := strings.Cut(a, "=")
		var err error
		switch name {
		case "rev":
			e.Rev = text
		case "by":
			e.Actor, err = parseUser(text)
		case "at":
			e.At, err = time.Parse(time.RFC3339Nano, text)
		case "editors":
			e.Editors = map[string]query.Editors{"named": query.EditorsNamed, "possible": query.EditorsPossible, "unread": query.EditorsUnread}[text]
		default:
			err = addMember(&e, field, name, text)
		}
		if err != nil {
			return err
		}
	}
	slices.SortFunc(e.Members, func(a, b query.Member) int { return int(a.ID) - int(b.ID) })
	fact := *c.facts.Get(field.ID)
	if fact.Presence == query.Unknown {
		fact.Presence = query.Known
	}
	fact.Items = append(fact.Items, e)
	c.facts.Set(field.ID, fact)
	return nil
}

func addMember(e *query.Element, field *query.Field, name, text string) error {
	m, ok := field.Member(name)
	if !ok {
		return fmt.Errorf("%s has no member %q", field.Name, name)
	}
	fact := query.Fact{Presence: query.Known}
	if m.ID == query.MOnHead {
		text, fact.Rev, _ = strings.Cut(text, "@")
	}
	switch text {
	case "?":
		fact.Presence = query.Unknown
	case "":
	default:
		v, err := parseValue(m.Type, text)
		if err != nil {
			return err
		}
		fact.Values = []query.Value{v}
	}
	e.Members = append(e.Members, query.Member{ID: m.ID, Fact: fact})
	return nil
}

func parseValue(t query.Type, s string) (query.Value, error) {
	str := s
	if strings.HasPrefix(s, `"`) {
		var err error
		if str, err = strconv.Unquote(s); err != nil {
			return query.Value{}, fmt.Errorf("value %s: %w", s, err)
		}
	}
	switch t {
	case query.TypeBool:
		b, err := strconv.ParseBool(s)
		return query.Bool(b), err
	case query.TypeInstant:
		at, err := time.Parse(time.RFC3339Nano, s)
		return query.Instant(at), err
	case query.TypeDate:
		day, err := time.Parse(time.DateOnly, s)
		return query.Date(day), err
	case query.TypeUser:
		u, err := parseUser(s)
		return query.UserValue(u), err
	case query.TypeCustom:
		return parseCustom(s, str), nil
	}
	return query.Value{Type: t, Str: str}, nil
}

// parseCustom takes the type from the spelling.
func parseCustom(s, str string) query.Value {
	if at, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return query.Instant(at)
	}
	if day, err := time.Parse(time.DateOnly, s); err == nil {
		return query.Date(day)
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return query.Number(n)
	}
	if b, err := strconv.ParseBool(s); err == nil {
		return query.Bool(b)
	}
	return query.Name(str)
}

// parseUser reads ID:LOGIN, bot:ID:LOGIN, nobody or deleted.
func parseUser(s string) (query.User, error) {
	switch s {
	case "nobody":
		return query.User{}, nil
	case "deleted":
		return query.User{Deleted: true}, nil
	}
	var u query.User
	s, u.Bot = strings.CutPrefix(s, "bot:")
	id, login, ok := strings.Cut(s, ":")
	if !ok {
		return u, fmt.Errorf("user %q: want ID:LOGIN", s)
	}
	u.ID, u.Login = id, login
	return u, nil
}

func (c *evalCase) view(_ query.FieldID, e *query.Element) query.Standing {
	if e.Editors == query.EditorsUnread {
		return query.Undecided
	}
	return c.standings[e.Actor.ID]
}

func (c *evalCase) run(t *testing.T) []string {
	b := bindText(t, c.text, c.cat, c.self)
	r := b.Eval(&c.facts, c.view, c.now)
	lines := []string{r.Verdict.String()}
	for _, n := range r.Needs {
		lines = append(lines, "needs "+c.need(n))
	}
	if !r.Until.IsZero() {
		lines = append(lines, "until "+r.Until.Format(time.RFC3339Nano))
	}
	if len(r.RestsOn) > 0 {
		lines = append(lines, "rests on "+strings.Join(r.RestsOn, " "))
	}
	for _, term := range b.Support(&c.facts, c.view, c.now).Terms {
		lines = append(lines, "support "+c.term(term))
	}
	return lines
}

func bindText(t *testing.T, text string, cat *query.Catalogue, self string) *query.Bound {
	q, ds := query.Parse(text)
	require.False(t, ds.Failed(), "%s: %v", text, ds)
	b, ds := q.Bind(cat.Kind(), cat, query.Env{Self: self})
	require.False(t, ds.Failed(), "%s: %v", text, ds)
	return b
}

func (c *evalCase) fieldName(id query.FieldID) string {
	f, ok := c.cat.ByID(id)
	if !ok {
		return fmt.Sprint("field ", id)
	}
	return f.Name
}

func (c *evalCase) need(n query.Need) string {
	switch name := c.fieldName(n.Field); {
	case n.Actor != "":
		return "role of " + n.Actor + " for " + name
	case n.Element != "":
		return "writer of " + name + " " + n.Element
	default:
		return name
	}
}

func (c *evalCase) term(term query.Term) string {
	s := fmt.Sprintf("{%s} %s", term.Test, c.fieldName(term.Field))
	for _, v := range term.Values {
		s += " " + showValue(v)
	}
	for _, e := range term.Elements {
		s += " " + e.Key + "@" + e.Rev
	}
	if term.Rev != "" {
		s += " rev=" + term.Rev
	}
	return s
}

func showValue(v query.Value) string {
	switch v.Type {
	case query.TypeBool:
		return strconv.FormatBool(v.Bool)
	case query.TypeInstant:
		return v.Time.Format(time.RFC3339Nano)
	case query.TypeDate:
		return v.Time.Format(time.DateOnly)
	case query.TypeNumber:
		return strconv.FormatFloat(v.Num, 'g', -1, 64)
	case query.TypeUser:
		if v.User.Deleted {
			return "deleted"
		}
		return v.User.ID + ":" + v.User.Login
	case query.TypeWord:
		return v.Str
	}
	return strconv.Quote(v.Str)
}
