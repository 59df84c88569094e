package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FromGitHub puts the event of a GitHub Actions workflow into the form of a NormalizedEvent. It takes over what the event
// says is its subject and who caused it, and no role: roles are asked for at the provider.
func FromGitHub(name string, payload []byte) ([]byte, error) {
	var in ghEvent
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, fmt.Errorf("GitHub event %s: %w", name, err)
	}
	kind := transition(name, in.Action, in.PullRequest != nil && in.PullRequest.Merged)
	entity, what := in.Issue, "work_item"
	if in.PullRequest != nil {
		entity, what = in.PullRequest, "change_proposal"
	} else if entity != nil && len(entity.PullRequest) > 0 && string(entity.PullRequest) != "null" {
		what = "change_proposal" // GitHub calls a pull request's comment an issue's
	}
	if kind == "" || entity == nil || entity.Number <= 0 || in.Sender.ID <= 0 {
		return nil, fmt.Errorf("GitHub event %s/%s: %w", name, in.Action, errNotOurs)
	}
	key := in.Repository.FullName + "#" + strconv.FormatInt(entity.Number, 10)
	tr := map[string]any{"kind": kind}
	if in.Label != nil && kind == "label_changed" {
		tr["label"] = map[string]any{"name": in.Label.Name, "action": map[string]string{"labeled": "added", "unlabeled": "removed"}[in.Action]}
	}
	if in.Comment != nil {
		command, instruction := commandOf(in.Comment.Body)
		tr["comment"] = map[string]any{"id": in.Comment.ID, "command": command, "body": in.Comment.Body, "instruction": instruction}
	}
	if in.Review != nil {
		tr["review"] = map[string]any{"state": strings.ToLower(in.Review.State), "reviewer_id": in.Review.User.ID}
	}
	actor := map[string]any{"id": in.Sender.ID, "login": in.Sender.Login, "kind": "human"}
	if in.Sender.Type == "Bot" {
		actor["kind"] = "bot"
	}
	labels := make([]string, 0, len(entity.Labels))
	for _, l := range entity.Labels {
		labels = append(labels, l.Name)
	}
	return json.Marshal(map[string]any{
		"repo": in.Repository.FullName, "source": map[string]any{"system": "github", "raw_type": name, "raw_action": in.Action},
		"entity": map[string]any{"kind": what, "key": key, "url": entity.HTMLURL}, "actor": actor, "transition": tr,
		"state": map[string]any{"labels": labels},
	})
}

var errNotOurs = errors.New("it is about no issue or pull request that changes a state")

type ghEvent struct {
	Action      string    `json:"action"`
	Issue       *ghEntity `json:"issue"`
	PullRequest *ghEntity `json:"pull_request"`
	Label       *ghLabel  `json:"label"`
	Comment     *struct {
		ID   int64  `json:"id"`
		Body string `json:"body"`
	} `json:"comment"`
	Review *struct {
		State string `json:"state"`
		User  ghUser `json:"user"`
	} `json:"review"`
	Sender     ghUser `json:"sender"`
	Repository struct {
		FullName string `json:"full_name"`
	} `json:"repository"`
}

type ghEntity struct {
	Number      int64           `json:"number"`
	HTMLURL     string          `json:"html_url"`
	Merged      bool            `json:"merged"`
	Labels      []ghLabel       `json:"labels"`
	PullRequest json.RawMessage `json:"pull_request"`
}

type ghLabel struct {
	Name string `json:"name"`
}

type ghUser struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"`
}

// transition is what happened, in the words of a NormalizedEvent; "" for what is none.
func transition(name, action string, merged bool) string {
	switch name {
	case "issues", "pull_request", "pull_request_target":
		switch action {
		case "opened", "reopened", "edited":
			return action
		case "closed":
			if merged {
				return "merged"
			}
			return action
		case "synchronize":
			return "synchronized"
		case "ready_for_review":
			return "marked_ready"
		case "labeled", "unlabeled":
			return "label_changed"
		default:
			return "updated"
		}
	case "issue_comment", "pull_request_review_comment":
		return map[string]string{"created": "comment_added", "edited": "comment_edited", "deleted": "comment_deleted"}[action]
	case "pull_request_review":
		return map[string]string{"submitted": "review_submitted"}[action]
	}
	return ""
}

// commandOf splits a comment: the first token of the first line where it begins with a slash, and the rest of that line.
func commandOf(body string) (command, instruction string) {
	line, _, _ := strings.Cut(body, "\n")
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "/") {
		return "", ""
	}
	i := strings.IndexFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.TrimSpace(line[i:])
}
