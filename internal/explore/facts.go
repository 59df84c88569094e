package explore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/query"
)

// MaxFacts is how large a facts file may be, in bytes.
const MaxFacts = 8 << 20

// File is a facts file: what is known of one entity, and whose elements are admitted. docs/facts.md has the format.
type File struct {
	Provider string
	Kind     query.Kind
	Self     string    // stable id
	Now      time.Time // zero: not given

	admit, exclude []string
	others         query.Standing
	facts          object
}

// ReadFacts reads a file's frame; Facts reads what it says of the entity, for which the catalogue is needed. All that is
// wrong is in the error, one line each.
func ReadFacts(r io.Reader) (*File, error) {
	src, err := io.ReadAll(io.LimitReader(r, MaxFacts+1))
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	if len(src) > MaxFacts {
		return nil, fmt.Errorf("facts have more than %d bytes", MaxFacts)
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	d := &decoder{}
	f := &File{}
	top, ok := d.object("", src)
	if ok {
		d.frame(f, top)
	}
	return f, errors.Join(d.errs...)
}

func (d *decoder) frame(f *File, top object) {
	d.only("", top, "provider", "kind", "self", "now", "admit", "exclude", "others", "facts")
	f.Provider = d.text("provider", top.get("provider"))
	if f.Provider != "" && !slices.Contains(Providers(), f.Provider) {
		d.add("provider", "unknown provider %q; %s", f.Provider, diag.DidYouMean(f.Provider, Providers()))
	}
	f.Kind = query.Kind(d.text("kind", top.get("kind")))
	if f.Kind != "" && !slices.Contains(Kinds(), f.Kind) {
		d.add("kind", "unknown kind %q; use work_item or change_proposal", f.Kind)
	}
	f.Self = strings.TrimPrefix(d.text("self", top.get("self")), "id:")
	if raw := top.get("now"); raw != nil {
		f.Now = d.instant("now", raw)
	}
	f.admit, f.exclude = d.texts("admit", top.get("admit")), d.texts("exclude", top.get("exclude"))
	if s := d.text("others", top.get("others")); s != "" {
		standing, ok := map[string]query.Standing{"admitted": query.Admitted, "excluded": query.Excluded, "undecided": query.Undecided}[s]
		if !ok {
			d.add("others", "%q is no standing; use admitted, excluded or undecided", s)
		}
		f.others = standing
	}
	if raw := top.get("facts"); raw != nil {
		f.facts, _ = d.object("facts", raw)
	}
}

// View is what the file says of the writers: those listed, then all others. Attribution that was not read is undecided,
// and what nobody wrote is excluded.
func (f *File) View() query.View {
	return func(_ query.FieldID, e *query.Element) query.Standing {
		switch {
		case e.Editors == query.EditorsUnread:
			return query.Undecided
		case e.Actor.ID == "" || e.Actor.Deleted:
			return query.Excluded
		case slices.Contains(f.exclude, e.Actor.ID):
			return query.Excluded
		case slices.Contains(f.admit, e.Actor.ID):
			return query.Admitted
		}
		return f.others
	}
}

// Facts reads the entity's facts by the catalogue's types. What the file does not name is unknown.
func (f *File) Facts(c *query.Catalogue) (*query.Facts, error) {
	d := &decoder{}
	out := &query.Facts{}
	for _, m := range f.facts {
		at := "facts." + m.name
		field, ok := c.Field(m.name)
		if !ok {
			d.add(at, "%s of %s have no such field; %s", kindsText([]query.Kind{c.Kind()}), c.Provider(), diag.DidYouMean(m.name, c.Names()))
			continue
		}
		if field.Type == query.TypeElements {
			out.Set(field.ID, d.elements(at, field, m.raw))
		} else {
			out.Set(field.ID, d.fact(at, field, m.raw))
		}
	}
	return out, errors.Join(d.errs...)
}

// object keeps the members of a JSON object in order, so that messages are, and finds repeated ones.
type object []struct {
	name string
	raw  json.RawMessage
}

func (o object) get(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.raw
		}
	}
	return nil
}

// decoder collects what is wrong, with its path.
type decoder struct{ errs []error }

func (d *decoder) add(at, format string, args ...any) {
	msg := fmt.Sprintf(format, args...)
	if at != "" {
		msg = at + ": " + msg
	}
	d.errs = append(d.errs, errors.New(msg))
}

func (d *decoder) object(at string, raw []byte) (object, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	t, err := dec.Token()
	if err != nil {
		d.add(at, "%s", jsonError(raw, err))
		return nil, false
	}
	if t != json.Delim('{') {
		d.add(at, "an object is wanted")
		return nil, false
	}
	var o object
	for dec.More() {
		t, err := dec.Token()
		var v json.RawMessage
		if err == nil {
			err = dec.Decode(&v)
		}
		if err != nil {
			d.add(at, "%s", jsonError(raw, err))
			return nil, false
		}
		name, _ := t.(string)
		if o.get(name) != nil {
			d.add(at, "%q stands twice", name)
		}
		o = append(o, struct {
			name string
			raw  json.RawMessage
		}{name, v})
	}
	if _, err := dec.Token(); err != nil {
		d.add(at, "%s", jsonError(raw, err))
		return nil, false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		d.add(at, "something follows the object")
		return nil, false
	}
	return o, true
}

// jsonError says where JSON ends to be JSON.
func jsonError(src []byte, err error) string {
	var se *json.SyntaxError
	if errors.As(err, &se) {
		line := 1 + bytes.Count(src[:min(int(se.Offset), len(src))], []byte("\n"))
		return fmt.Sprintf("line %d: not JSON: %v", line, err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "not JSON: it ends too early"
	}
	return fmt.Sprintf("not JSON: %v", err)
}

func (d *decoder) only(at string, o object, known ...string) {
	for _, m := range o {
		if !slices.Contains(known, m.name) {
			d.add(at, "unknown member %q; %s", m.name, diag.DidYouMean(m.name, known))
		}
	}
}

func (d *decoder) text(at string, raw json.RawMessage) string {
	var s string
	if raw == nil {
		return ""
	}
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		d.add(at, "a string is wanted, not %s", shortJSON(raw))
	}
	return s
}

func (d *decoder) texts(at string, raw json.RawMessage) (out []string) {
	for i, r := range d.list(at, raw) {
		s := d.text(fmt.Sprintf("%s[%d]", at, i), r)
		id, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(s, "id:"), "bot:"), ":")
		out = append(out, id)
	}
	return out
}

func (d *decoder) list(at string, raw json.RawMessage) (out []json.RawMessage) {
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		d.add(at, "a list is wanted, not %s", shortJSON(raw))
	}
	return out
}

func (d *decoder) instant(at string, raw json.RawMessage) time.Time {
	s := d.text(at, raw)
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		d.add(at, "%q is no instant; write 2026-01-31T09:00:00Z", s)
	}
	return t.UTC()
}

func shortJSON(raw json.RawMessage) string {
	s := string(raw)
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return s
}

// known spells out how much of a fact is given: {"unknown": why}, {"partial": […]}, {"known": …, "rev": …}, or the
// value itself.
type known struct {
	presence query.Presence
	why, rev string
	raw      json.RawMessage // null: empty
}

func (d *decoder) known(at string, raw json.RawMessage) known {
	k := known{presence: query.Known, raw: raw}
	if raw[0] != '{' {
		return k
	}
	o, ok := d.object(at, raw)
	if !ok {
		return k
	}
	part := o.get("unknown") != nil || o.get("partial") != nil || o.get("known") != nil
	if !part {
		return k
	}
	d.only(at, o, "unknown", "partial", "known", "rev", "why")
	k.rev, k.why = d.text(at+".rev", o.get("rev")), d.text(at+".why", o.get("why"))
	switch {
	case o.get("unknown") != nil:
		k.presence, k.why, k.raw = query.Unknown, d.text(at+".unknown", o.get("unknown")), nil
	case o.get("partial") != nil:
		k.presence, k.raw = query.Partial, o.get("partial")
	default:
		k.raw = o.get("known")
	}
	return k
}

// several turns null, a value or a list into a list.
func (d *decoder) several(at string, raw json.RawMessage) []json.RawMessage {
	switch {
	case raw == nil || string(raw) == "null":
		return nil
	case raw[0] == '[':
		return d.list(at, raw)
	}
	return []json.RawMessage{raw}
}

func (d *decoder) fact(at string, f *query.Field, raw json.RawMessage) query.Fact {
	k := d.known(at, raw)
	fact := query.Fact{Presence: k.presence, Why: k.why, Rev: k.rev}
	values := d.several(at, k.raw)
	for i, v := range values {
		if i == 1 && !f.Many {
			d.add(at, "%s has one value", f.Name)
			break
		}
		if value, ok := d.value(at, f, v); ok {
			fact.Values = append(fact.Values, value)
		}
	}
	if k.presence == query.Known && len(values) == 0 && f.Empty == query.NeverEmpty {
		d.add(at, "%s is never empty; leave it out where it is not known", f.Name)
	}
	return fact
}

func (d *decoder) value(at string, f *query.Field, raw json.RawMessage) (query.Value, bool) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		d.add(at, "%s", jsonError(raw, err))
		return query.Value{}, false
	}
	s, isText := v.(string)
	before := len(d.errs)
	var out query.Value
	switch {
	case f.Type == query.TypeCustom:
		out = d.custom(at, v, raw)
	case f.Type == query.TypeBool:
		b, ok := v.(bool)
		if !ok {
			d.add(at, "true or false is wanted, not %s", shortJSON(raw))
		}
		out = query.Bool(b)
	case !isText:
		d.add(at, "a string is wanted for %s, which is a %s, not %s", f.Name, typeName(f), shortJSON(raw))
	case f.Type == query.TypeWord:
		if !slices.Contains(f.Words, s) {
			d.add(at, "%q is no word of %s; %s", s, f.Name, diag.DidYouMean(s, f.Words))
		}
		out = query.Word(s)
	case f.Type == query.TypeRef:
		out = query.Ref(s)
	case f.Type == query.TypeText:
		out = query.Text(s)
	case f.Type == query.TypeInstant:
		out = query.Instant(d.instant(at, raw))
	case f.Type == query.TypeDate:
		day, err := time.Parse(time.DateOnly, s)
		if err != nil {
			d.add(at, "%q is no day; write 2026-01-31", s)
		}
		out = query.Date(day)
	case f.Type == query.TypeUser:
		out = query.UserValue(d.user(at, raw))
	default:
		out = query.Name(s)
	}
	return out, len(d.errs) == before
}

// custom takes the type from the value: a string that is a day or an instant is one.
func (d *decoder) custom(at string, v any, raw json.RawMessage) query.Value {
	switch v := v.(type) {
	case bool:
		return query.Bool(v)
	case float64:
		return query.Number(v)
	case string:
		if t, err := time.Parse(time.DateOnly, v); err == nil {
			return query.Date(t)
		}
		if t, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return query.Instant(t)
		}
		return query.Name(v)
	}
	d.add(at, "a string, number, true or false is wanted, not %s", shortJSON(raw))
	return query.Value{}
}

// user reads ID:LOGIN, bot:ID:LOGIN, deleted or nobody, as the corpus writes accounts.
func (d *decoder) user(at string, raw json.RawMessage) query.User {
	s := d.text(at, raw)
	switch s {
	case "nobody":
		return query.User{}
	case "deleted":
		return query.User{Deleted: true}
	}
	var u query.User
	s, u.Bot = strings.CutPrefix(s, "bot:")
	id, login, ok := strings.Cut(s, ":")
	if !ok || id == "" || id == "id" {
		d.add(at, "%q is no account; write ID:LOGIN, for example %s, or bot:ID:LOGIN, deleted or nobody", s, strconv.Quote("7:alice"))
	}
	u.ID, u.Login = id, login
	return u
}
