package gitea

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Issue is what the server says of an issue, or of a pull request seen as an issue.
type Issue struct {
	ID     int64  `json:"id"`
	Number int    `json:"number"`
	Title  string `json:"title"`
	State  string `json:"state"`
}

// Pull is what the server says of a pull request. Its ID is of another space than the issue's; the number is shared.
type Pull struct {
	ID     int64  `json:"id"`
	Number int    `json:"number"`
	State  string `json:"state"`
	Merged bool   `json:"merged"`
	Draft  bool   `json:"draft"`
	Base   struct {
		Ref string `json:"ref"`
	} `json:"base"`
}

// Named is anything with an id and a name: a label, a repository, a team, a user.
type Named struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	FullName string `json:"full_name"`
	Login    string `json:"login"`
}

// NewIssue describes an issue to create.
type NewIssue struct {
	Title     string   `json:"title"`
	Body      string   `json:"body,omitempty"`
	Labels    []int64  `json:"labels,omitempty"`
	Assignees []string `json:"assignees,omitempty"`
}

// NewPull describes a pull request to create from a branch that this client makes for it.
type NewPull struct {
	Title  string  `json:"title"` // "WIP: …" makes it a draft
	Body   string  `json:"body,omitempty"`
	Head   string  `json:"head"`
	Base   string  `json:"base"`
	Labels []int64 `json:"labels,omitempty"`
}

// Repo drives one repository as one account.
type Repo struct {
	*Client
	Path string // owner/name
}

// In returns the repository as this account sees it.
func (c *Client) In(path string) Repo { return Repo{c, path} }

// Me returns the account itself.
func (c *Client) Me(ctx context.Context) (Named, error) {
	var u Named
	err := c.Get(ctx, "/user", &u)
	return u, err
}

// CreateOrg creates an organisation that this account owns.
func (c *Client) CreateOrg(ctx context.Context, name string) error {
	return c.Do(ctx, http.MethodPost, "/orgs", map[string]any{"username": name}, nil)
}

// CreateRepo creates a repository with a first commit on main, in an organisation.
func (c *Client) CreateRepo(ctx context.Context, org, name string) (Named, error) {
	var r Named
	err := c.Do(ctx, http.MethodPost, "/orgs/"+org+"/repos", map[string]any{
		"name": name, "auto_init": true, "default_branch": "main",
	}, &r)
	return r, err
}

// AddUnitTeam creates a team whose members hold rights on single units only, for example {"repo.issues": "write"}, over
// every repository of the organisation.
func (c *Client) AddUnitTeam(ctx context.Context, org, name string, units map[string]string, members ...string) error {
	var team Named
	err := c.Do(ctx, http.MethodPost, "/orgs/"+org+"/teams", map[string]any{
		"name": name, "permission": "read", "units_map": units, "includes_all_repositories": true,
	}, &team)
	if err != nil {
		return err
	}
	for _, m := range members {
		if err := c.Do(ctx, http.MethodPut, fmt.Sprintf("/teams/%d/members/%s", team.ID, m), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// Collaborate gives a user a permission on the repository: read, write or admin.
func (r Repo) Collaborate(ctx context.Context, user, permission string) error {
	return r.Do(ctx, http.MethodPut, r.at("/collaborators/%s", user), map[string]any{"permission": permission}, nil)
}

// CreateLabel creates a label and returns its id.
func (r Repo) CreateLabel(ctx context.Context, name string) (int64, error) {
	var l Named
	err := r.Do(ctx, http.MethodPost, r.at("/labels"), map[string]any{"name": name, "color": "#336699"}, &l)
	return l.ID, err
}

// CreateIssue opens an issue. Labels of an account without write on issues are dropped by the server.
func (r Repo) CreateIssue(ctx context.Context, in NewIssue) (Issue, error) {
	var i Issue
	err := r.Do(ctx, http.MethodPost, r.at("/issues"), in, &i)
	return i, err
}

// Issue reads one issue.
func (r Repo) Issue(ctx context.Context, n int) (Issue, error) {
	var i Issue
	err := r.Get(ctx, r.at("/issues/%d", n), &i)
	return i, err
}

// Edit changes title, body, state, or whatever else the server's PATCH takes, of an issue or a pull request.
func (r Repo) Edit(ctx context.Context, n int, fields map[string]any) error {
	return r.Do(ctx, http.MethodPatch, r.at("/issues/%d", n), fields, nil)
}

// Close closes an issue or a pull request.
func (r Repo) Close(ctx context.Context, n int) error {
	return r.Edit(ctx, n, map[string]any{"state": "closed"})
}

// Reopen reopens it.
func (r Repo) Reopen(ctx context.Context, n int) error {
	return r.Edit(ctx, n, map[string]any{"state": "open"})
}

// Delete deletes an issue for good.
func (r Repo) Delete(ctx context.Context, n int) error {
	return r.Do(ctx, http.MethodDelete, r.at("/issues/%d", n), nil, nil)
}

// AddLabels applies labels.
func (r Repo) AddLabels(ctx context.Context, n int, ids ...int64) error {
	return r.Do(ctx, http.MethodPost, r.at("/issues/%d/labels", n), map[string]any{"labels": ids}, nil)
}

// RemoveLabel removes one label.
func (r Repo) RemoveLabel(ctx context.Context, n int, id int64) error {
	return r.Do(ctx, http.MethodDelete, r.at("/issues/%d/labels/%d", n, id), nil, nil)
}

// Comment comments and returns the comment's id.
func (r Repo) Comment(ctx context.Context, n int, body string) (int64, error) {
	var c Named
	err := r.Do(ctx, http.MethodPost, r.at("/issues/%d/comments", n), map[string]any{"body": body}, &c)
	return c.ID, err
}

// EditComment replaces a comment's text; the server keeps its author and names no editor.
func (r Repo) EditComment(ctx context.Context, id int64, body string) error {
	return r.Do(ctx, http.MethodPatch, r.at("/issues/comments/%d", id), map[string]any{"body": body}, nil)
}

// Branch makes a branch off main that carries one file of its own.
func (r Repo) Branch(ctx context.Context, name string) error {
	return r.Do(ctx, http.MethodPost, r.at("/contents/%s.txt", name), map[string]any{
		"branch": "main", "new_branch": name, "message": "Add " + name,
		"content": base64.StdEncoding.EncodeToString([]byte(name + "\n")),
	}, nil)
}

// CreatePull makes the head branch and opens a pull request from it.
func (r Repo) CreatePull(ctx context.Context, in NewPull) (Pull, error) {
	var p Pull
	if err := r.Branch(ctx, in.Head); err != nil {
		return p, err
	}
	err := r.Do(ctx, http.MethodPost, r.at("/pulls"), in, &p)
	return p, err
}

// Merge merges a pull request. The server checks in the background whether it can be merged and says 405 until then.
func (r Repo) Merge(ctx context.Context, n int) error {
	for {
		err := r.Do(ctx, http.MethodPost, r.at("/pulls/%d/merge", n), map[string]any{"Do": "merge"}, nil)
		var no *Refusal
		if !errors.As(err, &no) || no.Answer.Status != http.StatusMethodNotAllowed {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// CreateBranch makes a branch off main.
func (r Repo) CreateBranch(ctx context.Context, name string) error {
	return r.Do(ctx, http.MethodPost, r.at("/branches"), map[string]any{
		"new_branch_name": name, "old_branch_name": "main",
	}, nil)
}

// Rename renames the repository and returns it under its new name.
func (r Repo) Rename(ctx context.Context, name string) (Repo, error) {
	var n Named
	err := r.Do(ctx, http.MethodPatch, r.at(""), map[string]any{"name": name}, &n)
	return r.In(n.FullName), err
}

func (r Repo) at(format string, args ...any) string {
	return "/repos/" + r.Path + fmt.Sprintf(format, args...)
}
