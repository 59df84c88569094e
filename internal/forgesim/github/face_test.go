package github

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

func world(t *testing.T) *sim.World {
	t.Helper()
	w := sim.New(sim.Options{Profile: sim.GitHub()})
	require.NoError(t, w.Run(context.Background(), strings.NewReader(
		"user login=acme org=true\nuser login=olga\nrepo repo=acme/widgets\nset-role user=olga role=admin\ntoken text=adm user=olga\ncreate as=olga title=one")))
	return w
}

func ask(t *testing.T, f *Face, q string) (int, string) {
	t.Helper()
	b, err := json.Marshal(map[string]any{"query": q})
	require.NoError(t, err)
	r, err := http.NewRequest(http.MethodPost, "https://api.github.com/graphql", strings.NewReader(string(b)))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer adm")
	resp, err := sim.Transport(f).RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(out)
}

// A field that the face has no value for is a hole in the simulation: it must not read as null.
func TestHolesAreLoud(t *testing.T) {
	f := New(world(t), Options{})
	status, text := ask(t, f, `{repository(owner:"acme",name:"widgets"){stargazerCount}}`)
	assert.Equal(t, http.StatusInternalServerError, status)
	assert.Contains(t, text, "no value for Repository.stargazerCount")
}

// Arguments, aliases, fragments and directives mean what the specification of GraphQL says.
func TestExecution(t *testing.T) {
	f := New(world(t), Options{})
	status, text := ask(t, f, `{a: repository(owner:"acme",name:"widgets"){databaseId ...on Repository{name: nameWithOwner} issues(first:1,orderBy:{field:CREATED_AT,direction:ASC})
		{nodes{__typename number ...on Node{id} title @skip(if:true)} totalCount}} b: repository(owner:"acme",name:"none"){id}}`)
	assert.Equal(t, http.StatusOK, status)
	assert.JSONEq(t, fmt.Sprintf(`{"data":{"a":{"databaseId":1,"name":"acme/widgets","issues":{"nodes":[{"__typename":"Issue","number":1,"id":%q}],"totalCount":1}},"b":null},
		"errors":[{"type":"NOT_FOUND","path":["b"],"message":"Could not resolve to a Repository with the name 'acme/none'."}]}`, nodeID(false, "Issue", "I", 1, 1, 1)), text)
}

// With the published schema, what it does not allow is refused before anything is executed.
func TestSchemaRefuses(t *testing.T) {
	const file = "../../../.schema/github-15.26.1.graphql"
	if _, err := os.Stat(file); err != nil {
		t.Skip("the published schema is not here; make schema fetches it")
	}
	s, err := Schema(file)
	require.NoError(t, err)
	f := New(world(t), Options{Schema: s})
	for _, q := range []string{
		`{viewer{nonsense}}`, `{repository(owner:"acme"){id}}`, `query($x:Int!){viewer{login}}`,
		`{repository(owner:"acme",name:"widgets"){pullRequests(first:1,filterBy:{since:"2026-01-01T00:00:00Z"}){totalCount}}}`,
	} {
		_, text := ask(t, f, q)
		assert.Contains(t, text, `"code":"invalid"`, q)
		assert.NotContains(t, text, `"data"`, q)
	}
	_, text := ask(t, f, `{viewer{login}}`)
	assert.JSONEq(t, `{"data":{"viewer":{"login":"olga"}}}`, text)
}

// The price follows the published example: fifty issues with three collections each are two points.
func TestPrice(t *testing.T) {
	price := func(q string) price {
		b, err := json.Marshal(map[string]any{"query": q})
		require.NoError(t, err)
		return parseQuestion(b).price()
	}
	p := price(`{repository(owner:"a",name:"b"){issues(first:50){nodes{labels(first:60){nodes{id}} timelineItems(first:10){nodes{__typename}} comments(first:20){nodes{id}}}}}}`)
	assert.Equal(t, 2, p.points)
	assert.Equal(t, 50+50*(60+10+20), p.nodes)
	assert.Equal(t, 50, p.widest)
	assert.Equal(t, 1, price(`{viewer{login}}`).points)
}

func TestIDsAndCursors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Min(0).Draw(t, "a"), rapid.Int64Min(0).Draw(t, "b")
		_, parts, ok := parseNodeID(nodeID(rapid.Bool().Draw(t, "legacy"), "Issue", "I", a, b))
		require.True(t, ok)
		require.Equal(t, []int64{a, b}, parts)
		second, id, ok := parseCursor(cursorOf(fmt.Sprint(a), b))
		require.True(t, ok)
		require.Equal(t, fmt.Sprint(a), second)
		require.Equal(t, b, id)
	})
	for _, s := range []string{"", "x", "I_kw", "Y3Vyc29yOnYyOpLZ"} {
		_, _, ok := parseCursor(s)
		require.False(t, ok)
	}
}
