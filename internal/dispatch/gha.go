package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/query"
)

// What a workflow_dispatch may carry at most:
// https://docs.github.com/actions/reference/workflows-and-actions/events-that-trigger-workflows#workflow_dispatch
const (
	maxInputs     = 25
	maxInputChars = 65_535
)

// NewGHA makes the driver gha-dispatch: each record is a workflow_dispatch, each receipt is the run's conclusion. The
// workflow should put inputs.fullsend_decision into its run-name: where GitHub does not return a run's id it is found by that.
func NewGHA(o RemoteOptions) (*Remote, error) {
	if o.Workflow == "" {
		return nil, errors.New("gha-dispatch needs run.remote.workflow")
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://api.github.com"
	}
	g := &gha{o: o, api: api{o: o, base: o.BaseURL, header: func(h http.Header, token string) {
		h.Set("Authorization", "Bearer "+token)
		h.Set("Accept", "application/vnd.github+json")
		h.Set("X-GitHub-Api-Version", "2022-11-28")
	}}}
	return newRemote(GHAName, o, g)
}

type gha struct {
	o RemoteOptions
	api
}

func (g *gha) repo() string {
	owner, name, _ := strings.Cut(g.o.Project, "/")
	return "repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name)
}

func (g *gha) workflow() string {
	return g.repo() + "/actions/workflows/" + url.PathEscape(g.o.Workflow)
}

// inputs are the execution ref, in the names that the platform's concurrency groups read, and what a bound run needs.
func (g *gha) inputs(r *Record) (map[string]string, error) {
	kind, event := "issue", "issues"
	if r.Subject.Kind == query.ChangeProposal && r.Entity.Kind == query.ChangeProposal {
		kind, event = "pull_request", "pull_request"
	}
	n := number(r)
	var num any = n
	if i, err := strconv.ParseInt(n, 10, 64); err == nil {
		num = i
	}
	payload, err := json.Marshal(map[string]any{kind: map[string]any{"number": num}})
	if err != nil {
		return nil, err
	}
	in := map[string]string{
		"harness": r.Harness, "source_repo": sourceRepo(r), "event_type": event, "event_action": "discovered", "event_payload": string(payload),
		"entity": r.Entity.Key, "fullsend_identity": strings.Join([]string{r.Entity.Provider, r.Entity.Tenant, string(r.Entity.Kind), r.Entity.ID}, "|"),
		"fullsend_key": r.Key, "fullsend_decision": r.Decision,
	}
	chars := 0
	for k, v := range in {
		chars += len([]rune(k)) + len([]rune(v))
	}
	if len(in) > maxInputs || chars > maxInputChars {
		return nil, fmt.Errorf("%w: %d inputs of %d characters", ErrLimit, len(in), chars)
	}
	return in, nil
}

// sourceRepo is the repository of the entity as people write it, or the target where the source has none.
func sourceRepo(r *Record) string {
	if repo, _, ok := strings.Cut(r.Entity.Key, "#"); ok && strings.Contains(repo, "/") {
		return repo
	}
	return r.Target
}

func (g *gha) start(ctx context.Context, r *Record) (string, error) {
	in, err := g.inputs(r)
	if err != nil {
		return "", err
	}
	var out struct {
		ID int64 `json:"workflow_run_id"`
	}
	body := map[string]any{"ref": g.o.Ref, "inputs": in, "return_run_details": true}
	status, err := g.call(ctx, http.MethodPost, g.workflow()+"/dispatches", nil, body, &out)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusNotFound:
		return "", fmt.Errorf("%w: there is no workflow %s in %s, or it may not be started", ErrAnswer, g.o.Workflow, g.o.Project)
	case out.ID == 0:
		return "", nil
	}
	return strconv.FormatInt(out.ID, 10), nil
}

func (g *gha) find(ctx context.Context, decision string, since time.Time) (string, error) {
	var out struct {
		Runs []struct {
			ID    int64  `json:"id"`
			Title string `json:"display_title"`
		} `json:"workflow_runs"`
	}
	q := url.Values{"event": {"workflow_dispatch"}, "per_page": {"100"}, "created": {">=" + since.UTC().Format(time.RFC3339)}}
	if _, err := g.call(ctx, http.MethodGet, g.workflow()+"/runs", q, nil, &out); err != nil {
		return "", err
	}
	for _, r := range out.Runs {
		if strings.Contains(r.Title, decision) {
			return strconv.FormatInt(r.ID, 10), nil
		}
	}
	return "", nil
}

func (g *gha) outcome(ctx context.Context, id string) (outcome, why string, err error) {
	var out struct {
		Status     string `json:"status"`
		Conclusion string `json:"conclusion"`
	}
	status, err := g.call(ctx, http.MethodGet, g.repo()+"/actions/runs/"+url.PathEscape(id), nil, nil, &out)
	switch {
	case err != nil || status == http.StatusNotFound:
		return "", "", err
	case out.Status != "completed":
		return Started, "", nil
	}
	switch out.Conclusion {
	case "success":
		return coverage.Ran, "", nil
	case "skipped", "neutral":
		return coverage.Skipped, "run " + id, nil
	}
	return coverage.Failed, fmt.Sprintf("run %s: %s", id, out.Conclusion), nil
}

func (g *gha) cancel(ctx context.Context, id string) error {
	status, err := g.call(ctx, http.MethodPost, g.repo()+"/actions/runs/"+url.PathEscape(id)+"/cancel", nil, nil, nil)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("%w: status %d", ErrAnswer, status)
	}
	return err
}
