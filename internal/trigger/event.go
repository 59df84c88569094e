package trigger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// Event is a NormalizedEvent of version 1. Members that the platform adds later are ignored. An event only names a
// candidate: nothing in it is evidence, and its role members are emptied when it is read, see Resolve.
type Event struct {
	Repo       string      `json:"repo"`
	Source     EventSource `json:"source"`
	Entity     EventEntity `json:"entity"`
	Actor      EventActor  `json:"actor"`
	Transition Transition  `json:"transition"`
	State      EventState  `json:"state"`
}

// EventSource says which system the event comes from.
type EventSource struct {
	System    string `json:"system"`
	RawType   string `json:"raw_type"`
	RawAction string `json:"raw_action"`
}

// EventEntity is the entity that the event claims to be about.
type EventEntity struct {
	Kind   string `json:"kind"`
	ID     ID     `json:"id"`
	Key    string `json:"key"`
	URL    string `json:"url"`
	Linked *Link  `json:"linked_change_proposal"`
}

// Link names a change proposal.
type Link struct {
	ID  ID     `json:"id"`
	Key string `json:"key"`
	URL string `json:"url"`
}

// EventActor is who caused the event.
type EventActor struct {
	ID             ID     `json:"id"`
	Kind           string `json:"kind"`
	Role           string `json:"role"`
	RoleVerified   bool   `json:"role_verified"`
	BotRole        string `json:"bot_role"`
	IsEntityAuthor bool   `json:"is_entity_author"`
}

// Transition is what happened.
type Transition struct {
	Kind    string       `json:"kind"`
	Label   *EventLabel  `json:"label"`
	Comment *Comment     `json:"comment"`
	Review  *EventReview `json:"review"`
}

// EventLabel is a label that was added or removed.
type EventLabel struct {
	Name   string `json:"name"`
	Action string `json:"action"`
}

// Comment is a comment that was added, edited or deleted.
type Comment struct {
	ID          ID     `json:"id"`
	ParentID    ID     `json:"parent_id"`
	Command     string `json:"command"`
	Body        string `json:"body"`
	Instruction string `json:"instruction"`
}

// EventReview is a review that was submitted.
type EventReview struct {
	State      string `json:"state"`
	ReviewerID ID     `json:"reviewer_id"`
}

// EventState is what the sender knew of the entity.
type EventState struct {
	Labels         []string   `json:"labels"`
	ChangeProposal *EventHead `json:"change_proposal"`
}

// EventHead is what the sender knew of the change proposal.
type EventHead struct {
	ID       ID     `json:"id"`
	HeadRepo string `json:"head_repo"`
	BaseRepo string `json:"base_repo"`
	HeadRef  string `json:"head_ref"`
	BaseRef  string `json:"base_ref"`
	HeadSHA  string `json:"head_sha"`
	AuthorID ID     `json:"author_id"`
	IsFork   bool   `json:"is_fork"`
}

// ID is an id as senders write it: a JSON string or a whole number.
type ID string

// UnmarshalJSON reads a string, a whole number or null.
func (id *ID) UnmarshalJSON(b []byte) error {
	switch {
	case bytes.Equal(b, []byte("null")):
		return nil
	case len(b) > 0 && b[0] == '"':
		return json.Unmarshal(b, (*string)(id))
	}
	digits := strings.TrimPrefix(string(b), "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return fmt.Errorf("id %.40q is neither a string nor a whole number", b)
	}
	*id = ID(b)
	return nil
}

// What an event may hold at most.
const (
	MaxEvent   = 1 << 20 // bytes
	maxDepth   = 16
	maxMembers = 10_000
)

// ErrEvent is matched by every refusal of an event.
var ErrEvent = errors.New("not a NormalizedEvent")

// DecodeEvent reads one event. It refuses what is too large, not UTF-8, followed by more, names a member twice in
// any case, has a member of the wrong type, or comes from an unknown system or about an unknown kind of entity.
func DecodeEvent(r io.Reader) (*Event, error) {
	b, err := io.ReadAll(io.LimitReader(r, MaxEvent+1))
	if err != nil {
		return nil, fmt.Errorf("reading event: %w", err)
	}
	if len(b) > MaxEvent {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrEvent, MaxEvent)
	}
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("%w: not UTF-8", ErrEvent)
	}
	if err := wellFormed(b); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	var e Event
	if err := json.Unmarshal(b, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	e.Resolve("", "")
	return &e, nil
}

func (e *Event) check() error {
	for _, c := range []struct {
		name, value string
		allowed     []string
	}{
		{"source.system", e.Source.System, []string{"github", "gitlab", "jira", "forgejo", "manual", "schedule"}},
		{"entity.kind", e.Entity.Kind, []string{"work_item", "change_proposal", "conversation"}},
		{"actor.kind", e.Actor.Kind, []string{"", "human", "bot"}},
	} {
		if !slices.Contains(c.allowed, c.value) {
			return fmt.Errorf("%s is %.40q, want one of %q", c.name, c.value, c.allowed)
		}
	}
	if e.Entity.ID == "" && e.Entity.Key == "" && e.Entity.URL == "" {
		return errors.New("entity has neither id nor key nor url")
	}
	return nil
}

// Resolve puts what was resolved at the provider in place of what the sender claimed: the actor's role ("" when it is
// not verified) and the stable id of the entity's author.
func (e *Event) Resolve(role, author string) {
	e.Actor.Role, e.Actor.RoleVerified, e.Actor.BotRole = role, role != "", ""
	if e.Actor.Kind == "bot" {
		e.Actor.BotRole = role
	}
	e.Actor.IsEntityAuthor = author != "" && string(e.Actor.ID) == author
}

// wellFormed checks one JSON value for what encoding/json lets pass: members named twice (it would take the last, in
// any case), depth, and trailing data.
func wellFormed(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	left := maxMembers
	if err := walk(d, 0, &left); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

func walk(d *json.Decoder, depth int, left *int) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if *left--; depth > maxDepth || *left < 0 {
		return errors.New("too many or too deep members")
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return err
			}
			name := strings.ToLower(strings.ToUpper(k.(string)))
			if seen[name] {
				return fmt.Errorf("member %.40q is given twice", k)
			}
			seen[name] = true
			if err := walk(d, depth+1, left); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for d.More() {
			if err := walk(d, depth+1, left); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token()
	return err
}

// addEvent declares the event and its parts after their JSON names.
func (s *schema) addEvent() { s.addStruct(eventType, reflect.TypeFor[Event]()) }

func (s *schema) addStruct(t *types.Type, r reflect.Type) {
	for i := range r.NumField() {
		f := r.Field(i)
		name := f.Tag.Get("json")
		m := always(s.typeOf(t, name, f.Type), func(d any) ref.Val {
			return s.adapt(t, name, reflect.Indirect(reflect.ValueOf(d)).Field(i))
		})
		if m.typ.Kind() == types.ListKind {
			m.each = m.get
		}
		s.add(t, name, m)
	}
}

func partType(owner *types.Type, name string) *types.Type {
	return types.NewObjectType(strings.TrimSuffix(owner.TypeName(), "object") + name + " object")
}

func (s *schema) typeOf(owner *types.Type, name string, r reflect.Type) *types.Type {
	switch r.Kind() {
	case reflect.Pointer:
		return s.typeOf(owner, name, r.Elem())
	case reflect.Struct:
		t := partType(owner, name)
		s.addStruct(t, r)
		return t
	case reflect.Slice:
		return types.NewListType(types.StringType)
	case reflect.Bool:
		return types.BoolType
	}
	return types.StringType
}

func (s *schema) adapt(owner *types.Type, name string, v reflect.Value) ref.Val {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return types.NullValue
		}
		return &object{typ: partType(owner, name), data: v.Interface()}
	case reflect.Struct:
		return &object{typ: partType(owner, name), data: v.Interface()}
	case reflect.Slice:
		return types.NewStringList(types.DefaultTypeAdapter, v.Interface().([]string))
	case reflect.Bool:
		return types.Bool(v.Bool())
	}
	return types.String(v.String())
}
