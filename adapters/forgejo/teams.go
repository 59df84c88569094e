package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"code.gitea.io/sdk/gitea"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/forgejo/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// An organisation's teams below administrator hold their rights unit by unit, and the permission answer shows none of
// these rights. A member of a team that may write code, issues and pull requests has write all the same; membership
// is proven by the server naming the actor, and by nothing else.

// readTeams lists the teams that have access to the repository; none where it belongs to a person.
func (s *session) readTeams(ctx context.Context, class adapters.Class) ([]*gitea.Team, error) {
	var ts []*gitea.Team
	_, err := s.api.Get(ctx, api.Request{Op: "read teams of " + s.repo.Load().full(), Class: class, Item: true, Path: s.path("/teams"), Null: true}, &ts)
	return slices.DeleteFunc(ts, func(t *gitea.Team) bool { return t == nil }), err
}

func mayWrite(t *gitea.Team, unit gitea.RepoUnitType) bool {
	switch t.UnitsMap[string(unit)] {
	case "write", "admin", "owner":
		return true
	}
	return false
}

// writers reports whether a team amounts to the role write.
func writers(t *gitea.Team) bool {
	return mayWrite(t, gitea.RepoUnitCode) && mayWrite(t, gitea.RepoUnitIssues) && mayWrite(t, gitea.RepoUnitPulls)
}

// editors warns of teams that may edit texts of this kind although their members have no write: what they edit cannot be
// told from an edit by the author.
func (s *session) editors(ts []*gitea.Team) []string {
	unit := gitea.RepoUnitIssues
	if s.kind == query.ChangeProposal {
		unit = gitea.RepoUnitPulls
	}
	var names []string
	for _, t := range ts {
		if mayWrite(t, unit) && !writers(t) && !strings.EqualFold(t.Name, "owners") && t.Permission != gitea.AccessModeAdmin && t.Permission != gitea.AccessModeOwner {
			names = append(names, t.Name)
		}
	}
	if names == nil {
		return nil
	}
	return []string{fmt.Sprintf("members of %s may edit titles, bodies and comments without having write, and the server does not say who edited: "+
		"give them write, or take that right", strings.Join(names, ", "))}
}

// membership answers, for one batch, whether an actor is in a team of writers.
type membership struct {
	s    *session
	once sync.Once
	ids  []int64
	err  error

	mu     sync.Mutex
	closed bool // the credential may not ask
}

// writer names the endpoint that proves u a member of a team of writers; "" when nothing proves it.
func (m *membership) writer(ctx context.Context, u query.User, login string) (string, error) {
	m.once.Do(func() {
		var ts []*gitea.Team
		ts, m.err = m.s.readTeams(ctx, adapters.Roles)
		for _, t := range ts {
			if writers(t) {
				m.ids = append(m.ids, t.ID)
			}
		}
	})
	if m.err != nil {
		return "", passing(m.err)
	}
	for _, id := range m.ids {
		if m.refused() {
			return "", nil
		}
		endpoint := fmt.Sprintf("teams/%d/members/%s", id, url.PathEscape(login))
		var who api.User
		_, err := m.s.api.Get(ctx, api.Request{Op: fmt.Sprintf("look for %s in team %d", login, id), Class: adapters.Roles, Item: true, Path: endpoint}, &who)
		switch {
		case err == nil && idOf(&who) == u.ID:
			return "teams/{id}/members/{login}", nil
		case errors.Is(err, adapters.ErrForbidden):
			m.refuse()
		case err != nil && passing(err) != nil:
			return "", err
		}
	}
	return "", nil
}

// passing lets pass what only means that teams tell nothing here: no organisation, no right to look, no such member.
func passing(err error) error {
	e := asError(err)
	if errors.Is(err, adapters.ErrNotFound) || errors.Is(err, adapters.ErrForbidden) || e.Status == 405 {
		return nil
	}
	return err
}

func (m *membership) refused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

func (m *membership) refuse() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
}
