package jira_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/jira"
	face "github.com/fullsend-ai/discovery/internal/forgesim/jira"
	"github.com/fullsend-ai/discovery/query"
)

const everything = "all"

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "create as=wes title=\"number %d\"\n", i+1)
	}
	return b.String()
}

// Scenarios B042, B043, SPEC JI-11: a walk ends where there is no token, whatever it is called; short and empty pages do not end it.
func TestPaging(t *testing.T) {
	for name, q := range map[string]face.Quirks{
		"absent": {}, "null": {NullToken: true}, "no isLast": {NoIsLast: true}, "empty pages": {EmptyPages: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, face.Options{PageCap: 7, Quirks: q}, many(30))
			for _, walk := range []string{"changed", everything} {
				l := list(s.open(), nil, walk, time.Time{})
				require.NoError(t, l.err)
				require.Empty(t, l.short)
				assert.Len(t, l.numbers, 30)
			}
		})
	}
}

// SPEC JI-11: a repeated token, one that expired, and a walk that was cut are failures, not ends.
func TestBrokenPaging(t *testing.T) {
	s := newStage(t, face.Options{PageCap: 7, Quirks: face.Quirks{TokenRepeats: true}}, many(30))
	l := list(s.open(), nil, everything, time.Time{})
	require.ErrorIs(t, l.err, adapters.ErrCursor)
	s.face.Switch(func(q *face.Quirks) { q.TokenRepeats, q.TokensExpire = false, true })
	l = list(s.open(), nil, everything, time.Time{})
	require.ErrorIs(t, l.err, adapters.ErrCursor)
	s.face.Switch(func(q *face.Quirks) { q.TokensExpire, q.ShortWalk = false, 14 })
	ses := s.open()
	l = list(ses, nil, everything, time.Time{})
	require.NoError(t, l.err)
	require.Len(t, l.short, 1, "the estimate says that there is more")
	h, err := ses.Health(context.Background())
	require.NoError(t, err)
	assert.Contains(t, strings.Join(h.Warnings, "\n"), "estimates 30")
}

// SPEC JI-12: a warning means that the answer may be cut.
func TestWarnings(t *testing.T) {
	s := newStage(t, face.Options{Quirks: face.Quirks{Warnings: []string{"CLAUSE_LIMIT_EXCEEDED"}}}, many(3))
	l := list(s.open(), nil, everything, time.Time{})
	require.NoError(t, l.err)
	require.Len(t, l.short, 1)
	assert.Contains(t, l.short[0].Error(), "CLAUSE_LIMIT_EXCEEDED")
	assert.Len(t, l.numbers, 3)
}

// SPEC JI-13: on Data Center rows that leave in front of the reader shift nothing past it.
func TestOffsetsDrift(t *testing.T) {
	s := newStage(t, face.Options{DataCenter: true, PageCap: 5}, many(22))
	require.NoError(t, s.w.After("search", 1, "delete on=1 ; delete on=3 ; delete on=4 ; delete on=5"))
	l := list(s.open(), nil, everything, time.Time{})
	require.NoError(t, l.err)
	met := map[int64]int{}
	for _, n := range l.numbers {
		met[n]++
	}
	for n := int64(6); n <= 22; n++ {
		assert.Equal(t, 1, met[n], "number %d", n)
	}
}

// Scenario B021, SPEC JI-14: windows know no zone and no minute: what changed in the second of their bound is inside, in any
// zone; also where the site does not take milliseconds.
func TestWindows(t *testing.T) {
	for _, zone := range []int{-11, 0, 14} {
		for _, refused := range []bool{false, true} {
			s := newStage(t, face.Options{Zone: time.FixedZone("", zone*3600), Quirks: face.Quirks{EpochRefused: refused}}, "create as=wes title=old\nadvance by=2h3m59s\ncreate as=wes title=edge\nadvance by=7h\ncreate as=wes title=new\nadvance by=47s\n")
			at := time.Date(2026, 1, 5, 11, 3, 59, 0, time.UTC)
			ses := s.open()
			_, err := ses.Health(context.Background())
			require.NoError(t, err)
			l := list(ses, nil, "changed", at)
			require.NoError(t, l.err)
			assert.Subset(t, l.numbers, []int64{2, 3})
			assert.NotContains(t, l.numbers, int64(1))
		}
	}
}

// SPEC JI-1: an expired token is answered with 200 and nothing; so is nobody.
func TestExpiredToken(t *testing.T) {
	s := newStage(t, face.Options{}, many(3))
	ses := s.open()
	s.run("revoke-token text=adm")
	l := list(ses, nil, everything, time.Time{})
	require.ErrorIs(t, l.err, adapters.ErrUnauthorized)
	_, err := ses.Health(context.Background())
	require.ErrorIs(t, err, adapters.ErrUnauthorized)
	s.token = "adm2"
	require.NoError(t, list(ses, nil, everything, time.Time{}).err, "another token of the account will do")
	s.run("fault kind=anonymous")
	require.ErrorIs(t, list(ses, nil, everything, time.Time{}).err, adapters.ErrUnauthorized)
	s.run("clear-faults")
	s.token = "rw"
	require.ErrorIs(t, list(ses, nil, everything, time.Time{}).err, adapters.ErrUnauthorized, "another account sees other things")
	for host, auth := range s.seen.auth {
		assert.Equal(t, "acme.example", host)
		assert.True(t, strings.HasPrefix(auth, "Basic "))
	}
}

// SPEC JI-15: a stale name takes its own source down, and no other.
func TestStaleNames(t *testing.T) {
	both(t, many(2), func(t *testing.T, s *stage) {
		s.set(1, "status", "In Review")
		s.run("label on=2 as=wes label=bug")
		s.face.RenameStatus("In Progress", "Doing")
		ses := s.open()
		p, refused := ses.Compile(context.Background(), sources(t, `v1: status = "In Progress"`, `v1: status = "in review"`, `v1: component = "Nothing"`, `v1: cf[999] = "x"`, `v1: cf[10022] = "five"`))
		fields := map[string]string{}
		for _, r := range refused {
			fields[r.Source] = r.Field
		}
		assert.Equal(t, map[string]string{"s0": "status", "s2": "component", "s3": "cf[999]", "s4": "cf[10022]"}, fields)
		assert.Contains(t, p.Render(adapters.Walk{Name: everything}), "status in (10103)")
		l := list(ses, p, everything, time.Time{})
		require.NoError(t, l.err)
		assert.Equal(t, []int64{1}, l.numbers)
	})
}

// SPEC JI-15: an account that does not exist makes Jira refuse the whole search; its test alone is left out.
func TestUnknownAccount(t *testing.T) {
	s := newStage(t, face.Options{}, many(2))
	ses := s.open()
	ss := sources(t, `v1: state = open and assignee = "712020:nobody"`, `v1: state = open and author = "`+s.id("wes")+`"`)
	p, refused := ses.Compile(context.Background(), ss)
	assert.Empty(t, refused)
	text := p.Render(adapters.Walk{Name: everything})
	assert.NotContains(t, text, "nobody")
	assert.Contains(t, text, "statusCategory")
	var why []string
	for _, w := range p.Weakened() {
		why = append(why, w.Why)
	}
	assert.Contains(t, strings.Join(why, "\n"), "the site refuses it")
	require.NoError(t, list(ses, p, everything, time.Time{}).err)
}

// SPEC JI-16: labels are filtered where the site was seen to ignore their case, and only there.
func TestLabelCase(t *testing.T) {
	for _, sensitive := range []bool{false, true} {
		s := newStage(t, face.Options{CaseSensitive: sensitive}, "create as=wes title=one labels=Regression\ncreate as=wes title=two\n")
		ses := s.open()
		p, _ := ses.Compile(context.Background(), sources(t, `v1: label = "regression"`))
		text := p.Render(adapters.Walk{Name: everything})
		assert.Equal(t, !sensitive, strings.Contains(text, `labels in ("regression")`), text)
		l := list(ses, p, everything, time.Time{})
		require.NoError(t, l.err)
		assert.Contains(t, l.numbers, int64(1))
	}
	s := newStage(t, face.Options{}, many(1))
	p, _ := s.open().Compile(context.Background(), sources(t, `v1: label = "regression"`))
	assert.NotContains(t, p.Render(adapters.Walk{Name: everything}), "regression", "no label was found to ask with")
}

// SPEC JI-17: a quota pauses everything until the provider's word, a burst its endpoint alone; what is not known, all.
func TestLimits(t *testing.T) {
	for reason, all := range map[string]bool{"jira-quota-tenant-based": true, "jira-cost-based": true, "": true, "jira-burst-based": false} {
		t.Run(reason, func(t *testing.T) {
			s := newStage(t, face.Options{}, many(2))
			ses := s.open()
			s.face.Switch(func(q *face.Quirks) {
				q.Limit, q.LimitCount, q.Reset = reason, 1, s.w.Now().Add(20*time.Minute).Format(time.RFC3339)
			})
			l := list(ses, nil, everything, time.Time{})
			require.ErrorIs(t, l.err, adapters.ErrThrottled)
			var ae *adapters.Error
			require.ErrorAs(t, l.err, &ae)
			assert.Equal(t, 20*time.Minute, ae.After)
			_, err := ses.Health(context.Background())
			if all {
				require.ErrorIs(t, err, adapters.ErrThrottled)
				assert.Equal(t, []string{"1200"}, s.meter.waits)
			} else {
				require.NoError(t, err, "other endpoints are not meant")
				require.ErrorIs(t, list(ses, nil, everything, time.Time{}).err, adapters.ErrThrottled)
			}
			s.run("advance by=21m")
			require.NoError(t, list(ses, nil, everything, time.Time{}).err)
		})
	}
}

// SPEC JI-18: one field of an odd shape costs that field, and leaves the page short; the rest is read.
func TestOddField(t *testing.T) {
	s := newStage(t, face.Options{Quirks: face.Quirks{Broken: "priority"}}, many(2))
	l := list(s.open(), nil, everything, time.Time{})
	require.NoError(t, l.err)
	require.Len(t, l.short, 1)
	require.Len(t, l.items, 2)
	assert.Equal(t, query.Unknown, l.items[0].Facts.Get(query.FPriority).Presence)
	assert.Equal(t, query.Known, l.items[0].Facts.Get(query.FState).Presence)
}

// SPEC JI-2: a renamed key is the same project, with a word to people; a key that is another project's now is refused.
func TestProjects(t *testing.T) {
	s := newStage(t, face.Options{}, many(1))
	ses := s.open()
	s.run("rename-repo repo=acme/widgets to=things")
	h, err := ses.Health(context.Background())
	require.NoError(t, err)
	assert.Equal(t, "THINGS", h.Place)
	assert.Contains(t, h.Warnings[0], "THINGS")
	s.run("recreate-repo repo=acme/widgets")
	_, err = ses.Health(context.Background())
	require.ErrorIs(t, err, adapters.ErrMoved)
	s.face.ArchiveProject("THINGS", true)
	s.config.Container = "THINGS"
	_, err = jira.Adapter{}.Open(context.Background(), s.config)
	require.ErrorContains(t, err, "archived")
}

// Scenario B044: the old search is gone on Cloud, and the new one is not there on Data Center: each is asked for what it has.
func TestDeployments(t *testing.T) {
	both(t, many(3), func(t *testing.T, s *stage) {
		l := list(s.open(), nil, everything, time.Time{})
		require.NoError(t, l.err)
		assert.Len(t, l.numbers, 3)
	})
}

// A configuration that cannot be meant is refused without a request.
func TestOpenRefuses(t *testing.T) {
	s := newStage(t, face.Options{}, "")
	before := len(s.seen.paths)
	for name, change := range map[string]func(*adapters.Config){
		"kind":      func(c *adapters.Config) { c.Kind = query.ChangeProposal },
		"key":       func(c *adapters.Config) { c.Container = "acme/widgets" },
		"scheme":    func(c *adapters.Config) { c.BaseURL = "ftp://acme.example" },
		"user info": func(c *adapters.Config) { c.BaseURL = "https://a:secret@acme.example" },
		"cloud id":  func(c *adapters.Config) { c.Settings = map[string]string{"cloud_id": "../.."} },
	} {
		c := s.config
		change(&c)
		_, err := jira.Adapter{}.Open(context.Background(), c)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "secret")
	}
	assert.Len(t, s.seen.paths, before)
}

// Keys, addresses and identities lead to the issue, and to no neighbour.
func TestFind(t *testing.T) {
	both(t, many(2), func(t *testing.T, s *stage) {
		ses := s.open()
		want := s.ref(ses, 2)
		for _, ref := range []string{"WIDGETS-2", "widgets-2", "https://acme.example/browse/WIDGETS-2", want.Identity.String()} {
			got, err := ses.Find(context.Background(), ref)
			require.NoError(t, err, ref)
			assert.Equal(t, want.Identity, got.Identity, ref)
			assert.Equal(t, "WIDGETS-2", got.Key)
		}
		for _, ref := range []string{"", "2", "20002", "WIDGETS-9", "GADGETS-1", "https://other.example/browse/WIDGETS-2", "https://acme.example/browse", "WIDGETS-2/..", "jira|elsewhere|work_item|20002"} {
			_, err := ses.Find(context.Background(), ref)
			require.ErrorIs(t, err, adapters.ErrNotFound, ref)
		}
	})
}

// A cycle's search does not depend on how many sources there are.
func TestRequestsAreFlat(t *testing.T) {
	s := newStage(t, face.Options{}, many(3)+"label on=1 as=wes label=bug\n")
	ses := s.open()
	var ss []query.Source
	for i := range 100 {
		ss = append(ss, source(t, fmt.Sprint("h", i), fmt.Sprintf(`v1: state = open and label = "area-%d"`, i)))
	}
	p, refused := ses.Compile(context.Background(), ss)
	require.Empty(t, refused)
	before := s.meter.count(adapters.Search)
	require.NoError(t, list(ses, p, everything, time.Time{}).err)
	assert.Equal(t, 1, s.meter.count(adapters.Search)-before)
}

// Scenario B141, SPEC JI-18: no credential reaches another host, whatever a redirect says; an answer has a size.
func TestForeignHosts(t *testing.T) {
	s := newStage(t, face.Options{}, many(1))
	ses := s.open()
	inner := s.seen.below
	s.seen.below = roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/myself") {
			return &http.Response{StatusCode: http.StatusFound, Header: http.Header{"Location": {"https://evil.example/myself"}}, Body: http.NoBody, Request: r}, nil
		}
		return inner.RoundTrip(r)
	})
	_, err := ses.Health(context.Background())
	require.ErrorIs(t, err, adapters.ErrProtocol)
	assert.NotContains(t, s.seen.auth, "evil.example")
	s.seen.below = roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(io.LimitReader(zeros{}, 64<<20)), Request: r}, nil
	})
	_, err = ses.Health(context.Background())
	require.ErrorIs(t, err, adapters.ErrTooLarge)
	s.seen.below = roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route, with adm in it") })
	_, err = ses.Health(context.Background())
	require.ErrorIs(t, err, adapters.ErrUnavailable)
	assert.NotContains(t, err.Error(), "adm ")
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}

// Lint is told what values there are.
func TestNames(t *testing.T) {
	both(t, "", func(t *testing.T, s *stage) {
		l, ok := s.open().(adapters.NameLister)
		require.True(t, ok)
		names, known, err := l.Names(context.Background(), query.FStatus)
		require.NoError(t, err)
		assert.True(t, known)
		assert.Equal(t, []string{"Done", "In Progress", "In Review", "To Do"}, names)
		_, known, err = l.Names(context.Background(), query.FLabel)
		require.NoError(t, err)
		assert.False(t, known)
		u, err := l.Account(context.Background(), s.id("wes"))
		require.NoError(t, err)
		assert.Equal(t, s.id("wes"), u.ID)
		_, err = l.Account(context.Background(), "712020:u999")
		require.ErrorIs(t, err, adapters.ErrNotFound)
	})
}
