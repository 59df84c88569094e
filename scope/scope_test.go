package scope_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

func widgets() scope.Scope {
	return scope.Scope{Provider: "forgejo", Tenant: "forge.example", Container: "17", Kind: query.WorkItem, Account: "5"}
}

// SPEC SC-3: nil only when every part is proven.
func TestGuard(t *testing.T) {
	for name, tt := range map[string]struct {
		place scope.Place
		want  error
	}{
		"inside":             {scope.Place{Tenant: "forge.example", Container: "17", Kind: query.WorkItem}, nil},
		"another container":  {scope.Place{Tenant: "forge.example", Container: "18", Kind: query.WorkItem}, scope.ErrOutside},
		"another kind":       {scope.Place{Tenant: "forge.example", Container: "17", Kind: query.ChangeProposal}, scope.ErrOutside},
		"another tenant":     {scope.Place{Tenant: "other.example", Container: "17", Kind: query.WorkItem}, scope.ErrOutside},
		"no container given": {scope.Place{Tenant: "forge.example", Kind: query.WorkItem}, scope.ErrUnproven},
		"no tenant given":    {scope.Place{Container: "17", Kind: query.WorkItem}, scope.ErrUnproven},
		"no kind given":      {scope.Place{Tenant: "forge.example", Container: "17"}, scope.ErrUnproven},
		"nothing given":      {scope.Place{}, scope.ErrUnproven},
		"a prefix":           {scope.Place{Tenant: "forge.example", Container: "1", Kind: query.WorkItem}, scope.ErrOutside},
		"letters of a name":  {scope.Place{Tenant: "FORGE.example", Container: "17", Kind: query.WorkItem}, scope.ErrOutside},
	} {
		t.Run(name, func(t *testing.T) {
			err := widgets().Check(tt.place)
			if tt.want == nil {
				assert.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, tt.want)
		})
	}
}

// SPEC SC-2: a scope's key is its own, whatever its parts hold.
func TestKeysAreDistinct(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringOf(rapid.SampledFrom([]rune("a|%/ é\x00")))
		draw := func(name string) scope.Scope {
			return scope.Scope{Provider: part.Draw(t, name+"p"), Tenant: part.Draw(t, name+"t"), Container: part.Draw(t, name+"c"),
				Kind: query.WorkItem, Account: part.Draw(t, name+"a")}
		}
		a, b := draw("a"), draw("b")
		if (a.Key() == b.Key()) != (a == b) {
			t.Fatalf("%+v and %+v have the keys %q and %q", a, b, a.Key(), b.Key())
		}
	})
}

// SPEC SC-1: the canonical text of an identity is read back as the same identity.
func TestIdentityRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := scope.Identity{
			Provider: rapid.StringN(1, 10, -1).Draw(t, "provider"), Tenant: rapid.String().Draw(t, "tenant"),
			Kind: rapid.SampledFrom([]query.Kind{query.WorkItem, query.ChangeProposal}).Draw(t, "kind"),
			ID:   rapid.StringN(1, 10, -1).Draw(t, "id"),
		}
		got, err := scope.ParseIdentity(id.String())
		if err != nil || got != id {
			t.Fatalf("%+v became %+v, %v", id, got, err)
		}
	})
}

func TestNoIdentity(t *testing.T) {
	for _, s := range []string{"", "acme/widgets#7", "PROJ-7", "forgejo|h|work_item", "forgejo|h|epic|7", "|h|work_item|7", "forgejo|h|work_item|", "forgejo|h|work_item|%zz", "a|b|work_item|c|d"} {
		_, err := scope.ParseIdentity(s)
		require.ErrorIs(t, err, scope.ErrIdentity, s)
	}
}

func FuzzParseIdentity(f *testing.F) {
	f.Add("forgejo|forge.example|work_item|7")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := scope.ParseIdentity(s)
		if err != nil {
			return
		}
		again, err := scope.ParseIdentity(id.String())
		if err != nil || again != id {
			t.Fatalf("%q: %+v became %+v, %v", s, id, again, err)
		}
	})
}

// Ledgers of earlier versions hold the members under their Go names.
func TestJSONNames(t *testing.T) {
	sc := scope.Scope{Provider: "gitlab", Tenant: "git.example", Container: "17", Kind: query.WorkItem, Account: "5"}
	b, err := json.Marshal(sc)
	require.NoError(t, err)
	require.JSONEq(t, `{"provider":"gitlab","tenant":"git.example","container":"17","kind":"work_item","account":"5"}`, string(b))
	var old scope.Scope
	require.NoError(t, json.Unmarshal([]byte(`{"Provider":"gitlab","Tenant":"git.example","Container":"17","Kind":"work_item","Account":"5"}`), &old))
	require.Equal(t, sc, old)
	var ref scope.Ref
	require.NoError(t, json.Unmarshal([]byte(`{"Provider":"gitlab","Tenant":"git.example","Kind":"work_item","ID":"7","Alias":"3","Key":"a/b#3","URL":"https://x"}`), &ref))
	require.Equal(t, scope.Ref{Identity: scope.Identity{Provider: "gitlab", Tenant: "git.example", Kind: query.WorkItem, ID: "7"}, Alias: "3", Key: "a/b#3", URL: "https://x"}, ref)
}
