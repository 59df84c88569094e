package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/e2e/internal/gitea"
)

// rig is a server with a repository in it, the product's executable, and the test's own record of what it has done.
type rig struct {
	t      *testing.T
	server *gitea.Server
	proxy  *proxy
	bin    string
	repo   string // owner/name, now
	labels map[string]int64
	world  *world

	owner, writer, reader, stranger, labeller *gitea.Client
	poller                                    *gitea.Client // may read roles
	weak                                      *gitea.Client // may read everything but roles
}

const readOnly = "read:repository,read:issue,read:user"

// startServer starts a server behind a proxy, or skips where none can be built.
func startServer(t *testing.T) (*gitea.Server, *proxy) {
	t.Helper()
	bin, err := gitea.Build(t.Context())
	if errors.Is(err, gitea.ErrNoToolchain) {
		t.Skipf("the server cannot be built here: %v", err)
	}
	require.NoError(t, err)
	p := newProxy(t)
	s := gitea.Start(t, bin, p.URL)
	p.forwardTo(t, s.URL)
	return s, p
}

// newRig starts everything and fills the repository.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, bin: buildFullsend(t), labels: map[string]int64{}}
	r.server, r.proxy = startServer(t)
	r.people()
	r.issues()
	r.pulls()
	return r
}

// ctx bounds one action on the server.
func (r *rig) ctx() context.Context {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	r.t.Cleanup(cancel)
	return ctx
}

func (r *rig) user(name string) *gitea.Client {
	c, err := r.server.AddUser(r.ctx(), name, false)
	require.NoError(r.t, err)
	return c
}

func (r *rig) token(user string) *gitea.Client {
	c, err := r.server.Token(r.ctx(), user, readOnly)
	require.NoError(r.t, err)
	return c
}

// people makes the accounts, the repository and its labels.
func (r *rig) people() {
	must := require.New(r.t)
	r.owner, r.writer, r.reader = r.user("rig-owner"), r.user("rig-writer"), r.user("rig-reader")
	r.stranger, r.labeller = r.user("rig-stranger"), r.user("rig-labeller")
	r.user("rig-poller")

	must.NoError(r.owner.CreateOrg(r.ctx(), "acme"))
	repo, err := r.owner.CreateRepo(r.ctx(), "acme", "widgets")
	must.NoError(err)
	r.repo = repo.FullName
	own := r.as(r.owner)
	must.NoError(own.Collaborate(r.ctx(), "rig-writer", "write"))
	must.NoError(own.Collaborate(r.ctx(), "rig-reader", "read"))
	must.NoError(own.Collaborate(r.ctx(), "rig-poller", "admin"))
	// Somebody who may label issues without having write on the repository.
	must.NoError(r.owner.AddUnitTeam(r.ctx(), "acme", "labellers",
		map[string]string{"repo.issues": "write", "repo.pulls": "read", "repo.code": "read"}, "rig-labeller"))

	r.poller, r.weak = r.token("rig-poller"), r.token("rig-reader")
	for _, name := range []string{"bug", "blocked", "ui"} {
		r.labels[name], err = own.CreateLabel(r.ctx(), name)
		must.NoError(err)
	}
	r.world = newWorld(map[string]string{
		"rig-owner": "owner", "rig-writer": "write", "rig-poller": "admin",
		"rig-reader": "read", "rig-stranger": "read", "rig-labeller": "read",
	})
}

// issues makes 120 issues of ten sorts.
func (r *rig) issues() {
	authors := []*gitea.Client{r.stranger, r.reader, r.writer}
	for i := range 120 {
		author := authors[i%len(authors)]
		switch i % 10 {
		case 0:
			r.label(r.open(author), "bug", r.writer)
		case 1:
			n := r.open(author)
			r.label(n, "bug", r.writer)
			r.label(n, "blocked", r.owner)
		case 2:
			r.label(r.open(author), "ui", r.owner)
		case 3: // labelled by somebody who does not count
			r.label(r.open(author), "bug", r.labeller)
		case 4:
			n := r.open(author)
			r.label(n, "bug", r.writer)
			r.close(n)
		case 5:
			r.close(r.open(author))
		case 6: // blocked by somebody who does not count
			n := r.open(author)
			r.label(n, "bug", r.writer)
			r.label(n, "blocked", r.labeller)
		case 7:
			r.comment(r.open(author), "/fs-fix", r.stranger)
		case 8: // labelled at birth
			r.open(r.writer, "bug")
		default:
			r.open(author)
		}
	}
}

// pulls makes 10 pull requests.
func (r *rig) pulls() {
	must := require.New(r.t)
	must.NoError(r.as(r.owner).CreateBranch(r.ctx(), "release"))
	r.pull("plain", "main")
	r.pull("WIP: draft", "main")
	r.pull("elsewhere", "release")
	r.comment(r.pull("commanded", "main"), "/fs-fix now\nplease", r.writer)
	r.comment(r.pull("commanded by a stranger", "main"), "/fs-fix", r.stranger)
	r.close(r.pull("closed", "main"))
	r.merge(r.pull("merged", "main"))
	r.comment(r.pull("WIP: commanded draft", "main"), "/fs-fix", r.owner)
	r.comment(r.pull("mentioned", "main"), "please say /fs-fix", r.writer)
	n := r.pull("words put into a stranger's mouth", "release")
	r.edit(n, r.comment(n, "hello", r.stranger), "/fs-fix", r.owner)
}

// site makes a poller's folder over the repository.
func (r *rig) site(token string, hs []harness) *site {
	r.t.Helper()
	return newSite(r.t, r.bin, r.proxy.URL, r.repo, token, hs)
}

// Every action below changes the server and the test's own record alike.

func (r *rig) as(c *gitea.Client) gitea.Repo { return c.In(r.repo) }

func (r *rig) open(by *gitea.Client, labels ...string) int {
	in := gitea.NewIssue{Title: fmt.Sprintf("issue %d", len(r.world.items)+1), Body: "label: bug\n/fs-fix"}
	for _, l := range labels {
		in.Labels = append(in.Labels, r.labels[l])
	}
	is, err := r.as(by).CreateIssue(r.ctx(), in)
	require.NoError(r.t, err)
	r.add(&item{number: is.Number, ids: []int64{is.ID}, kind: workItem})
	for _, l := range labels {
		r.world.label(is.Number, l, by.User)
	}
	return is.Number
}

func (r *rig) pull(title, base string) int {
	must := require.New(r.t)
	head := fmt.Sprintf("topic-%d", len(r.world.items)+1)
	p, err := r.as(r.writer).CreatePull(r.ctx(), gitea.NewPull{Title: title, Head: head, Base: base})
	must.NoError(err)
	is, err := r.as(r.writer).Issue(r.ctx(), p.Number)
	must.NoError(err)
	r.add(&item{number: p.Number, ids: []int64{is.ID, p.ID}, kind: changeProposal, draft: p.Draft, base: base})
	return p.Number
}

func (r *rig) add(it *item) {
	it.open, it.labels, it.notes = true, map[string]applied{}, map[int64]note{}
	r.world.items[it.number] = it
}

func (r *rig) label(n int, name string, by *gitea.Client) {
	r.t.Helper()
	require.NoError(r.t, r.as(by).AddLabels(r.ctx(), n, r.labels[name]))
	r.world.label(n, name, by.User)
}

func (r *rig) unlabel(n int, name string) {
	r.t.Helper()
	require.NoError(r.t, r.as(r.writer).RemoveLabel(r.ctx(), n, r.labels[name]))
	r.world.unlabel(n, name)
}

func (r *rig) close(n int) {
	r.t.Helper()
	require.NoError(r.t, r.as(r.writer).Close(r.ctx(), n))
	r.world.items[n].open = false
}

func (r *rig) reopen(n int) {
	r.t.Helper()
	require.NoError(r.t, r.as(r.writer).Reopen(r.ctx(), n))
	r.world.items[n].open = true
}

func (r *rig) merge(n int) {
	r.t.Helper()
	require.NoError(r.t, r.as(r.writer).Merge(r.ctx(), n))
	r.world.items[n].open = false
}

func (r *rig) ready(n int, title string) {
	r.t.Helper()
	require.NoError(r.t, r.as(r.writer).Edit(r.ctx(), n, map[string]any{"title": title}))
	r.world.items[n].draft = false
}

func (r *rig) comment(n int, text string, by *gitea.Client) int64 {
	r.t.Helper()
	id, err := r.as(by).Comment(r.ctx(), n, text)
	require.NoError(r.t, err)
	require.NotZero(r.t, id)
	r.world.items[n].notes[id] = note{by.User, text}
	return id
}

// edit replaces a comment's text. The server goes on naming the author alone, and so does the record.
func (r *rig) edit(n int, comment int64, text string, by *gitea.Client) {
	r.t.Helper()
	require.NoError(r.t, r.as(by).EditComment(r.ctx(), comment, text))
	old := r.world.items[n].notes[comment]
	r.world.items[n].notes[comment] = note{old.by, text}
}

func (r *rig) delete(n int) {
	r.t.Helper()
	require.NoError(r.t, r.as(r.owner).Delete(r.ctx(), n))
	r.world.items[n].gone = true
}

func (r *rig) rename(name string) {
	r.t.Helper()
	repo, err := r.as(r.owner).Rename(r.ctx(), name)
	require.NoError(r.t, err)
	r.repo = repo.Path
}

// pick returns the lowest numbered item that want accepts.
func (r *rig) pick(want func(it *item) bool) int {
	r.t.Helper()
	for n := 1; n <= 1000; n++ {
		if it := r.world.items[n]; it != nil && !it.gone && want(it) {
			return n
		}
	}
	require.FailNow(r.t, "no such item")
	return 0
}

// issue picks an issue by state and by who has given its labels.
func (r *rig) issue(open bool, labels map[string]string) int {
	r.t.Helper()
	return r.pick(func(it *item) bool {
		if it.kind != workItem || it.open != open || len(it.labels) != len(labels) {
			return false
		}
		for name, by := range labels {
			if it.labels[name].by != by {
				return false
			}
		}
		return true
	})
}
