package live

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/conformance"
	"github.com/fullsend-ai/discovery/internal/forgesim"
)

const (
	get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete
)

type verb func(s *stage, ctx context.Context, a map[string]string) error

func verbs() map[string]verb {
	return map[string]verb{
		"user": (*stage).user, "rename-user": (*stage).renameUser, "delete-user": (*stage).deleteUser,
		"token": (*stage).token, "revoke-token": (*stage).revoke,
		"repo": (*stage).makeRepo, "rename-repo": (*stage).renameRepo, "delete-repo": (*stage).deleteRepo, "recreate-repo": (*stage).makeRepo,
		"hide-repo": (*stage).hide, "set-role": (*stage).setRole,
		"create-label": (*stage).makeLabel, "rename-label": (*stage).renameLabel, "delete-label": (*stage).deleteLabel,
		"create-milestone": (*stage).makeStone, "rename-milestone": (*stage).renameStone,
		"create": (*stage).create, "edit": (*stage).edit, "delete": (*stage).remove,
		"label": (*stage).label, "unlabel": (*stage).unlabel, "assign": (*stage).assign, "unassign": (*stage).assign, "milestone": (*stage).milestone,
		"close": (*stage).state, "reopen": (*stage).state, "merge": (*stage).merge, "push": (*stage).push, "status": (*stage).status,
		"comment": (*stage).comment, "edit-comment": (*stage).editComment, "delete-comment": (*stage).deleteComment,
		"request-review": (*stage).requestReview, "review": (*stage).review, "dismiss-review": (*stage).dismiss,
		"advance": (*stage).advance,
	}
}

// Can implements conformance.Stage.
func (s *stage) Can(v string) bool {
	if kind, ok := strings.CutPrefix(v, "fault "); ok {
		// What depends on the server's own past cannot be put in front of it.
		return s.world.CanFault(kind) && kind != "index-lag" && kind != "replica-lag" && kind != "anonymous" && kind != "slow"
	}
	return verbs()[v] != nil || v == "fault" || v == "clear-faults"
}

// Do implements conformance.Stage.
func (s *stage) Do(ctx context.Context, v string, args map[string]string) error {
	if v == "fault" || v == "clear-faults" {
		return s.world.Do(ctx, v, args)
	}
	do, ok := verbs()[v]
	if !ok {
		return fmt.Errorf("%w: no verb %s", conformance.ErrUnable, v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return do(s, ctx, args)
}

// Key implements conformance.Stage.
func (s *stage) Key(name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.names[name]
	if !ok {
		return "", fmt.Errorf("nothing is called %q", name)
	}
	return fmt.Sprintf("%s#%d", e.repo, e.number), nil
}

// advance lets time pass, as far as one can wait for it: some seconds are more than the server's lag, and that is what
// minutes mean in the case files. Days cannot be waited for.
func (s *stage) advance(ctx context.Context, a map[string]string) error {
	d, err := time.ParseDuration(a["by"])
	wait := time.Duration(0)
	switch {
	case err != nil || d < 0 || d > 90*time.Minute:
		return fmt.Errorf("%w: advance by=%s", conformance.ErrUnable, a["by"])
	case d >= 5*time.Minute:
		wait = 6500 * time.Millisecond
	case d >= 10*time.Second:
		wait = 1100 * time.Millisecond
	default:
		wait = d
	}
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *stage) user(ctx context.Context, a map[string]string) error {
	if a["org"] == "true" {
		return nil // made with its first repository, by its owner
	}
	login := s.login(a["login"])
	s.files++
	return s.c.do(ctx, "", post, "/admin/users", map[string]any{
		"username": login, "email": fmt.Sprintf("%s-%d@example.invalid", login, s.files), "password": password, "must_change_password": false,
	}, nil)
}

// password of every account: no secret, the server is thrown away.
const password = "not-a-secret-0"

func (s *stage) renameUser(ctx context.Context, a map[string]string) error {
	return s.c.do(ctx, "", post, at("/admin/users/%s/rename", s.login(a["login"])), map[string]any{"new_username": s.login(a["to"])}, nil)
}

func (s *stage) deleteUser(ctx context.Context, a map[string]string) error {
	return s.c.do(ctx, "", del, at("/admin/users/%s", s.login(a["login"])), nil, nil)
}

func (s *stage) token(ctx context.Context, a map[string]string) error {
	return s.newToken(ctx, a["text"], a["user"])
}

func (s *stage) newToken(ctx context.Context, name, who string) error {
	req, err := s.c.request(ctx, post, at("/users/%s/tokens", s.login(who)), map[string]any{"name": name + "-" + s.tag, "scopes": []string{"all"}})
	if err != nil {
		return err
	}
	req.SetBasicAuth(s.login(who), password)
	var t struct {
		Text string `json:"sha1"`
	}
	if err := s.c.send(req, &t); err != nil {
		return err
	}
	s.tokens[name], s.logins[name] = t.Text, who
	return nil
}

func (s *stage) revoke(ctx context.Context, a map[string]string) error {
	who := s.logins[a["text"]]
	req, err := s.c.request(ctx, del, at("/users/%s/tokens/%s", s.login(who), a["text"]+"-"+s.tag), nil)
	if err != nil {
		return err
	}
	req.SetBasicAuth(s.login(who), password)
	return s.c.send(req, nil)
}

func (s *stage) makeRepo(ctx context.Context, a map[string]string) error {
	org, name, _ := strings.Cut(a["repo"], "/")
	olga := s.login("olga")
	err := s.c.do(ctx, olga, post, "/orgs", map[string]any{"username": org}, nil)
	var no *refusal
	if err != nil && !(errors.As(err, &no) && no.status == http.StatusUnprocessableEntity) {
		return err
	}
	err = s.c.do(ctx, olga, post, at("/orgs/%s/repos", org), map[string]any{"name": name, "auto_init": true, "default_branch": "main"}, nil)
	s.home = a["repo"]
	s.labels[a["repo"]], s.stones[a["repo"]], s.numbers[a["repo"]] = map[string]int64{}, map[string]int64{}, 0
	return err
}

func (s *stage) renameRepo(ctx context.Context, a map[string]string) error {
	org, _, _ := strings.Cut(a["repo"], "/")
	to := org + "/" + a["to"]
	if err := s.c.do(ctx, s.login("olga"), patch, at("/repos/%s", a["repo"]), map[string]any{"name": a["to"]}, nil); err != nil {
		return err
	}
	for n, e := range s.names {
		if e.repo == a["repo"] {
			e.repo = to
			s.names[n] = e
		}
	}
	s.labels[to], s.stones[to], s.numbers[to] = s.labels[a["repo"]], s.stones[a["repo"]], s.numbers[a["repo"]]
	if s.home == a["repo"] {
		s.home = to
	}
	return nil
}

func (s *stage) deleteRepo(ctx context.Context, a map[string]string) error {
	return s.c.do(ctx, "", del, at("/repos/%s", a["repo"]), nil, nil)
}

func (s *stage) hide(ctx context.Context, a map[string]string) error {
	return s.c.do(ctx, s.login("olga"), patch, at("/repos/%s", s.repo(a["repo"])), map[string]any{"private": a["off"] != "true"}, nil)
}

// setRole gives a role through collaboration. Who may label without writing is in a team with rights on single units.
func (s *stage) setRole(ctx context.Context, a map[string]string) error {
	repo, who, olga := s.repo(a["repo"]), s.login(a["user"]), s.login("olga")
	switch a["role"] {
	case "none":
		return s.c.do(ctx, olga, del, at("/repos/%s/collaborators/%s", repo, who), nil, nil)
	case "read", "write", "admin":
		return s.c.do(ctx, olga, put, at("/repos/%s/collaborators/%s", repo, who), map[string]any{"permission": a["role"]}, nil)
	case "triage":
		org, _, _ := strings.Cut(repo, "/")
		var team struct{ ID int64 }
		units := map[string]string{"repo.issues": "write", "repo.pulls": "write", "repo.code": "read"}
		if err := s.c.do(ctx, olga, post, at("/orgs/%s/teams", org), map[string]any{
			"name": "labellers", "permission": "read", "units_map": units, "includes_all_repositories": true}, &team); err != nil {
			return err
		}
		return s.c.do(ctx, olga, put, at("/teams/%d/members/%s", team.ID, who), nil, nil)
	}
	return fmt.Errorf("%w: role %s", conformance.ErrUnable, a["role"])
}

func (s *stage) makeLabel(ctx context.Context, a map[string]string) error {
	repo := s.repo(a["repo"])
	var l struct{ ID int64 }
	err := s.c.do(ctx, s.login("olga"), post, at("/repos/%s/labels", repo), map[string]any{"name": a["label"], "color": "#336699"}, &l)
	s.labels[repo][a["label"]] = l.ID
	return err
}

func (s *stage) labelID(repo, name string) (int64, error) {
	id, ok := s.labels[repo][name]
	if !ok {
		return 0, fmt.Errorf("no label %q in %s", name, repo)
	}
	return id, nil
}

func (s *stage) renameLabel(ctx context.Context, a map[string]string) error {
	repo := s.repo(a["repo"])
	id, err := s.labelID(repo, a["label"])
	if err != nil {
		return err
	}
	delete(s.labels[repo], a["label"])
	s.labels[repo][a["to"]] = id
	return s.c.do(ctx, s.login("olga"), patch, at("/repos/%s/labels/%d", repo, id), map[string]any{"name": a["to"]}, nil)
}

func (s *stage) deleteLabel(ctx context.Context, a map[string]string) error {
	repo := s.repo(a["repo"])
	id, err := s.labelID(repo, a["label"])
	if err != nil {
		return err
	}
	return s.c.do(ctx, s.login("olga"), del, at("/repos/%s/labels/%d", repo, id), nil, nil)
}

func (s *stage) makeStone(ctx context.Context, a map[string]string) error {
	repo := s.repo(a["repo"])
	var m struct{ ID int64 }
	err := s.c.do(ctx, s.login("olga"), post, at("/repos/%s/milestones", repo), map[string]any{"title": a["milestone"]}, &m)
	s.stones[repo][a["milestone"]] = m.ID
	return err
}

func (s *stage) renameStone(ctx context.Context, a map[string]string) error {
	repo := s.repo(a["repo"])
	return s.c.do(ctx, s.login("olga"), patch, at("/repos/%s/milestones/%d", repo, s.stones[repo][a["milestone"]]), map[string]any{"title": a["to"]}, nil)
}

func (s *stage) create(ctx context.Context, a map[string]string) error {
	repo := s.repo(a["repo"])
	in := map[string]any{"title": a["title"], "body": a["body"]}
	if a["draft"] == "true" {
		in["title"] = "WIP: " + a["title"]
	}
	var ids []int64
	for _, n := range list(a["labels"]) {
		id, err := s.labelID(repo, n)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	in["labels"] = ids
	var who []string
	for _, n := range list(a["assignees"]) {
		who = append(who, s.login(n))
	}
	in["assignees"] = who
	if m := a["milestone"]; m != "" {
		in["milestone"] = s.stones[repo][m]
	}
	if a["due"] != "" {
		in["due_date"] = a["due"] + "T12:00:00Z"
	}
	s.numbers[repo]++
	path := at("/repos/%s/issues", repo)
	pull := a["kind"] == string(forgesim.ChangeProposal)
	if pull {
		if err := s.branches(ctx, repo, a, in); err != nil {
			return err
		}
		path = at("/repos/%s/pulls", repo)
	}
	var made issue
	err := s.c.do(ctx, s.login(a["as"]), post, path, in, &made)
	if err != nil {
		return err
	}
	if a["name"] != "" {
		s.names[a["name"]] = entity{repo, made.Number, pull}
	}
	return nil
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// branches makes the base and the head of a pull request.
func (s *stage) branches(ctx context.Context, repo string, a map[string]string, in map[string]any) error {
	base, head := a["base"], a["head"]
	if base == "" {
		base = "main"
	}
	if head == "" {
		head = "change-" + strconv.FormatInt(s.numbers[repo], 10)
	}
	in["base"], in["head"] = base, head
	if base != "main" {
		if err := s.branch(ctx, repo, base); err != nil {
			return err
		}
	}
	at := headAt(repo, head, s.login("olga"))
	inside, err := s.member(ctx, repo, s.login(a["as"]))
	if err != nil {
		return err
	}
	if a["head-repo"] != "" || !inside {
		fork, err := s.fork(ctx, repo, s.login(a["as"]))
		if err != nil {
			return err
		}
		at = headAt(fork, head, s.login(a["as"]))
		in["head"] = s.login(a["as"]) + ":" + head
	}
	if a["name"] != "" {
		s.heads[a["name"]] = at
	}
	return s.commit(ctx, at, "main")
}

// member reports whether somebody may propose a branch of the repository itself.
func (s *stage) member(ctx context.Context, repo, who string) (bool, error) {
	err := s.c.do(ctx, s.login("olga"), get, at("/repos/%s/collaborators/%s", repo, who), nil, nil)
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusNotFound {
		return who == s.login("olga") || who == s.login("lena"), nil
	}
	return err == nil, err
}

func headAt(repo, branch, by string) head { return head{repo, branch, by} }

// fork gives a person without rights a copy to propose changes from.
func (s *stage) fork(ctx context.Context, repo, who string) (string, error) {
	name := "fork-" + s.tag
	err := s.c.do(ctx, who, post, at("/repos/%s/forks", repo), map[string]any{"name": name}, nil)
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusConflict {
		err = nil
	}
	return who + "/" + name, err
}

func (s *stage) branch(ctx context.Context, repo, name string) error {
	err := s.c.do(ctx, s.login("olga"), post, at("/repos/%s/branches", repo), map[string]any{"new_branch_name": name, "old_branch_name": "main"}, nil)
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusConflict {
		return nil
	}
	return err
}

// commit puts a new file on a branch, which is made from another one when they differ.
func (s *stage) commit(ctx context.Context, to head, from string) error {
	s.files++
	in := map[string]any{"branch": from, "message": "change", "content": base64.StdEncoding.EncodeToString([]byte(to.branch + "\n"))}
	if to.branch != from {
		in["new_branch"] = to.branch
	}
	return s.c.do(ctx, to.by, post, at("/repos/%s/contents/file-%d.txt", to.repo, s.files), in, nil)
}

func (s *stage) on(a map[string]string) (entity, error) {
	e, ok := s.names[a["on"]]
	if !ok {
		return e, fmt.Errorf("nothing is called %q", a["on"])
	}
	return e, nil
}

// act sends one request about an entity, as the one who acts.
func (s *stage) act(ctx context.Context, a map[string]string, method, tail string, in any) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	err = s.c.do(ctx, s.login(a["as"]), method, at("/repos/%s/issues/%d", e.repo, e.number)+tail, in, nil)
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusForbidden {
		return fmt.Errorf("%w: the server does not let %s: %w", conformance.ErrUnable, a["as"], err)
	}
	return err
}

func (s *stage) edit(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	in := map[string]any{}
	for _, k := range []string{"title", "body"} {
		if v, ok := a[k]; ok {
			in[k] = v
		}
	}
	if v, ok := a["draft"]; ok {
		var i issue
		if err := s.c.do(ctx, "", get, at("/repos/%s/issues/%d", e.repo, e.number), nil, &i); err != nil {
			return err
		}
		in["title"] = strings.TrimPrefix(i.Title, "WIP: ")
		if v == "true" {
			in["title"] = "WIP: " + strings.TrimPrefix(i.Title, "WIP: ")
		}
	}
	switch {
	case a["locked"] == "true":
		return s.act(ctx, a, put, "/lock", map[string]any{"lock_reason": ""})
	case a["locked"] == "false":
		return s.act(ctx, a, del, "/lock", nil)
	case a["base"] != "":
		if err := s.branch(ctx, e.repo, a["base"]); err != nil {
			return err
		}
		return s.c.do(ctx, s.login(a["as"]), patch, at("/repos/%s/pulls/%d", e.repo, e.number), map[string]any{"base": a["base"]}, nil)
	}
	return s.act(ctx, a, patch, "", in)
}

func (s *stage) remove(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	return s.c.do(ctx, "", del, at("/repos/%s/issues/%d", e.repo, e.number), nil, nil)
}

func (s *stage) label(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	id, err := s.labelID(e.repo, a["label"])
	if err != nil {
		return err
	}
	return s.act(ctx, a, post, "/labels", map[string]any{"labels": []int64{id}})
}

func (s *stage) unlabel(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	id, err := s.labelID(e.repo, a["label"])
	if err != nil {
		return err
	}
	return s.act(ctx, a, del, "/labels/"+strconv.FormatInt(id, 10), nil)
}

// assign adds an assignee; the API only sets all of them.
func (s *stage) assign(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	var i issue
	if err := s.c.do(ctx, "", get, at("/repos/%s/issues/%d", e.repo, e.number), nil, &i); err != nil {
		return err
	}
	who := []string{s.login(a["user"])}
	for _, u := range i.Assignees {
		if u.Login != who[0] {
			who = append(who, u.Login)
		}
	}
	return s.act(ctx, a, patch, "", map[string]any{"assignees": who})
}

func (s *stage) milestone(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	return s.act(ctx, a, patch, "", map[string]any{"milestone": s.stones[e.repo][a["milestone"]]})
}

func (s *stage) state(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	var i struct{ State string }
	if err := s.c.do(ctx, "", get, at("/repos/%s/issues/%d", e.repo, e.number), nil, &i); err != nil {
		return err
	}
	to := "closed"
	if i.State == "closed" {
		to = "open"
	}
	return s.act(ctx, a, patch, "", map[string]any{"state": to})
}

// merge waits until the server knows whether it can be merged: until then it says 405.
func (s *stage) merge(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	for range 50 {
		err = s.c.do(ctx, s.login(a["as"]), post, at("/repos/%s/pulls/%d/merge", e.repo, e.number), map[string]any{"Do": "merge"}, nil)
		var no *refusal
		if !errors.As(err, &no) || no.status != http.StatusMethodNotAllowed {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
	return err
}

func (s *stage) push(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	before, err := s.head(ctx, e)
	if err != nil {
		return err
	}
	if err := s.commit(ctx, s.heads[a["on"]], s.heads[a["on"]].branch); err != nil {
		return err
	}
	for range 50 { // the pull request follows its branch after a while
		if now, err := s.head(ctx, e); err != nil || now != before {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the pull request does not follow its branch")
}

func (s *stage) head(ctx context.Context, e entity) (string, error) {
	var p struct{ Head struct{ Sha string } }
	err := s.c.do(ctx, "", get, at("/repos/%s/pulls/%d", e.repo, e.number), nil, &p)
	return p.Head.Sha, err
}

func (s *stage) status(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	sha, err := s.head(ctx, e)
	if err != nil {
		return err
	}
	return s.c.do(ctx, s.login(a["as"]), post, at("/repos/%s/statuses/%s", e.repo, sha), map[string]any{"context": a["context"], "state": a["state"]}, nil)
}

func (s *stage) comment(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	var c struct{ ID int64 }
	err = s.c.do(ctx, s.login(a["as"]), post, at("/repos/%s/issues/%d/comments", e.repo, e.number), map[string]any{"body": a["body"]}, &c)
	s.remarks[a["name"]] = remark{e.repo, c.ID}
	return err
}

func (s *stage) editComment(ctx context.Context, a map[string]string) error {
	r := s.remarks[a["comment"]]
	err := s.c.do(ctx, s.login(a["as"]), patch, at("/repos/%s/issues/comments/%d", r.repo, r.id), map[string]any{"body": a["body"]}, nil)
	var no *refusal
	if errors.As(err, &no) && no.status == http.StatusForbidden {
		return fmt.Errorf("%w: the server does not let %s edit: %w", conformance.ErrUnable, a["as"], err)
	}
	return err
}

func (s *stage) deleteComment(ctx context.Context, a map[string]string) error {
	r := s.remarks[a["comment"]]
	return s.c.do(ctx, "", del, at("/repos/%s/issues/comments/%d", r.repo, r.id), nil, nil)
}

func (s *stage) requestReview(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	return s.c.do(ctx, s.login(a["as"]), post, at("/repos/%s/pulls/%d/requested_reviewers", e.repo, e.number), map[string]any{"reviewers": []string{s.login(a["user"])}}, nil)
}

func (s *stage) review(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	event := map[string]string{"approved": "APPROVED", "changes_requested": "REQUEST_CHANGES", "commented": "COMMENT"}[a["state"]]
	body := a["body"]
	if body == "" {
		body = "seen" // a rejection needs words
	}
	return s.c.do(ctx, s.login(a["as"]), post, at("/repos/%s/pulls/%d/reviews", e.repo, e.number), map[string]any{"event": event, "body": body}, nil)
}

func (s *stage) dismiss(ctx context.Context, a map[string]string) error {
	e, err := s.on(a)
	if err != nil {
		return err
	}
	var rs []struct {
		ID   int64
		User struct{ Login string }
	}
	if err := s.c.do(ctx, "", get, at("/repos/%s/pulls/%d/reviews", e.repo, e.number), nil, &rs); err != nil {
		return err
	}
	for _, r := range rs {
		if r.User.Login == s.login(a["user"]) {
			return s.c.do(ctx, s.login(a["as"]), post, at("/repos/%s/pulls/%d/reviews/%d/dismissals", e.repo, e.number, r.ID), map[string]any{"message": "no"}, nil)
		}
	}
	return fmt.Errorf("no review by %s", a["user"])
}
