package api

import (
	"time"

	"code.gitea.io/sdk/gitea"
)

// The SDK's structs are decoded as they are; where they lack a member, it is added around them.

// Issue is a row or answer of the issues endpoints, for issues and pull requests alike.
type Issue struct {
	gitea.Issue
	PullRequest *PullMeta `json:"pull_request"`
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
	Poster  *gitea.User  `json:"user"`
	Body    string       `json:"body"` // label rows: "1" added, "" removed
	Created time.Time    `json:"created_at"`
	Label   *gitea.Label `json:"label"`
}

// Review is a review or the request for one.
type Review struct {
	gitea.PullReview
	Updated time.Time `json:"updated_at"`
}

// Settings are the server's limits.
type Settings struct {
	MaxItems int `json:"max_response_items"`
}

// Version is the server's version.
type Version struct {
	Version string `json:"version"`
}

// Users is the answer of the user search.
type Users struct {
	Data []*gitea.User `json:"data"`
}
