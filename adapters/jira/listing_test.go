package jira_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira"
	face "github.com/fullsend-ai/discovery/internal/forgesim/jira"
)

// asked are the texts of the searches so far.
func (s *stage) asked() []string {
	texts := s.face.Asked()
	for _, text := range texts {
		jira.NoteJQL(text)
	}
	return texts
}

// Scenarios B004, B005, SPEC JI-14: a day that is another one for the account, and the hours that its clock is ahead, hide
// nothing of a window, which has no end of its own.
func TestZones(t *testing.T) {
	for name, tt := range map[string]struct {
		zone   int
		script string
		since  time.Time
		want   []int64
	}{
		"20:30 of the day before": {-5, "create as=wes title=old\nadvance by=16h30m\ncreate as=wes title=new\nadvance by=10m",
			time.Date(2026, 1, 6, 0, 10, 0, 0, time.UTC), []int64{2}},
		"the last hour": {3, "create as=wes title=old\nadvance by=5h\n" + strings.Repeat("create as=wes title=new\nadvance by=6m\n", 10),
			time.Date(2026, 1, 5, 14, 0, 0, 0, time.UTC), []int64{2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
	} {
		for _, refused := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " ", refused), func(t *testing.T) {
				s := newStage(t, face.Options{Zone: time.FixedZone("", tt.zone*3600), Quirks: face.Quirks{EpochRefused: refused}}, tt.script)
				ses := s.open()
				_, err := ses.Health(t.Context())
				require.NoError(t, err)
				s.asked()
				l := list(ses, nil, "changed", tt.since)
				require.NoError(t, l.err)
				assert.Empty(t, l.short)
				assert.Equal(t, tt.want, l.numbers)
				for _, text := range s.asked() {
					assert.NotContains(t, text, "<")
				}
			})
		}
	}
}

// Scenario B048: all pages of a walk are asked for with the same text, quotes and all.
func TestTextStays(t *testing.T) {
	for name, dc := range map[string]bool{"cloud": false, "data-center": true} {
		t.Run(name, func(t *testing.T) {
			var script strings.Builder
			for i := range 84 {
				fmt.Fprintf(&script, "create as=wes title=t name=e%d\nlabel on=e%d as=wes label=%q\n", i, i, `say"so\`)
			}
			s := newStage(t, face.Options{DataCenter: dc, PageCap: 7}, `create-label label="say\"so\\"`+"\n"+script.String())
			ses := s.open()
			plan, refused := ses.Compile(t.Context(), sources(t, `v1: label = "say\"so\\"`))
			require.Empty(t, refused)
			s.asked()
			l := list(ses, plan, everything, time.Time{})
			require.NoError(t, l.err)
			assert.Len(t, l.numbers, 84)
			assert.GreaterOrEqual(t, l.pages, 12)
			texts := s.asked()
			assert.GreaterOrEqual(t, len(texts), 12)
			assert.Len(t, slices.Compact(texts), 1)
			assert.Contains(t, texts[0], "say")
		})
	}
}

// Scenario B044: a search that is not there, or not any more, is a failure that says so, and never a project without issues.
func TestNoSearch(t *testing.T) {
	both(t, many(3), func(t *testing.T, s *stage) {
		ses := s.open()
		for _, status := range []int{http.StatusNotFound, http.StatusGone} {
			s.run(fmt.Sprintf("fault kind=status status=%d route=search", status))
			for _, walk := range []string{"changed", everything} {
				l := list(ses, nil, walk, time.Time{})
				require.ErrorIs(t, l.err, adapters.ErrNotFound)
				assert.ErrorContains(t, l.err, fmt.Sprint(status))
				assert.Empty(t, l.items)
			}
			s.run("clear-faults")
		}
		assert.Len(t, list(ses, nil, everything, time.Time{}).numbers, 3)
	})
}

// Scenario B040, SPEC JI-11: a token that comes again ends the walk after the page that brought it, as a failure.
func TestSameTokenForEver(t *testing.T) {
	s := newStage(t, face.Options{PageCap: 50, Quirks: face.Quirks{TokenRepeats: true}}, many(200))
	ses := s.open()
	before := s.meter.count(adapters.Search)
	l := list(ses, nil, everything, time.Time{})
	require.ErrorIs(t, l.err, adapters.ErrCursor)
	assert.ErrorContains(t, l.err, "again")
	assert.Equal(t, 2, s.meter.count(adapters.Search)-before)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(l.numbers))), len(l.numbers))
	assert.NotEmpty(t, l.numbers)
}

// Scenario B041, SPEC JI-13: a total that promises more than there is ends the walk at once, with a word for it, and no row comes twice.
func TestTotalThatPromisesMore(t *testing.T) {
	s := newStage(t, face.Options{DataCenter: true}, many(5))
	ses := s.open()
	below, searches := s.seen.below, 0
	s.seen.below = roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := below.RoundTrip(r)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/search") {
			return resp, err
		}
		searches++
		body, err := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), `"total":5`, `"total":85`, 1)))
		return resp, err
	})
	l := list(ses, nil, "all", time.Time{})
	require.ErrorIs(t, l.err, adapters.ErrCursor)
	require.ErrorContains(t, l.err, "85 issues and gives no more than 5")
	assert.Equal(t, []int64{1, 2, 3, 4, 5}, l.numbers)
	assert.LessOrEqual(t, searches, 3)
}
