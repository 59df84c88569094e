package api

import (
	"time"

	"code.gitea.io/sdk/gitea"
)

// The SDK's structs are decoded; where they lack a member, it is added around them. What a row says of other things (an
// account's mail and last login, a milestone's counters) is read by nobody here, and would be half of what decoding a
// listing costs: there a smaller member stands over the SDK's.

// Issue is a row or answer of the issues endpoints, for issues and pull requests alike.
type Issue struct {
	gitea.Issue
	Poster      *User       `json:"user"`
	Assignees   []*User     `json:"assignees"`
	Milestone   *Milestone  `json:"milestone"`
	Repository  *Repository `json:"repository"`
	PullRequest *PullMeta   `json:"pull_request"`
}

// User is an account.
type User struct {
	ID       int64  `json:"id"`
	UserName string `json:"login"`
}

// Milestone is the milestone of a row.
type Milestone struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
}

// Repository is the repository of a row.
type Repository struct {
	ID       int64  `json:"id"`
	FullName string `json:"full_name"`
}

// PullMeta is what the issue endpoints say of a pull request.
type PullMeta struct {
	Merged bool  `json:"merged"`
	Draft  *bool `json:"draft"` // nil: the server is too old to say
}

// Event is a row of the timeline. (The SDK decodes the label as a list, which fails on every label row.)
type Event struct {
	ID      int64        `json:"id"`
	Type    string       `json:"type"`
	Poster  *User        `json:"user"`
	Body    string       `json:"body"` // label rows: "1" added, "" removed
	Created time.Time    `json:"created_at"`
	Label   *gitea.Label `json:"label"`
}

// Review is a review or the request for one.
type Review struct {
	gitea.PullReview
	Reviewer *User     `json:"user"`
	Updated  time.Time `json:"updated_at"`
}

// Comment is a comment on an issue or a pull request.
type Comment struct {
	gitea.Comment
	Poster *User `json:"user"`
}

// Settings are the server's limits.
type Settings struct {
	MaxItems int `json:"max_response_items"`
}

// Version is the server's version.
type Version struct {
	Version string `json:"version"`
}

// Permission is the answer of the collaborator endpoint.
type Permission struct {
	gitea.CollaboratorPermissionResult
	User *User `json:"user"`
}

// Users is the answer of the user search.
type Users struct {
	Data []*User `json:"data"`
}
