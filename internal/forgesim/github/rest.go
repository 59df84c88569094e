package github

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// root is the address of the REST API as the request came to it.
func (c *call) root() string {
	base := "https://" + c.r.Host
	if strings.HasPrefix(c.r.URL.Path, "/api/v3/") {
		base = "http://" + c.r.Host + "/api/v3"
	}
	return base
}

func (c *call) pages() string { return "http://" + strings.TrimPrefix(c.r.Host, "api.") }

// repo opens the repository of the path. An old name is 301 to the repository's id, and keeps the rest of the path.
func (c *call) repo() (sim.Repo, bool) {
	full := c.params["owner"] + "/" + c.params["repo"]
	r, was, ok := c.w.Repo(full)
	if was != nil {
		rest := strings.TrimPrefix(c.r.URL.EscapedPath(), "/api/v3")
		rest = strings.SplitN(rest, "/", 5)[4]
		c.rw.Header().Set("Location", fmt.Sprintf("%s/repositories/%d/%s", c.root(), was.ID, rest))
		c.fail(http.StatusMovedPermanently, "Moved Permanently")
		return sim.Repo{}, false
	}
	if !ok || c.w.Role(r.ID, c.doer.ID) < sim.Read {
		c.fail(http.StatusNotFound, "Not Found")
		return sim.Repo{}, false
	}
	return r, true
}

func login(u sim.User) string {
	if u.Bot {
		return u.Login + "[bot]"
	}
	return u.Login
}

func accountType(bot, org bool) string {
	switch {
	case bot:
		return "Bot"
	case org:
		return "Organization"
	}
	return "User"
}

// userByID: get a user using their ID (docs.github.com rest/users/users).
func (c *call) userByID() {
	id, _ := strconv.ParseInt(c.params["id"], 10, 64)
	u, ok := c.w.UserByID(id)
	if !ok || u.Deleted {
		c.fail(http.StatusNotFound, "Not Found")
		return
	}
	c.json(http.StatusOK, map[string]any{"id": u.ID, "login": login(u), "type": accountType(u.Bot, u.Org)})
}

// permission: get repository permissions for a user (docs.github.com rest/collaborators). Its permission member calls
// maintain write and triage read. A renamed login is not found.
func (c *call) permission() {
	r, ok := c.repo()
	if !ok {
		return
	}
	if c.quirks.CollaboratorsClosed || c.w.Role(r.ID, c.doer.ID) < sim.Write {
		c.fail(http.StatusForbidden, "Must have push access to view collaborator permission.")
		return
	}
	u, _, ok := c.w.User(strings.TrimSuffix(c.params["login"], "[bot]"))
	if !ok {
		c.fail(http.StatusNotFound, fmt.Sprintf("%s is not a user", c.params["login"]))
		return
	}
	role := c.w.Role(r.ID, u.ID)
	name := min(role, sim.Admin).String()
	coarse := map[string]string{"triage": "read", "maintain": "write"}
	flags := map[string]bool{"pull": role >= sim.Read, "triage": role >= sim.Triage, "push": role >= sim.Write,
		"maintain": role >= sim.Maintain, "admin": role >= sim.Admin}
	c.json(http.StatusOK, map[string]any{
		"permission": cmp.Or(coarse[name], name), "role_name": cmp.Or(c.quirks.CustomRoles[u.Login], name),
		"user": map[string]any{"id": u.ID, "login": login(u), "type": accountType(u.Bot, u.Org), "permissions": flags},
	})
}

// issue: get an issue (docs.github.com rest/issues/issues): 301 where it was transferred to, 410 when it was deleted and
// the repository can be read, 404 for the rest.
func (c *call) issue() {
	r, ok := c.repo()
	if !ok {
		return
	}
	n, err := strconv.ParseInt(c.params["n"], 10, 64)
	fate := c.w.Fate(r.ID, n)
	switch {
	case err != nil || !fate.Used || slices.Contains(c.quirks.Flagged, n):
		c.fail(http.StatusNotFound, "Not Found")
	case fate.To != nil:
		to, found := c.w.RepoByID(fate.To.RepoID)
		if !found || c.w.Role(to.ID, c.doer.ID) < sim.Read {
			c.fail(http.StatusNotFound, "Not Found")
			return
		}
		c.rw.Header().Set("Location", fmt.Sprintf("%s/repos/%s/issues/%d", c.root(), to.FullName(), fate.To.Number))
		c.fail(http.StatusMovedPermanently, "Moved Permanently")
	case fate.Deleted:
		c.fail(http.StatusGone, "This issue was deleted")
	default:
		e, ok := c.single().Entity(r.ID, n)
		if !ok {
			c.fail(http.StatusNotFound, "Not Found")
			return
		}
		c.json(http.StatusOK, map[string]any{"id": e.ID, "number": n, "node_id": c.entityID(e), "repository_url": c.root() + "/repos/" + r.FullName()})
	}
}

// comments: list issue comments for a repository (docs.github.com rest/issues/comments): sorted by update where asked,
// those updated after since, by pages.
func (c *call) comments() {
	r, ok := c.repo()
	if !ok {
		return
	}
	q := c.r.URL.Query()
	since, err := time.Parse(time.RFC3339, q.Get("since"))
	if q.Get("since") != "" && err != nil {
		c.fail(http.StatusUnprocessableEntity, "Validation Failed")
		return
	}
	all := slices.DeleteFunc(c.list().Comments(r.ID), func(m sim.RepoComment) bool { return m.Edited.Truncate(time.Second).Before(since) })
	if q.Get("sort") == "updated" {
		slices.SortStableFunc(all, func(a, b sim.RepoComment) int {
			return cmp.Or(a.Edited.Truncate(time.Second).Compare(b.Edited.Truncate(time.Second)), cmp.Compare(a.ID, b.ID))
		})
		if q.Get("direction") != "asc" {
			slices.Reverse(all)
		}
	}
	size, page := 30, 1
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil && n > 0 {
		size = min(n, 100)
	}
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 {
		page = n
	}
	from := min((page-1)*size, len(all))
	rows := []any{}
	for _, m := range all[from:min(from+size, len(all))] {
		kind := "issues"
		if m.Kind == sim.ChangeProposal {
			kind = "pull"
		}
		rows = append(rows, map[string]any{
			"id": m.ID, "created_at": instant(m.Created), "updated_at": instant(m.Edited),
			"issue_url": fmt.Sprintf("%s/repos/%s/issues/%d", c.root(), r.FullName(), m.Number),
			"html_url":  fmt.Sprintf("%s/%s/%s/%d#issuecomment-%d", c.pages(), r.FullName(), kind, m.Number, m.ID),
		})
	}
	c.json(http.StatusOK, rows)
}

// instant is how both APIs write times: whole seconds in UTC.
func instant(t time.Time) string { return t.UTC().Truncate(time.Second).Format(time.RFC3339) }

// appToken: create an installation access token for an app (docs.github.com rest/apps/apps).
func (c *call) appToken() {
	id, _ := strconv.ParseInt(c.params["id"], 10, 64)
	_, signed, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	i := slices.IndexFunc(c.o.Apps, func(a App) bool { return a.Installation == id })
	if i < 0 {
		c.fail(http.StatusNotFound, "Not Found")
		return
	}
	app := c.o.Apps[i]
	now := c.w.Now()
	if err := app.Verify(signed, now); err != nil {
		c.fail(http.StatusUnauthorized, "A JSON web token could not be decoded: "+err.Error())
		return
	}
	until := now.Add(cmp.Or(c.quirks.Lifetime, time.Hour))
	c.mu.Lock()
	text := fmt.Sprintf("ghs_simulated%d", len(c.minted)+1)
	c.minted[text] = until
	c.mu.Unlock()
	if err := c.w.AddToken(text, app.Bot); err != nil {
		c.fail(http.StatusInternalServerError, err.Error())
		return
	}
	c.json(http.StatusCreated, map[string]any{"token": text, "expires_at": instant(until)})
}
