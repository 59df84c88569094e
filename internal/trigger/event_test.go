package trigger_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

const labelled = `{
  "repo": "acme/widgets", "later": {"x": [1]},
  "source": {"system": "github", "raw_type": "issues", "raw_action": "labeled"},
  "entity": {"kind": "work_item", "id": 100, "key": "acme/widgets#7", "url": "https://h/acme/widgets/7", "linked_change_proposal": null},
  "actor": {"id": 5, "kind": "human", "role": "admin", "role_verified": true, "bot_role": "admin", "is_entity_author": true},
  "transition": {"kind": "label_changed", "label": {"name": "ready", "action": "added"}},
  "state": {"labels": ["ready", "bug"]}
}`

func event(t testing.TB, s string) *trigger.Event {
	t.Helper()
	e, err := trigger.DecodeEvent(strings.NewReader(s))
	require.NoError(t, err)
	return e
}

// SPEC AU-18: the roles that an event claims are never believed.
func TestDecodeEventBelievesNoRole(t *testing.T) {
	e := event(t, labelled)
	assert.Equal(t, trigger.EventActor{ID: "5", Kind: "human"}, e.Actor)
	assert.Equal(t, trigger.ID("100"), e.Entity.ID)

	e.Resolve("write", "5")
	assert.Equal(t, trigger.EventActor{ID: "5", Kind: "human", Role: "write", RoleVerified: true, IsEntityAuthor: true}, e.Actor)
	e.Actor.Kind = "bot"
	e.Resolve("triage", "6")
	assert.Equal(t, trigger.EventActor{ID: "5", Kind: "bot", Role: "triage", RoleVerified: true, BotRole: "triage"}, e.Actor)
}

func TestEvalEvent(t *testing.T) {
	for src, want := range map[string]query.Verdict{
		`event != null && event.transition.kind == "label_changed" && event.transition.label.name == "ready"`: query.True,
		`event.source.system == entity.source.system && event.entity.id == entity.id`:                         query.True,
		`event.state.labels.exists(l, l == "bug") && "ready" in event.state.labels`:                           query.True,
		`event.actor.role_verified || event.actor.role == "admin" || event.actor.is_entity_author`:            query.False,
		// What an event does not have reads as empty, so that triggers need no chain of guards.
		`event.transition.comment.command == "/fix"`:                      query.False,
		`event.transition.comment.body.contains("x")`:                     query.False,
		`event.transition.comment == null`:                                query.True,
		`has(event.transition.comment)`:                                   query.False,
		`has(event.transition.label) && has(event.transition.label.name)`: query.True,
		`event.state.change_proposal.is_fork`:                             query.False,
		`event.state.change_proposal == event.state.change_proposal`:      query.True,
		`event.transition.label == event.transition.label`:                query.True,
	} {
		got := compile(t, src, issues).Eval(t.Context(), input(event(t, labelled)))
		assert.Equal(t, want, got.Verdict, "%s: %s", src, got.Err)
	}
}

func TestDecodeEventRefuses(t *testing.T) {
	change := func(old, new string) string {
		s := strings.Replace(labelled, old, new, 1)
		if s == labelled {
			panic("nothing changed: " + old)
		}
		return s
	}
	for name, s := range map[string]string{
		"empty":          ``,
		"null":           `null`,
		"list":           `[]`,
		"half":           labelled[:40],
		"two values":     labelled + labelled,
		"trailing text":  labelled + "x",
		"unknown system": change(`"system": "github"`, `"system": "gerrit"`),
		"unknown kind":   change(`"kind": "work_item"`, `"kind": "epic"`),
		"unknown actor":  change(`"kind": "human"`, `"kind": "ghost"`),
		"member twice":   change(`"repo": "acme/widgets"`, `"repo": "acme/widgets", "repo": "evil/widgets"`),
		"member in caps": change(`"role": "admin"`, `"role": "admin", "ID": 6`),
		"long s":         change(`"repo": "acme/widgets"`, "\"repo\": \"acme/widgets\", \"\u017fource\": {\"system\": \"jira\"}"),
		"wrong type":     change(`"labels": ["ready", "bug"]`, `"labels": "ready"`),
		"fractional id":  change(`"id": 100`, `"id": 1.5`),
		"exponent id":    change(`"id": 100`, `"id": 1e3`),
		"object id":      change(`"id": 100`, `"id": {}`),
		"no identity":    change(`"id": 100, "key": "acme/widgets#7", "url": "https://h/acme/widgets/7", `, ``),
		"not UTF-8":      change("acme/widgets", "acme/\xff"),
		"deep":           change(`{"x": [1]}`, strings.Repeat(`[`, 100)+strings.Repeat(`]`, 100)),
		"many":           change(`[1]`, `[`+strings.Repeat(`1,`, 20_000)+`1]`),
		"large":          change(`"ready", "bug"`, `"`+strings.Repeat("x", trigger.MaxEvent)+`"`),
	} {
		_, err := trigger.DecodeEvent(strings.NewReader(s))
		assert.ErrorIs(t, err, trigger.ErrEvent, name)
	}
	_, err := trigger.DecodeEvent(failing{})
	assert.NotErrorIs(t, err, trigger.ErrEvent)
	assert.Error(t, err)
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, fmt.Errorf("cut off") }
