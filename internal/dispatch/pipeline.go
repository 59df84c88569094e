package dispatch

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
)

// NewPipeline makes the driver gitlab-pipeline: each record is a pipeline with variables, each receipt is its status
// (https://docs.gitlab.com/api/pipelines/).
func NewPipeline(o RemoteOptions) (*Remote, error) {
	if o.BaseURL == "" {
		o.BaseURL = "https://gitlab.com"
	}
	p := &pipeline{o: o, api: api{o: o, base: strings.TrimRight(o.BaseURL, "/") + "/api/v4", header: func(h http.Header, token string) {
		h.Set("PRIVATE-TOKEN", token)
	}}}
	return newRemote(PipelineName, o, p)
}

type pipeline struct {
	o RemoteOptions
	api
}

type variable struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// decisionVariable is by which a pipeline of which the id was lost is found.
const decisionVariable = "FULLSEND_DECISION"

// maxVariables bounds all variables together, in bytes: they become the environment of every job.
const maxVariables = 64 << 10

func (p *pipeline) project() string { return "projects/" + url.PathEscape(p.o.Project) }

func (p *pipeline) start(ctx context.Context, r *Record) (string, error) {
	vs := []variable{
		{"FULLSEND_HARNESS", r.Harness}, {"FULLSEND_ENTITY", r.Entity.Key}, {"FULLSEND_KEY", r.Key}, {decisionVariable, r.Decision},
		{"FULLSEND_IDENTITY", strings.Join([]string{r.Entity.Provider, r.Entity.Tenant, string(r.Entity.Kind), r.Entity.ID}, "|")},
		{"FULLSEND_SOURCE_REPO", sourceRepo(r)}, {"FULLSEND_NUMBER", number(r)},
		{"FULLSEND_WORK_ITEM_URL", r.Entity.URL}, {"FULLSEND_WORK_ITEM_SOURCE", r.Entity.Provider}, {"FULLSEND_WORK_ITEM_KEY", r.Entity.Key},
	}
	n := 0
	for _, v := range vs {
		n += len(v.Key) + len(v.Value)
	}
	if n > maxVariables {
		return "", fmt.Errorf("%w: variables of %d bytes", ErrLimit, n)
	}
	var out struct {
		ID int64 `json:"id"`
	}
	status, err := p.call(ctx, http.MethodPost, p.project()+"/pipeline", nil, map[string]any{"ref": p.o.Ref, "variables": vs}, &out)
	switch {
	case err != nil:
		return "", err
	case status == http.StatusNotFound:
		return "", fmt.Errorf("%w: there is no project %s, or no pipeline may be started there", ErrAnswer, p.o.Project)
	case out.ID == 0:
		return "", fmt.Errorf("%w: a pipeline without an id", ErrAnswer)
	}
	return strconv.FormatInt(out.ID, 10), nil
}

func (p *pipeline) find(ctx context.Context, decision string, since time.Time) (string, error) {
	var list []struct {
		ID int64 `json:"id"`
	}
	q := url.Values{"source": {"api"}, "updated_after": {since.UTC().Format(time.RFC3339)}, "per_page": {"50"}}
	if _, err := p.call(ctx, http.MethodGet, p.project()+"/pipelines", q, nil, &list); err != nil {
		return "", err
	}
	for _, l := range list {
		id := strconv.FormatInt(l.ID, 10)
		var vs []variable
		if _, err := p.call(ctx, http.MethodGet, p.project()+"/pipelines/"+id+"/variables", nil, nil, &vs); err != nil {
			return "", err
		}
		for _, v := range vs {
			if v.Key == decisionVariable && v.Value == decision {
				return id, nil
			}
		}
	}
	return "", nil
}

func (p *pipeline) outcome(ctx context.Context, id string) (outcome, why string, err error) {
	var out struct {
		Status string `json:"status"`
	}
	status, err := p.call(ctx, http.MethodGet, p.project()+"/pipelines/"+url.PathEscape(id), nil, nil, &out)
	if err != nil || status == http.StatusNotFound {
		return "", "", err
	}
	switch out.Status {
	case "success":
		return coverage.Ran, "", nil
	case "skipped":
		return coverage.Skipped, "pipeline " + id, nil
	case "failed", "canceled":
		return coverage.Failed, fmt.Sprintf("pipeline %s: %s", id, out.Status), nil
	}
	return Started, "", nil
}

func (p *pipeline) cancel(ctx context.Context, id string) error {
	status, err := p.call(ctx, http.MethodPost, p.project()+"/pipelines/"+url.PathEscape(id)+"/cancel", nil, nil, nil)
	if err == nil && status >= 300 {
		err = fmt.Errorf("%w: status %d", ErrAnswer, status)
	}
	return err
}
