package forgejo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
)

// Every page of names is read, closed milestones too; what cannot be asked for is said.
func TestNames(t *testing.T) {
	var script strings.Builder
	for i := range 120 {
		fmt.Fprintf(&script, "create-label label=l%03d\n", i)
	}
	script.WriteString("create-label label=\"a,b\"\ncreate-milestone milestone=one\ncreate-milestone milestone=two\nclose-milestone milestone=two\n" +
		"create as=wes title=x labels=l007 milestone=two\ncreate as=wes title=y labels=l007 kind=change_proposal\n")
	s := newStage(t, face.Gitea124, script.String())
	l, ok := s.open().(adapters.NameLister)
	require.True(t, ok)

	names, ok, err := l.Names(t.Context(), query.FLabel)
	require.NoError(t, err)
	require.True(t, ok)
	assert.Len(t, names, 121)
	names, ok, err = l.Names(t.Context(), query.FMilestone)
	require.NoError(t, err)
	require.True(t, ok)
	assert.Equal(t, []string{"one", "two"}, names)
	_, ok, err = l.Names(t.Context(), query.FBase)
	require.NoError(t, err)
	assert.False(t, ok, "branches are not listed")

	for _, c := range []struct {
		field query.FieldID
		name  string
		n     int
		ok    bool
	}{
		{query.FLabel, "l007", 1, true}, // of this kind alone
		{query.FLabel, "l008", 0, true},
		{query.FMilestone, "two", 1, true},
		{query.FLabel, "a,b", 0, false}, // the server would take it for two
		{query.FHead, "x", 0, false},
	} {
		n, ok, err := l.Uses(t.Context(), c.field, c.name)
		require.NoError(t, err)
		assert.Equal(t, c.ok, ok, c.name)
		assert.Equal(t, c.n, n, c.name)
	}

	u, err := l.Account(t.Context(), "WES")
	require.NoError(t, err)
	assert.Equal(t, "wes", u.Login)
	_, err = l.Account(t.Context(), "nobody-here")
	require.ErrorIs(t, err, adapters.ErrNotFound)
}
