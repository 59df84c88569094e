package conformance_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo"
	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/conformance/simulated"
	api "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/scope"
)

// mutant is the forgejo adapter with one fault in it.
type mutant struct {
	forgejo.Adapter
	config  func(*adapters.Config)
	session func(*broken)
	claims  func(query.Leaf, query.WalkKind) query.Strength
}

func (m mutant) Claims(k query.Kind) query.Filters {
	if m.claims != nil {
		return query.FiltersFunc(m.claims)
	}
	return m.Adapter.Claims(k)
}

func (m mutant) Open(ctx context.Context, c adapters.Config) (adapters.Session, error) {
	if m.config != nil {
		m.config(&c)
	}
	s, err := m.Adapter.Open(ctx, c)
	if err != nil || m.session == nil {
		return s, err
	}
	b := &broken{Session: s, Prober: s.(adapters.Prober), c: c}
	m.session(b)
	return b, nil
}

// broken is a session some of whose methods are replaced.
type broken struct {
	adapters.Session
	adapters.Prober
	c adapters.Config

	mu      sync.Mutex
	sources []query.Source

	health func(context.Context) (adapters.Health, error)
	plan   func(adapters.Plan) adapters.Plan
	pages  func(context.Context, adapters.Plan, adapters.Walk, adapters.Position) iter.Seq2[adapters.Page, error]
	read   func(context.Context, []scope.Ref, query.FieldSet) ([]adapters.Item, error)
	roles  func(context.Context, []query.User) ([]adapters.Finding, error)
	find   func(context.Context, string) (scope.Ref, error)
}

func (b *broken) Health(ctx context.Context) (adapters.Health, error) {
	if b.health != nil {
		return b.health(ctx)
	}
	return b.Session.Health(ctx)
}

func (b *broken) Compile(ctx context.Context, ss []query.Source) (adapters.Plan, []adapters.Refusal) {
	b.mu.Lock()
	b.sources = ss
	b.mu.Unlock()
	p, rs := b.Session.Compile(ctx, ss)
	if b.plan != nil {
		p = b.plan(p)
	}
	return p, rs
}

func (b *broken) Pages(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
	if b.pages != nil {
		return b.pages(ctx, p, w, at)
	}
	return b.Session.Pages(ctx, p, w, at)
}

func (b *broken) Read(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
	if b.read != nil {
		return b.read(ctx, refs, fs)
	}
	return b.Session.Read(ctx, refs, fs)
}

func (b *broken) Roles(ctx context.Context, us []query.User) ([]adapters.Finding, error) {
	if b.roles != nil {
		return b.roles(ctx, us)
	}
	return b.Session.Roles(ctx, us)
}

func (b *broken) Find(ctx context.Context, ref string) (scope.Ref, error) {
	if b.find != nil {
		return b.find(ctx, ref)
	}
	return b.Session.Find(ctx, ref)
}

// eachPage changes every page; false drops an error and ends as if that were the end.
func (b *broken) eachPage(page func(adapters.Walk, *adapters.Page), fails func(error) bool) {
	b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
		return func(yield func(adapters.Page, error) bool) {
			for pg, err := range b.Session.Pages(ctx, p, w, at) {
				if err != nil && fails != nil && !fails(err) {
					return
				}
				if err == nil && page != nil {
					page(w, &pg)
				}
				if !yield(pg, err) {
					return
				}
			}
		}
	}
}

// eachItem changes every item that a read gives.
func (b *broken) eachItem(f func(*adapters.Item, query.FieldSet)) {
	b.read = func(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
		items, err := b.Session.Read(ctx, refs, fs)
		for i := range items {
			f(&items[i], fs)
		}
		return items, err
	}
}

func keep(items []adapters.Item, f func(*adapters.Item) bool) []adapters.Item {
	return slices.DeleteFunc(items, func(it adapters.Item) bool { return !f(&it) })
}

func hasLabel(it *adapters.Item, name string) bool {
	return slices.ContainsFunc(it.Facts.Get(query.FLabel).Items, func(e query.Element) bool {
		f := e.Member(query.MName)
		return len(f.Values) > 0 && strings.EqualFold(f.Values[0].Str, name)
	})
}

// elements changes every element of a field.
func elements(it *adapters.Item, id query.FieldID, f func(*query.Element)) {
	if it.Facts == nil {
		return
	}
	for i := range it.Facts.Get(id).Items {
		f(&it.Facts.Get(id).Items[i])
	}
}

// naive pages by offset, in the way that everybody writes first.
func (b *broken) naive(state string) {
	kind := map[query.Kind]string{query.WorkItem: "issues", query.ChangeProposal: "pulls"}[b.c.Kind]
	b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
		if w.Pointers {
			return b.Session.Pages(ctx, p, w, at)
		}
		return func(yield func(adapters.Page, error) bool) {
			first := 1
			if len(at.Cursor) > 0 {
				first, _ = strconv.Atoi(string(at.Cursor))
			}
			for page := first; ; page++ {
				q := url.Values{"state": {state}, "type": {kind}, "limit": {"50"}, "page": {strconv.Itoa(page)}}
				if !at.Since.IsZero() {
					q.Set("since", at.Since.UTC().Format(time.RFC3339))
				}
				numbers, err := b.numbers(ctx, q)
				if err != nil {
					yield(adapters.Page{}, err)
					return
				}
				items, err := b.Probe(ctx, numbers)
				if err != nil {
					yield(adapters.Page{}, err)
					return
				}
				items = keep(items, func(it *adapters.Item) bool { return it.State == adapters.Present })
				pg := adapters.Page{Items: items}
				if len(numbers) == 50 {
					pg.Next = []byte(strconv.Itoa(page + 1))
				}
				if !yield(pg, nil) || pg.Next == nil {
					return
				}
			}
		}
	}
}

func (b *broken) numbers(ctx context.Context, q url.Values) ([]int64, error) {
	if err := b.c.Budget.Wait(ctx, adapters.Search, 1); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.c.BaseURL+"/api/v1/repos/"+b.c.Container+"/issues?"+q.Encode(), nil)
	if err != nil {
		return nil, err
	}
	t, err := b.c.Token(ctx)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "token "+t)
	resp, err := b.c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var rows []struct{ Number int64 }
	if err := json.NewDecoder(resp.Body).Decode(&rows); err != nil {
		return nil, err
	}
	out := make([]int64, len(rows))
	for i, r := range rows {
		out[i] = r.Number
	}
	return out, nil
}

// retrying sends every request again until it gets an answer, and asks nobody.
type retrying struct{ next http.RoundTripper }

func (r retrying) RoundTrip(q *http.Request) (resp *http.Response, err error) {
	for range 4 {
		if resp, err = r.next.RoundTrip(q); err == nil {
			return resp, nil
		}
	}
	return nil, err
}

// withoutWalk leaves a walk out of a plan.
type withoutWalk struct {
	adapters.Plan
	name string
}

func (p withoutWalk) Walks() []adapters.Walk {
	return slices.DeleteFunc(slices.Clone(p.Plan.Walks()), func(w adapters.Walk) bool { return w.Name == p.name })
}

// The rooms of mutants: what is wrong with each, and the case that must say so.
type room struct {
	fault string
	by    string
	mutant
}

// pagingMutants lose rows between pages, or take the end for granted.
func pagingMutants() []room {
	return []room{
		{"pages by offset and loses what moves up", "walks/rows-leave", mutant{session: func(b *broken) { b.naive("all") }}},
		{"pages a sweep by offset", "walks/rows-leave-the-sweep", mutant{session: func(b *broken) { b.naive("all") }}},
		{"filters a changing field under offset paging", "walks/rows-leave-the-filter", mutant{
			session: func(b *broken) { b.naive("open") },
			claims: func(l query.Leaf, _ query.WalkKind) query.Strength {
				if l.Field == query.FState {
					return query.Exact
				}
				return query.None
			},
		}},
		{"takes the size that it asked for, for the one that it got", "caps/small-pages", mutant{session: func(b *broken) { b.naive("all") }}},
		{"asks for what changed after since, not at it", "walks/since-is-inclusive", mutant{session: func(b *broken) {
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				at.Since = at.Since.Truncate(time.Second).Add(time.Second)
				return b.Session.Pages(ctx, p, w, at)
			}
		}}},
		{"forgets the overlap of its lag", "walks/late-index", mutant{session: func(b *broken) {
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				if w.Kind == query.Changes {
					at.Since = at.Since.Add(w.Lag)
				}
				return b.Session.Pages(ctx, p, w, at)
			}
		}}},
		{"shows windows by creation time", "walks/old-entity", mutant{session: func(b *broken) {
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				return func(yield func(adapters.Page, error) bool) {
					for pg, err := range b.Session.Pages(ctx, p, w, at) {
						if w.Kind == query.Changes && !w.Pointers {
							pg.Items = keep(pg.Items, func(it *adapters.Item) bool {
								return !it.Facts.Get(query.FCreated).Values[0].Time.Before(at.Since)
							})
						}
						if !yield(pg, err) {
							return
						}
					}
				}
			}
		}}},
		{"shows open entities only", "claims/state", mutant{session: func(b *broken) {
			b.eachPage(func(_ adapters.Walk, p *adapters.Page) {
				p.Items = keep(p.Items, func(it *adapters.Item) bool {
					return it.Facts == nil || it.Facts.Get(query.FState).Values[0].Str == "open"
				})
			}, nil)
		}}},
		{"goes on with the cursor of another window", "walks/cursor-of-another-window", mutant{session: func(b *broken) {
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				var c map[string]any
				if json.Unmarshal(at.Cursor, &c) == nil && !at.Since.IsZero() && w.Kind == query.Changes {
					c["s"] = max(at.Since.Unix(), 0)
					at.Cursor, _ = json.Marshal(c)
				}
				return b.Session.Pages(ctx, p, w, at)
			}
		}}},
		{"keeps cursors in its own memory", "walks/resume", mutant{session: func(b *broken) {
			mine := map[string]bool{}
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				return func(yield func(adapters.Page, error) bool) {
					if len(at.Cursor) > 0 && !mine[string(at.Cursor)] {
						yield(adapters.Page{}, nil) // nothing is left, it believes
						return
					}
					for pg, err := range b.Session.Pages(ctx, p, w, at) {
						mine[string(pg.Next)] = true
						if !yield(pg, err) {
							return
						}
					}
				}
			}
		}}},
		{"leaves the feed of edited comments out", "walks/comment-edited", mutant{session: func(b *broken) {
			b.plan = func(p adapters.Plan) adapters.Plan { return withoutWalk{p, "comments"} }
		}}},
		{"promises a feed that its plan has not got", "plan/noticed", mutant{session: func(b *broken) {
			b.plan = func(p adapters.Plan) adapters.Plan { return withoutWalk{p, "comments"} }
		}}},
		{"begins the next window in the future", "walks/within-a-second", mutant{session: func(b *broken) {
			b.health = func(ctx context.Context) (adapters.Health, error) {
				h, err := b.Session.Health(ctx)
				h.Clock = h.Clock.Add(2 * time.Minute)
				return h, err
			}
		}}},
		{"takes its clock from the end of the cycle before", "walks/changed-behind-the-reader", mutant{session: func(b *broken) {
			b.eachPage(nil, nil)
			inner := b.pages
			var late time.Duration
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				if w.Kind == query.Changes {
					at.Since = at.Since.Add(late)
					late = 40 * time.Second
				}
				return inner(ctx, p, w, at)
			}
		}}},
		{"marks a row by its clock alone", "walks/within-a-second", mutant{session: func(b *broken) {
			b.eachPage(func(_ adapters.Walk, p *adapters.Page) {
				for i := range p.Items {
					p.Items[i].Token = p.Items[i].Updated.String()
				}
			}, nil)
		}}},
	}
}

// searchMutants push down what must not be pushed down.
func searchMutants() []room {
	drops := func(out func(q string, it *adapters.Item) bool) func(*broken) {
		return func(b *broken) {
			b.eachPage(func(w adapters.Walk, p *adapters.Page) {
				b.mu.Lock()
				ss := b.sources
				b.mu.Unlock()
				if w.Kind != query.Sweep || len(ss) != 1 {
					return
				}
				text := ss[0].Query.Query().String()
				p.Items = keep(p.Items, func(it *adapters.Item) bool { return !out(text, it) })
			}, nil)
		}
	}
	return []room{
		{"pushes a negated label", "search/removed-element", mutant{session: drops(func(q string, it *adapters.Item) bool {
			return strings.Contains(q, `no label(name = "blocked")`) && hasLabel(it, "blocked")
		})}},
		{"pushes a negated label, spelled as a test", "claims/label", mutant{session: drops(func(q string, it *adapters.Item) bool {
			return strings.Contains(q, `label != "bug"`) && hasLabel(it, "bug")
		})}},
		{"pushes that there is no label", "claims/label", mutant{session: drops(func(q string, it *adapters.Item) bool {
			return strings.Contains(q, "label is empty") && len(it.Facts.Get(query.FLabel).Items) > 0
		})}},
		{"drops one branch of an or", "search/or-with-a-silent-branch", mutant{session: drops(func(q string, it *adapters.Item) bool {
			return strings.Contains(q, `label = "bug" or`) && !hasLabel(it, "bug")
		})}},
		{"compares logins exactly", "claims/author-case", mutant{session: drops(func(q string, it *adapters.Item) bool {
			return strings.Contains(q, `author = "WES"`) && it.Facts.Get(query.FAuthor).Values[0].User.Login != "WES"
		})}},
		{"loses the unassigned under a negation", "claims/assignee", mutant{session: drops(func(q string, it *adapters.Item) bool {
			return strings.Contains(q, "assignee != ") && len(it.Facts.Get(query.FAssignee).Values) == 0
		})}},
		{"filters by when something is neglected now", "search/time-passes", mutant{session: func(b *broken) {
			b.eachPage(func(_ adapters.Walk, p *adapters.Page) {
				p.Items = keep(p.Items, func(it *adapters.Item) bool { return it.Updated.Before(it.ReadAt.Add(-7 * 24 * time.Hour)) })
			}, nil)
		}}},
	}
}

// failureMutants take failures for answers.
func failureMutants() []room {
	return []room{
		{"swallows a row that is null", "faults/null-row", mutant{session: func(b *broken) {
			b.eachPage(func(_ adapters.Walk, p *adapters.Page) { p.Short = nil }, nil)
		}}},
		{"claims to be complete when the listing failed", "faults/unavailable", mutant{session: func(b *broken) {
			b.eachPage(nil, func(error) bool { return false })
		}}},
		{"takes a login page for the end", "faults/login-page", mutant{session: func(b *broken) {
			b.eachPage(nil, func(err error) bool { return !errors.Is(err, adapters.ErrProtocol) })
		}}},
		{"takes a refusal for an empty project", "faults/forbidden", mutant{session: func(b *broken) {
			b.eachPage(nil, func(err error) bool { return !errors.Is(err, adapters.ErrForbidden) })
		}}},
		{"logs a failed health check and goes on", "faults/identity-unavailable", mutant{session: func(b *broken) {
			b.health = func(ctx context.Context) (adapters.Health, error) {
				h, err := b.Session.Health(ctx)
				if err != nil {
					return adapters.Health{Clock: b.c.Now(), Place: b.c.Container}, nil
				}
				return h, nil
			}
		}}},
		{"follows the name to a re-created container", "identity/recreated-container", mutant{session: func(b *broken) {
			b.health = func(ctx context.Context) (adapters.Health, error) {
				h, err := b.Session.Health(ctx)
				if err == nil {
					return h, nil
				}
				s, err := forgejo.Adapter{}.Open(ctx, b.c)
				if err != nil {
					return h, err
				}
				b.Session, b.Prober = s, s.(adapters.Prober)
				return s.Health(ctx)
			}
		}}},
		{"drops the provider's word on when to come back", "faults/throttled", mutant{session: func(b *broken) {
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				return func(yield func(adapters.Page, error) bool) {
					for pg, err := range b.Session.Pages(ctx, p, w, at) {
						var e *adapters.Error
						if errors.As(err, &e) {
							e.After = 0
						}
						if !yield(pg, err) {
							return
						}
					}
				}
			}
		}}},
		{"calls an outage the end of the scope", "faults/half-json", mutant{session: func(b *broken) {
			b.eachPage(nil, func(err error) bool {
				var e *adapters.Error
				if errors.As(err, &e) {
					e.Severity = adapters.ScopeFailure
				}
				return true
			})
		}}},
		{"tries again by itself", "faults/reset", mutant{config: func(c *adapters.Config) {
			h := *c.HTTP
			h.Transport = retrying{h.Transport}
			c.HTTP = &h
		}}},
		{"puts the credential into errors", "identity/token-revoked", mutant{session: func(b *broken) {
			b.health = func(ctx context.Context) (adapters.Health, error) {
				h, err := b.Session.Health(ctx)
				var e *adapters.Error
				if errors.As(err, &e) {
					t, _ := b.c.Token(ctx)
					e.Err = fmt.Errorf("%w (Authorization: token %s)", e.Err, t)
				}
				return h, err
			}
		}}},
		{"takes what it cannot read for gone", "faults/member-unreadable", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
				if it.State == adapters.Unreadable {
					it.State = adapters.Gone
				}
			})
		}}},
		{"takes comments that it cannot read for none", "faults/null-element", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, fs query.FieldSet) {
				if it.Facts != nil && fs.Has(query.FComment) && it.Facts.Get(query.FComment).Presence == query.Unknown {
					it.Facts.SetItems(query.FComment)
				}
			})
		}}},
	}
}

// peopleMutants believe the wrong one.
func peopleMutants() []room {
	return []room{
		{"takes a 403 for no role", "faults/role-forbidden", mutant{session: func(b *broken) {
			b.roles = func(ctx context.Context, us []query.User) ([]adapters.Finding, error) {
				fs, err := b.Session.Roles(ctx, us)
				for i := range fs {
					if !fs[i].Verified {
						fs[i].Verified, fs[i].Role = true, adapters.None
					}
				}
				return fs, err
			}
		}}},
		{"remembers a role for ever", "people/promoted", mutant{session: func(b *broken) {
			seen := map[string]adapters.Finding{}
			b.roles = func(ctx context.Context, us []query.User) ([]adapters.Finding, error) {
				fs, err := b.Session.Roles(ctx, us)
				for i := range fs {
					if old, ok := seen[fs[i].Actor.ID]; ok {
						fs[i] = old
					}
					seen[fs[i].Actor.ID] = fs[i]
				}
				return fs, err
			}
		}}},
		{"takes the author for the applier", "people/author-is-not-the-applier", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
				elements(it, query.FLabel, func(e *query.Element) {
					e.Actor, e.Editors = it.Facts.Get(query.FAuthor).Values[0].User, query.EditorsNamed
				})
			})
		}}},
		{"admits possible editors blindly", "people/possible-editors", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
				elements(it, query.FComment, func(e *query.Element) { e.Editors = min(e.Editors, query.EditorsNamed) })
			})
		}}},
		{"lets a dismissed review stand", "people/dismissed-review", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
				elements(it, query.FReview, func(e *query.Element) {
					e.Members[0].Fact = query.Fact{Presence: query.Known, Values: []query.Value{query.Word("approved")}}
					e.Editors = query.EditorsNamed
				})
			})
		}}},
		{"names a label's application by the label alone", "search/applied-again", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
				elements(it, query.FLabel, func(e *query.Element) { e.Rev = "" })
			})
		}}},
	}
}

// readMutants answer something else than was asked.
func readMutants() []room {
	return []room{
		{"brings in another container's entities", "identity/other-container", mutant{session: func(b *broken) {
			c := b.c
			c.Container = "acme/gadgets"
			b.pages = func(ctx context.Context, p adapters.Plan, w adapters.Walk, at adapters.Position) iter.Seq2[adapters.Page, error] {
				return func(yield func(adapters.Page, error) bool) {
					s, err := forgejo.Adapter{}.Open(ctx, c)
					if err != nil {
						yield(adapters.Page{}, err)
						return
					}
					for _, from := range []adapters.Session{s, b.Session} {
						for pg, err := range from.Pages(ctx, p, w, adapters.Position{Since: at.Since}) {
							pg.Next = nil
							for i := range pg.Items {
								pg.Items[i].Place.Container = b.Scope().Container
							}
							if !yield(pg, err) {
								return
							}
						}
					}
				}
			}
			b.read = func(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
				items, err := b.Session.Read(ctx, refs, fs)
				if s, oerr := (forgejo.Adapter{}).Open(ctx, c); oerr == nil {
					for i, r := range refs {
						if strings.HasPrefix(r.Key, c.Container) {
							if there, rerr := s.Read(ctx, refs[i:i+1], fs); rerr == nil {
								there[0].Place.Container = b.Scope().Container
								items[i] = there[0]
							}
						}
					}
				}
				return items, err
			}
		}}},
		{"answers from what it read before", "search/ordered-again", mutant{session: func(b *broken) {
			seen := map[string]*query.Facts{}
			b.eachItem(func(it *adapters.Item, fs query.FieldSet) {
				key := it.Ref.ID + fmt.Sprint(fs.IDs())
				if old, ok := seen[key]; ok {
					it.Facts = old
				}
				seen[key] = it.Facts
			})
		}}},
		{"hides how old its answer is", "reading/stale-replica", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) { it.Updated = it.ReadAt })
		}}},
		{"sorts its answers", "reading/in-order", mutant{session: func(b *broken) {
			b.read = func(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
				items, err := b.Session.Read(ctx, refs, fs)
				slices.SortFunc(items, func(x, y adapters.Item) int { return cmp.Compare(x.Ref.ID, y.Ref.ID) })
				return items, err
			}
		}}},
		{"reads one page of comments", "reading/many-comments", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
				if it.Facts == nil {
					return
				}
				f := it.Facts.Get(query.FComment)
				f.Items = f.Items[:min(len(f.Items), 50)]
			})
		}}},
		{"looks every label's applier up again", "cost/one-question-per-person", mutant{session: func(b *broken) {
			b.eachItem(func(it *adapters.Item, _ query.FieldSet) {
				elements(it, query.FLabel, func(e *query.Element) { _ = b.c.Budget.Wait(context.Background(), adapters.Roles, 1) })
			})
		}}},
		{"reads every entity of a sweep by itself", "cost/sweep-by-pages", mutant{session: func(b *broken) { b.naive("all") }}},
		{"resolves a reference to whatever has its number", "identity/find", mutant{session: func(b *broken) {
			b.find = func(ctx context.Context, ref string) (scope.Ref, error) {
				if i := strings.LastIndexAny(ref, "#/"); i >= 0 {
					if r, err := b.Session.Find(ctx, "#"+ref[i+1:]); err == nil {
						return r, nil
					}
				}
				return b.Session.Find(ctx, ref)
			}
		}}},
		{"shares its answers between readers", "reading/concurrent", mutant{session: func(b *broken) {
			var shared []adapters.Item
			var mu sync.Mutex
			b.read = func(ctx context.Context, refs []scope.Ref, fs query.FieldSet) ([]adapters.Item, error) {
				items, err := b.Session.Read(ctx, refs, fs)
				mu.Lock()
				defer mu.Unlock()
				if shared == nil {
					shared = items
				}
				for i := range items {
					items[i].Facts.SetItems(query.FComment)
					if len(shared) > 0 {
						shared = shared[1:]
					}
					if len(shared)%2 == 1 {
						items[i].Facts.SetItems(query.FLabel)
					}
				}
				return items, err
			}
		}}},
	}
}

// SPEC CF-94: an adapter that cheats fails, and the case that fails is the one that is about it.
func TestCheatsAreCaught(t *testing.T) {
	rooms := slices.Concat(pagingMutants(), searchMutants(), failureMutants(), peopleMutants(), readMutants())
	require.GreaterOrEqual(t, len(rooms), 15)
	for _, r := range rooms {
		t.Run(r.fault, func(t *testing.T) {
			f := simulated.Forgejo(api.Gitea127)
			f.Adapter = r.mutant
			tg := simulated.Target(f)
			tg.Match = r.by
			res := conformance.Report(t.Context(), tg)
			require.NotEmpty(t, res.Failed, "nothing was said about an adapter that %s", r.fault)
			assert.Equal(t, conformance.NotConformant, res.Core)
			story := res.Failed[0].Story
			require.NotEmpty(t, story, res.Failed[0].Why)
			for _, part := range []string{"the rule", "expected", "got", "kills", "CF-"} {
				assert.Contains(t, story, part)
			}
			if testing.Verbose() {
				t.Log("\n" + story)
			}
		})
	}
}
