package gitlab

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// account is lib/api/entities/user.rb: only here is it said whether an account is a bot.
func (c *call) account(u sim.User) map[string]any {
	b := c.basic(u.ID)
	return map[string]any{"id": b.ID, "username": b.Username, "name": b.Name, "state": b.State, "locked": b.Locked, "avatar_url": b.Avatar, "web_url": b.WebURL,
		"created_at": stamp(u.Created), "bot": u.Bot, "bio": "", "location": "", "public_email": nil}
}

func (c *call) self() {
	if !c.signedIn() {
		return
	}
	v := c.account(*c.doer)
	if c.doer.SiteRoot {
		v["is_admin"] = true
	}
	c.json(v)
}

// tokenSelf is doc/api/personal_access_tokens.md, "self".
func (c *call) tokenSelf() {
	switch {
	case !c.signedIn():
	case c.k.NoTokenPage:
		c.fail(http.StatusNotFound, "404 Not Found")
	default:
		scopes := c.k.TokenScopes
		if scopes == nil {
			scopes = []string{"read_api"}
		}
		v := map[string]any{"id": 1, "name": "poller", "revoked": false, "created_at": stamp(c.repo.Created), "scopes": scopes, "user_id": c.doer.ID,
			"active": true, "expires_at": nil}
		if c.k.TokenExpires != "" {
			v["expires_at"] = c.k.TokenExpires
		}
		c.json(v)
	}
}

func (c *call) users() {
	rows := []any{}
	if u, _, ok := c.w.User(c.q.Get("username")); ok {
		rows = append(rows, c.basic(u.ID))
	}
	paged(c, rows)
}

func (c *call) user() {
	u, ok := c.w.UserByID(c.number("user"))
	if !ok || u.Deleted || !c.may() {
		c.fail(http.StatusNotFound, "404 User Not Found")
		return
	}
	c.json(c.account(u))
}

// may: accounts are shown to signed-in callers.
func (c *call) may() bool { return c.doer != nil }

// project is lib/api/entities/project_with_access.rb for those who signed in, and basic_project_details.rb for others
// (lib/api/projects.rb).
func (c *call) project() {
	r := c.repo
	v := map[string]any{
		"id": r.ID, "name": r.Name, "path": r.Name, "path_with_namespace": r.FullName(), "name_with_namespace": r.Owner + " / " + r.Name,
		"description": nil, "created_at": stamp(r.Created), "default_branch": r.DefaultBranch, "web_url": c.base() + path(r), "star_count": 0, "forks_count": 0,
		"last_activity_at": stamp(r.Updated), "visibility": "public",
		"namespace": map[string]any{"id": r.OwnerID, "name": r.Owner, "path": r.Owner, "full_path": r.Owner, "kind": "group"},
	}
	if r.Private {
		v["visibility"] = "private"
	}
	if c.doer != nil {
		v["issues_enabled"], v["merge_requests_enabled"], v["archived"], v["shared_with_groups"] = !c.k.IssuesOff, !c.k.MergesOff, r.Archived, []any{}
		v["creator_id"] = r.OwnerID
		perms := map[string]any{"project_access": nil, "group_access": nil}
		if c.member.Role > sim.None {
			perms["project_access"] = map[string]int{"access_level": level(c.member.Role), "notification_level": 3}
		}
		v["permissions"] = perms
	}
	c.json(v)
}

// level is the access level that a role is (doc/api/access_requests.md).
func level(r sim.Role) int {
	return map[sim.Role]int{sim.Read: 10, sim.Triage: 20, sim.Write: 30, sim.Maintain: 40, sim.Admin: 50, sim.Owner: 50}[r]
}

type member struct {
	*userBasic
	Level   int     `json:"access_level"`
	Created *string `json:"created_at"`
	Expires *string `json:"expires_at"`
	State   string  `json:"membership_state"`
}

// memberOf shows a membership. Whom the quirk hides does not show, nor does who has none: strangers to a public project and
// administrators of the instance.
func (c *call) memberOf(id int64) (member, bool) {
	u, ok := c.w.UserByID(id)
	m := c.w.Member(c.repo.ID, id)
	if !ok || u.Org || m.Role == sim.None || slices.Contains(c.k.HiddenMembers, u.Login) {
		return member{}, false
	}
	return member{c.basic(id), level(m.Role), stamp(c.repo.Created), day(m.Expires), "active"}, true
}

func (c *call) memberAll() {
	if m, ok := c.memberOf(c.number("user")); ok {
		c.json(m)
		return
	}
	c.fail(http.StatusNotFound, "404 Not found")
}

// memberDirect shows direct members only: not the owner, who is one by way of the group.
func (c *call) memberDirect() {
	if m, ok := c.memberOf(c.number("user")); ok && m.ID != c.repo.OwnerID {
		c.json(m)
		return
	}
	c.fail(http.StatusNotFound, "404 Not found")
}

func (c *call) membersAll() {
	rows := []member{}
	ids := c.q["user_ids[]"]
	for _, text := range ids {
		id, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			c.bad("user_ids is invalid")
			return
		}
		if m, ok := c.memberOf(id); ok {
			rows = append(rows, m)
		}
	}
	paged(c, rows)
}
