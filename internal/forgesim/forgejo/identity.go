package forgejo

import (
	"fmt"
	"net/http"
	"strings"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

func (c *call) version() { c.json(http.StatusOK, map[string]string{"version": c.o.Version}) }

func (c *call) settings() {
	c.json(http.StatusOK, settings{c.o.MaxItems, c.o.DefaultItems, 1000, 10 << 20, 100 << 20})
}

func (c *call) self() {
	if c.signedIn() {
		c.json(http.StatusOK, c.account(c.doer.ID, c.doer))
	}
}

func (c *call) user() {
	u, was, ok := c.w.User(c.params["login"])
	switch {
	case was != nil:
		c.redirect(c.params["login"], was.Login, http.StatusTemporaryRedirect)
	case !ok:
		c.fail(http.StatusNotFound, fmt.Sprintf("user redirect does not exist [name: %s]", strings.ToLower(c.params["login"])))
	default:
		c.json(http.StatusOK, c.account(u.ID, c.doer))
	}
}

// searchUsers finds accounts by id, which survives a change of login; of the search by words there is none here
// (routers/api/v1/user/user.go, Search).
func (c *call) searchUsers() {
	rows := []any{}
	if u, ok := c.w.UserByID(int64(atoi(c.q.Get("uid")))); ok && !u.Deleted {
		rows = append(rows, c.account(u.ID, c.doer))
	}
	c.json(http.StatusOK, map[string]any{"ok": true, "data": rows})
}

func (c *call) getRepo() { c.json(http.StatusOK, c.repository(c.repo)) }

// getRepoByID answers signed-in callers only, also for a public repository (routers/api/v1/api.go, reqToken).
func (c *call) getRepoByID() {
	if !c.signedIn() {
		return
	}
	r, ok := c.w.RepoByID(c.number("id"))
	if !ok {
		c.missing("")
		return
	}
	if c.enter(r) {
		c.getRepo()
	}
}

// permission answers only administrators of the repository, and everybody about themselves; a
// stranger to a public repository has "read" (routers/api/v1/repo/collaborators.go).
func (c *call) permission() {
	if !c.signedIn() {
		return
	}
	login := c.params["login"]
	if c.role < sim.Admin && !strings.EqualFold(login, c.doer.Login) {
		c.fail(http.StatusForbidden, "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own")
		return
	}
	u, _, ok := c.w.User(login)
	if !ok {
		c.fail(http.StatusNotFound, fmt.Sprintf("user does not exist [uid: 0, name: %s]", login))
		return
	}
	m := mode(c.w.Role(c.repo.ID, u.ID))
	owner, _ := c.w.UserByID(c.repo.OwnerID)
	c.json(http.StatusOK, permission{m, m, c.account(u.ID, &owner)})
}
