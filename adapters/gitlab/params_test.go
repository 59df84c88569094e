package gitlab_test

import (
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	face "github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// declared are the operations that the adapter may use, with the parameters that GitLab declares for them; what it does not
// declare it drops without a word. From lib/api/issues.rb and helpers/issues_helpers.rb, merge_requests.rb and
// helpers/merge_requests_helpers.rb, notes.rb, resource_label_events.rb, members.rb, merge_request_approvals.rb,
// merge_request_diffs.rb, users.rb, labels.rb, project_milestones.rb, personal_access_tokens/self_information.rb, projects.rb.
func declared() map[string][]string {
	page := []string{"page", "per_page"}
	list := append([]string{"state", "scope", "with_labels_details", "order_by", "sort", "updated_after", "created_after", "iids[]", "labels", "milestone"}, page...)
	return map[string][]string{
		"user": nil, "users/N": nil, "users": append([]string{"username"}, page...), "personal_access_tokens/self": nil, "projects/N": nil,
		"projects/N/members/all/N": nil, "projects/N/members/all": append([]string{"user_ids[]"}, page...),
		"projects/N/labels": append([]string{"include_ancestor_groups"}, page...), "projects/N/milestones": append([]string{"include_ancestors"}, page...),
		"projects/N/issues": append([]string{"pagination", "cursor"}, list...), "projects/N/issues/N": nil,
		"projects/N/issues/N/notes": append([]string{"sort", "order_by", "activity_filter"}, page...), "projects/N/issues/N/resource_label_events": page,
		"projects/N/issues/N/closed_by": page,
		"projects/N/merge_requests":     list, "projects/N/merge_requests/N": nil,
		"projects/N/merge_requests/N/notes":                 append([]string{"sort", "order_by", "activity_filter"}, page...),
		"projects/N/merge_requests/N/resource_label_events": page, "projects/N/merge_requests/N/approvals": nil,
		"projects/N/merge_requests/N/reviewers": page, "projects/N/merge_requests/N/versions": page,
	}
}

var numbers = regexp.MustCompile(`/[0-9]+`)

// SPEC GL-8: only declared parameters are sent, once each, and projects are asked for by number once they are known.
func TestOnlyDeclaredParameters(t *testing.T) {
	table := declared()
	used := map[string]bool{}
	for _, kind := range kinds() {
		s := newStage(t, kind, face.Quirks{MergedResults: true}, strings.Repeat("create as=stella title=t labels=bug kind="+string(kind)+"\nadvance by=1ms\n", 120)+
			"edit on=1 as=wes title=new\ncomment on=1 as=rea body=x\n")
		if kind == query.ChangeProposal {
			s.run("request-review on=1 as=wes user=wanda\nreview on=1 as=olga state=approved\nstatus on=1 as=wes context=ci state=success")
		}
		everything(t, s)
		for _, h := range s.w.Hits() {
			u, err := url.Parse(h.URI)
			require.NoError(t, err)
			op := strings.TrimPrefix(u.EscapedPath(), "/api/v4/")
			if op == "projects/acme%2Fwidgets" || op == "projects/acme%2Fgadgets" {
				continue // resolved by its path
			}
			op = numbers.ReplaceAllString(op, "/N")
			params, known := table[op]
			require.True(t, known, h.URI)
			used[op] = true
			for name, vs := range u.Query() {
				assert.Contains(t, params, name, h.URI)
				assert.True(t, len(vs) == 1 || strings.HasSuffix(name, "[]"), h.URI)
			}
			assert.Equal(t, http.MethodGet, h.Method)
			assert.Equal(t, path.Clean(u.Path), u.Path)
		}
	}
	for op := range table {
		assert.True(t, used[op], "%s is never used", op)
	}
}

// everything makes the session use all that it can.
func everything(t *testing.T, s *stage) {
	ses := s.open()
	_, err := ses.Health(t.Context())
	require.NoError(t, err)
	var all query.FieldSet
	for _, f := range query.AllFields() {
		all.Add(f.ID)
	}
	l := list(ses, walk(ses, false), time.Time{}, nil)
	require.NoError(t, l.err)
	require.NoError(t, list(ses, walk(ses, true), time.Time{}, nil).err)
	one := l.items[slices.IndexFunc(l.items, func(it adapters.Item) bool { return it.Number == 1 })].Ref
	items, err := ses.Read(t.Context(), []scope.Ref{one, {Alias: "999"}}, all)
	require.NoError(t, err)
	require.Equal(t, adapters.Present, items[0].State)
	_, err = ses.Roles(t.Context(), []query.User{s.user("wes"), s.user("stella")})
	require.NoError(t, err)
	names := ses.(adapters.NameLister)
	for _, f := range []query.FieldID{query.FLabel, query.FMilestone} {
		_, _, err = names.Names(t.Context(), f)
		require.NoError(t, err)
		_, _, err = names.Uses(t.Context(), f, "bug")
		require.NoError(t, err)
	}
	_, err = names.Account(t.Context(), "wes")
	require.NoError(t, err)
	_, err = ses.Find(t.Context(), "acme/gadgets"+map[query.Kind]string{query.WorkItem: "#", query.ChangeProposal: "!"}[s.config.Kind]+"1")
	require.Error(t, err)
}
