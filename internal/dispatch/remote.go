package dispatch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
)

// RemoteOptions of drivers that start runs at a provider's CI.
type RemoteOptions struct {
	Dir      string // where it is kept which run stands for which delivery
	HTTP     *http.Client
	Now      func() time.Time
	Token    func() (string, error)
	BaseURL  string // of the API; "" is the public one
	Project  string // owner/name
	Workflow string // file name; GitHub only
	Ref      string // branch or tag to run from
}

// ErrLimit: the provider would not take a start of that size.
var ErrLimit = errors.New("larger than the provider takes")

// ErrAnswer is matched by answers that are not what the API promises.
var ErrAnswer = errors.New("unusable answer")

// ci is one provider's CI.
type ci interface {
	// start returns the id of the run, or "" when the provider does not say it.
	start(ctx context.Context, r *Record) (string, error)
	// find looks for the run of a decision that was started at or after an instant; "" when there is none.
	find(ctx context.Context, decision string, since time.Time) (string, error)
	// outcome of a run: Started while it lives; "" when the provider has no such run.
	outcome(ctx context.Context, id string) (outcome, why string, err error)
	cancel(ctx context.Context, id string) error
}

// Remote starts runs at a provider's CI and derives receipts from what the provider says of them.
type Remote struct {
	name string
	o    RemoteOptions
	ci   ci
}

// Name is the driver's name.
func (m *Remote) Name() string { return m.name }

// sent is a start: written down before it is asked for, so that a crash never forgets one.
type sent struct {
	Key      string    `json:"key"`
	Decision string    `json:"decision"`
	Run      string    `json:"run,omitempty"`
	At       time.Time `json:"at"`
}

func newRemote(name string, o RemoteOptions, c ci) (*Remote, error) {
	if o.Project == "" || o.Ref == "" {
		return nil, fmt.Errorf("%s needs run.remote with project and ref", name)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Remote{name: name, o: o, ci: c}, nil
}

// Start starts a run for every record that has none. A record whose run is known from an earlier start is not started
// again: its receipt is that run's.
func (m *Remote) Start(ctx context.Context, rs []Record) ([]coverage.Receipt, error) {
	var out []coverage.Receipt
	var errs []error
	for i := range rs {
		r := &rs[i]
		rc, err := m.one(ctx, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: start the run of %s: %w", m.name, r.Key, err))
			continue
		}
		out = append(out, rc)
	}
	return out, errors.Join(errs...)
}

func (m *Remote) one(ctx context.Context, r *Record) (coverage.Receipt, error) {
	rc, known, err := m.ask(ctx, r)
	if err != nil || known && rc.Outcome != coverage.Failed {
		return rc, err
	}
	s := sent{Key: r.Key, Decision: r.Decision, At: m.o.Now().UTC()}
	if err := m.keep(&s); err != nil {
		return rc, err
	}
	if s.Run, err = m.ci.start(ctx, r); err != nil {
		return rc, err
	}
	if err := m.keep(&s); err != nil {
		return rc, err
	}
	return m.receipt(r, Started, ""), nil
}

// Ask tells what became of runs that were started.
func (m *Remote) Ask(ctx context.Context, rs []Record) ([]coverage.Receipt, error) {
	var out []coverage.Receipt
	for i := range rs {
		rc, known, err := m.ask(ctx, &rs[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		if known {
			out = append(out, rc)
		}
	}
	return out, nil
}

func (m *Remote) ask(ctx context.Context, r *Record) (rc coverage.Receipt, known bool, err error) {
	s, err := m.load(r)
	if err != nil || s == nil {
		return rc, false, err
	}
	if s.Run == "" {
		if s.Run, err = m.ci.find(ctx, s.Decision, s.At.Add(-time.Minute)); err != nil || s.Run == "" {
			return rc, false, err
		}
		if err := m.keep(s); err != nil {
			return rc, false, err
		}
	}
	outcome, why, err := m.ci.outcome(ctx, s.Run)
	if err != nil || outcome == "" {
		return rc, false, err
	}
	if outcome != Started {
		// The receipt is on its way; a later try of the same decision must start a run of its own.
		if err := m.forget(r); err != nil {
			return rc, false, err
		}
	}
	return m.receipt(r, outcome, why), true, nil
}

func (m *Remote) receipt(r *Record, outcome, why string) coverage.Receipt {
	return coverage.Receipt{Key: r.Key, Decision: r.Decision, Outcome: outcome, Why: why, At: m.o.Now().UTC()}
}

// Cancel ends the run of a record. It is nil only when the provider took the request.
func (m *Remote) Cancel(ctx context.Context, r *Record) error {
	s, err := m.load(r)
	if err != nil {
		return err
	}
	if s == nil || s.Run == "" {
		return fmt.Errorf("%w for %s", ErrNoRun, r.Key)
	}
	if err := m.ci.cancel(ctx, s.Run); err != nil {
		return fmt.Errorf("%s: cancel run %s: %w", m.name, s.Run, err)
	}
	return m.forget(r)
}

func (m *Remote) path(key, decision string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(key), key, decision))
	return filepath.Join(m.o.Dir, hex.EncodeToString(sum[:12])+".json")
}

func (m *Remote) load(r *Record) (*sent, error) {
	b, err := os.ReadFile(m.path(r.Key, r.Decision))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s sent
	if err := json.Unmarshal(b, &s); err != nil || s.Key != r.Key || s.Decision != r.Decision {
		return nil, fmt.Errorf("what is kept of the run of %s cannot be read: %w", r.Key, errors.Join(err, ErrAnswer))
	}
	return &s, nil
}

func (m *Remote) keep(s *sent) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	path := m.path(s.Key, s.Decision)
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(m.o.Dir)
}

func (m *Remote) forget(r *Record) error {
	err := os.Remove(m.path(r.Key, r.Decision))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// api is a JSON API with a token in one header. Redirects are not followed: nothing is to be sent elsewhere.
type api struct {
	o      RemoteOptions
	base   string
	header func(h http.Header, token string)
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 20

func (a *api) call(ctx context.Context, method, path string, query url.Values, in, out any) (int, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(b)
	}
	u := strings.TrimRight(a.base, "/") + "/" + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, u, body)
	if err != nil {
		return 0, err
	}
	token, err := a.o.Token()
	if err != nil {
		return 0, err
	}
	a.header(req.Header, token)
	req.Header.Set("Content-Type", "application/json")
	client := *a.o.HTTP
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return resp.StatusCode, err
	case len(b) > maxAnswer:
		return resp.StatusCode, fmt.Errorf("%w: larger than %d bytes", ErrAnswer, maxAnswer)
	case resp.StatusCode == http.StatusNotFound:
		return resp.StatusCode, nil
	case resp.StatusCode >= 300:
		return resp.StatusCode, fmt.Errorf("%w: status %d of %s %s", ErrAnswer, resp.StatusCode, method, path)
	case out == nil || len(b) == 0:
		return resp.StatusCode, nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return resp.StatusCode, fmt.Errorf("%w: %s %s: %w", ErrAnswer, method, path, err)
	}
	return resp.StatusCode, nil
}

// number is what people call the entity in its project; Jira's subjects go by their numeric id.
func number(r *Record) string {
	if i := strings.LastIndexAny(r.Entity.Key, "#!"); i >= 0 && r.Entity.Provider != "jira" {
		return r.Entity.Key[i+1:]
	}
	return r.Entity.ID
}
