package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/shurcooL/githubv4"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// maxNumbers is how many numbers one request resolves: an object each.
const maxNumbers = 100

// stub is what a number leads to.
type stub struct {
	Kind       string    `json:"__typename"`
	ID         string    `json:"id"`
	DatabaseID string    `json:"fullDatabaseId"`
	Number     int64     `json:"number"`
	URL        string    `json:"url"`
	CreatedAt  time.Time `json:"createdAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
	Repository struct {
		DatabaseID    int64  `json:"databaseId"`
		NameWithOwner string `json:"nameWithOwner"`
	} `json:"repository"`
}

func (st *stub) entity(k query.Kind) *entity {
	return &entity{kind: k, row: &row{ID: st.ID, DatabaseID: st.DatabaseID, Number: st.Number, URL: st.URL, CreatedAt: st.CreatedAt, UpdatedAt: st.UpdatedAt,
		Repository: repositoryRef{DatabaseID: st.Repository.DatabaseID, NameWithOwner: st.Repository.NameWithOwner}}}
}

// numbersQuery asks for each number under a name of its own. The library makes a query from a struct type and so has a
// fixed set of names; this one is written out. Only digits go into the text.
func numbersQuery(numbers []int64) string {
	const fields = `id fullDatabaseId number url createdAt updatedAt repository{databaseId nameWithOwner}`
	var b strings.Builder
	b.WriteString(`query($id:ID!){node(id:$id){... on Repository{databaseId`)
	for i, n := range numbers {
		fmt.Fprintf(&b, ` n%d: issueOrPullRequest(number: %d){__typename ... on Issue{%s} ... on PullRequest{%s}}`, i, n, fields, fields)
	}
	b.WriteString(`}}}`)
	return b.String()
}

// resolve finds what numbers lead to: one item each, in order, without facts. What GraphQL does not find is asked for
// once more through REST, which tells what is deleted from what is only out of sight.
func (s *session) resolve(ctx context.Context, class adapters.Class, numbers []int64) ([]adapters.Item, error) {
	out := make([]adapters.Item, 0, len(numbers))
	for len(numbers) > 0 {
		n := min(len(numbers), maxNumbers)
		items, err := s.resolvePage(ctx, class, numbers[:n])
		if err != nil {
			return nil, err
		}
		out, numbers = append(out, items...), numbers[n:]
	}
	return out, nil
}

func (s *session) resolvePage(ctx context.Context, class adapters.Class, numbers []int64) ([]adapters.Item, error) {
	op := fmt.Sprintf("resolve %d numbers of %s", len(numbers), s.repo.Load().NameWithOwner)
	var data struct {
		Node map[string]json.RawMessage `json:"node"`
	}
	a, err := s.api.Raw(ctx, api.Request{Op: op, Class: class}, numbersQuery(numbers), map[string]any{"id": githubv4.ID(s.nodeID)}, &data)
	if err != nil {
		return nil, err
	}
	var repo int64
	if data.Node == nil {
		return nil, absent(op, a.Errors)
	}
	if json.Unmarshal(data.Node["databaseId"], &repo) != nil || repo != s.repoID {
		return nil, protocol(op, "the answer is about another repository")
	}
	why := map[string]*api.GraphQLError{}
	for i := range a.Errors {
		if rest, ok := a.Errors[i].Path.Under("node"); ok {
			why[rest.Name()] = &a.Errors[i]
		}
	}
	out := make([]adapters.Item, len(numbers))
	for i, n := range numbers {
		name := "n" + strconv.Itoa(i)
		it, err := s.resolved(ctx, class, n, data.Node[name], why[name], s.at(a))
		if err != nil {
			return nil, err
		}
		it.Number = n
		out[i] = it
	}
	return out, nil
}

// resolved judges what one number leads to. An error concerns the scope or the moment.
func (s *session) resolved(ctx context.Context, class adapters.Class, n int64, raw json.RawMessage, g *api.GraphQLError, at time.Time) (adapters.Item, error) {
	ref := scope.Ref{Alias: strconv.FormatInt(n, 10)}
	var st *stub
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &st); err != nil {
			return unreadable(ref, itemError(ref, fmt.Errorf("%w: the answer cannot be read", adapters.ErrProtocol))), nil
		}
	}
	switch {
	case st == nil && g != nil && g.NotFound():
		return s.missing(ctx, class, ref, n)
	case st == nil && g != nil:
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: %s", adapters.ErrProtocol, g.Text()))), nil
	case st == nil:
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: null without an error", adapters.ErrProtocol))), nil
	case st.Kind != s.typeName():
		return gone(ref, itemError(ref, fmt.Errorf("number %d is a %s", n, st.Kind))), nil
	case st.Number != n || st.ID == "" || st.DatabaseID == "":
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: the answer is incomplete", adapters.ErrProtocol))), nil
	}
	e := st.entity(s.kind)
	it := adapters.Item{Ref: s.ref(e), Place: s.place(e), Number: n, Updated: e.UpdatedAt.UTC(), ReadAt: at}
	switch it.Place.Container {
	case s.scope.Container:
		return it, nil
	case "":
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: it names no repository", scope.ErrUnproven))), nil
	}
	return gone(ref, itemError(ref, fmt.Errorf("%w: it lives in %s", adapters.ErrMoved, st.Repository.NameWithOwner))), nil
}

// missing asks REST for a number that GraphQL does not find. 410 is proof of deletion, given only where the repository can
// be read; an issue that lives in another repository was transferred. 404 proves nothing: issues of accounts under
// suspicion vanish and come back.
func (s *session) missing(ctx context.Context, class adapters.Class, ref scope.Ref, n int64) (adapters.Item, error) {
	var found struct {
		NodeID string `json:"node_id"`
	}
	op := fmt.Sprintf("read %s#%d", s.repo.Load().NameWithOwner, n)
	_, err := s.api.Get(ctx, api.Request{Op: op, Class: class, Item: true, Path: s.path("/issues/%d", n)}, &found)
	var e *adapters.Error
	switch {
	case err == nil:
		return s.moved(ctx, class, ref, found.NodeID)
	case !errors.As(err, &e):
		return adapters.Item{}, err
	case e.Status == http.StatusGone:
		return gone(ref, err), nil
	case e.Severity == adapters.ItemFailure:
		return unreadable(ref, err), nil
	}
	return adapters.Item{}, err
}

// moved looks where the issue is to which a number redirects.
func (s *session) moved(ctx context.Context, class adapters.Class, ref scope.Ref, node string) (adapters.Item, error) {
	var q kindQuery
	op := "look where " + name(ref) + " went"
	_, err := s.api.Query(ctx, api.Request{Op: op, Class: class, Item: true}, &q, map[string]any{"id": githubv4.ID(node)})
	switch e := asError(err); {
	case err != nil && e.Severity != adapters.ItemFailure:
		return adapters.Item{}, err
	case err != nil:
		return unreadable(ref, err), nil
	case q.Node == nil || q.Node.Issue.Repository.DatabaseID == 0:
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: where it is cannot be seen", scope.ErrUnproven))), nil
	case q.Node.Issue.Repository.DatabaseID == s.repoID:
		return unreadable(ref, itemError(ref, fmt.Errorf("%w: two answers disagree", adapters.ErrProtocol))), nil
	}
	return gone(ref, itemError(ref, fmt.Errorf("%w: it was transferred to %s", adapters.ErrMoved, q.Node.Issue.Repository.NameWithOwner))), nil
}

// Probe asks for numbers that a sweep did not meet, and reads those that turn out to be of the scope's kind.
func (s *session) Probe(ctx context.Context, numbers []int64) ([]adapters.Item, error) {
	items, err := s.resolve(ctx, adapters.Search, numbers)
	if err != nil {
		return nil, err
	}
	var refs []scope.Ref
	var at []int
	for i := range items {
		if items[i].State == adapters.Present {
			refs, at = append(refs, items[i].Ref), append(at, i)
		}
	}
	if len(refs) == 0 {
		return items, nil
	}
	got, err := s.Read(ctx, refs, query.FieldSet{})
	for k, i := range at {
		if k < len(got) {
			got[k].Number = items[i].Number
			items[i] = got[k]
		}
	}
	return items, err
}
