package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/fullsend-ai/discovery/adapters"
	"github.com/fullsend-ai/discovery/adapters/gitlab/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// Access levels (doc/api/access_requests.md). Compared with >=: new ones have come between.
const (
	levelGuest      = 10
	levelPlanner    = 15
	levelReporter   = 20
	levelDeveloper  = 30
	levelMaintainer = 40
	levelOwner      = 50
)

const (
	memberEndpoint  = "projects/{id}/members/all/{user}"
	membersEndpoint = "projects/{id}/members/all?user_ids[]={user}"
)

// Roles asks for each actor's membership by its number: the strongest of direct, inherited and invited ones. Who has none
// is asked for again in the list of members, so that a refusal or a proxy's 404 is not taken for the answer; and that
// counts only where all memberships are shown to the credential.
func (s *session) Roles(ctx context.Context, as []query.User) ([]adapters.Finding, error) {
	b := &batch{s: s}
	out := make([]adapters.Finding, len(as))
	err := b.each(ctx, len(as), func(ctx context.Context, i int) error {
		f, err := b.role(ctx, as[i])
		out[i] = f
		return err
	})
	return out, err
}

func (b *batch) role(ctx context.Context, u query.User) (adapters.Finding, error) {
	f := adapters.Finding{Actor: u, Endpoint: memberEndpoint, At: b.s.now().UTC()}
	unverified := func(why string) adapters.Finding {
		f.Role, f.Verified, f.Why = adapters.NoRole, false, why
		return f
	}
	id, err := strconv.ParseInt(u.ID, 10, 64)
	switch {
	case u.Deleted:
		f.Role, f.Verified, f.Endpoint = adapters.None, true, "provider metadata: deleted account"
		return f, nil
	case err != nil || id <= 0:
		return unverified("the actor has no id"), nil
	}
	if err := b.waiting(); err != nil {
		return unverified(err.Error()), nil
	}
	m, a, err := b.s.member(ctx, id)
	if errors.Is(err, adapters.ErrNotFound) {
		f.Endpoint = membersEndpoint
		m, a, err = b.s.absent(ctx, id)
	}
	switch {
	case err != nil:
		return unverified(err.Error()), err
	case m.ID != 0 && m.ID != id:
		return unverified("the answer is about another account"), nil
	}
	f.At = b.s.at(a)
	f.Role, f.Verified = roleOf(m, f.At), true
	switch {
	case m.ID == 0 && !b.s.seesMembers(b.s.project.Load()):
		return unverified("no member that is shown; the account is no member itself, and members by way of private groups are hidden from it"), nil
	case f.Role <= adapters.ReadRole:
		return f, nil
	}
	bot, err := b.s.isBot(ctx, adapters.Roles, id)
	if err != nil {
		return unverified("finding out whether the account is a bot: " + err.Error()), err
	}
	if bot { // its memberships are what it needs to work, and no say
		f.Role, f.Endpoint, f.Actor.Bot = adapters.None, "users/{user}: a bot", true
	}
	return f, nil
}

// roleOf maps a membership as it stands at an instant. A blocked account, an invitation and a membership past its day are
// none (app/helpers/api/helpers/members_helpers.rb filters invitations and requests only).
func roleOf(m api.Member, now time.Time) adapters.Role {
	switch {
	case m.ID == 0, m.State != "active", m.Await, !m.Expires.IsZero() && !now.Before(m.Expires):
		return adapters.None
	case m.Level >= levelOwner:
		return adapters.Admin
	case m.Level >= levelMaintainer:
		return adapters.Maintain
	case m.Level >= levelDeveloper:
		return adapters.Write
	case m.Level >= levelReporter:
		return adapters.Triage
	case m.Level >= levelGuest:
		return adapters.ReadRole
	}
	return adapters.None
}

func (s *session) member(ctx context.Context, id int64) (api.Member, api.Answer, error) {
	op := fmt.Sprintf("read membership of account %d", id)
	m, a, err := s.api.Member(ctx, api.Request{Op: op, Class: adapters.Roles, Item: true, Path: s.path("/members/all/%d", id)})
	if err == nil && m.ID <= 0 {
		err = &adapters.Error{Severity: adapters.ItemFailure, Op: op, Status: 200, Err: fmt.Errorf("%w: the answer has no account id", adapters.ErrProtocol)}
	}
	return m, a, err
}

// absent looks for an account in the list of members.
func (s *session) absent(ctx context.Context, id int64) (api.Member, api.Answer, error) {
	ms, a, err := s.api.Members(ctx, api.Request{Op: fmt.Sprintf("look for account %d among the members", id), Class: adapters.Roles, Item: true,
		Path: s.path("/members/all"), Query: url.Values{"user_ids[]": {strconv.FormatInt(id, 10)}}})
	if err != nil {
		return api.Member{}, a, err
	}
	var best api.Member
	for _, m := range ms {
		if m.ID == id && m.Level >= best.Level {
			best = m
		}
	}
	return best, a, nil
}
