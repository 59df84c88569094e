package trigger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/trigger"
	"github.com/fullsend-ai/discovery/query"
)

// SPEC AU-11: what one evaluation may cost is known before anything is polled.
func TestCost(t *testing.T) {
	c := query.NewCatalogue(query.GitHub, query.ChangeProposal, nil)
	for src, want := range map[string]bool{
		"true": false,
		`entity.label.exists(l, l.name == "bug")`:                                                          false,
		`entity.comment.exists(c, c.text.contains("crash") && c.text.matches("a+b"))`:                      false,
		`entity.comment.exists(c, entity.label.exists(l, l.name == "x"))`:                                  false,
		`entity.comment.exists(a, entity.comment.exists(b, entity.comment.exists(d, a.at < d.at)))`:        true,
		`entity.comment.exists(a, entity.comment.exists(b, a.text.contains("x") && b.text.contains("y")))`: true,
	} {
		p, is := trigger.Compile(src, c)
		require.Empty(t, is, src)
		got := p.CheckCost()
		require.Equal(t, want, len(got) > 0, "%s: %v", src, got)
		for _, i := range got {
			require.Equal(t, trigger.CodeCost, i.Code)
			require.True(t, i.Warning)
		}
	}
}
