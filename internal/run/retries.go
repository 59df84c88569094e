package run

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Retry is a candidate that no ledger row stands for (an event, or a person's wish) and that is not answered yet.
type Retry struct {
	Harness   string    `json:"harness"`
	Candidate Candidate `json:"candidate"`
	Due       time.Time `json:"due"`
	Since     time.Time `json:"since"`
	Tries     int       `json:"tries"`
	Why       string    `json:"why,omitempty"`

	Name string `json:"-"`
}

// Retries keeps them in a directory, one file each, until they are answered.
type Retries struct {
	dir string
	now func() time.Time
}

// NewRetries opens the directory, which is made for its owner alone.
func NewRetries(dir string, now func() time.Time) (*Retries, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("retries: %w", err)
	}
	return &Retries{dir: dir, now: now}, nil
}

// The backoff of a retry: doubling from first to last. A run that vanished without a word is missed after patience.
const (
	retryFirst = time.Minute
	retryLast  = 6 * time.Hour
	patience   = 15 * time.Minute
)

// Begin notes a candidate before anything is done about it. The same candidate of the same harness is noted once.
func (r *Retries) Begin(harness string, c Candidate) (Candidate, error) {
	if c.Retry != "" {
		return c, nil
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%d:%s%s", len(harness), harness, len(c.Ref), c.Ref, c.Event))
	c.Retry = hex.EncodeToString(sum[:12]) + ".retry.json"
	now := r.now().UTC()
	t := Retry{Harness: harness, Candidate: c, Due: now.Add(patience), Since: now}
	if old, err := r.read(c.Retry); err == nil {
		t.Since, t.Tries, t.Why = old.Since, old.Tries, old.Why
	}
	return c, r.write(c.Retry, &t)
}

// Answered forgets a candidate.
func (r *Retries) Answered(c Candidate) error {
	if c.Retry == "" {
		return nil
	}
	err := os.Remove(filepath.Join(r.dir, filepath.Base(c.Retry)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Later postpones a candidate that could not be answered.
func (r *Retries) Later(harness string, c Candidate, why string) error {
	if c.Retry == "" {
		return nil
	}
	now := r.now().UTC()
	t, err := r.read(c.Retry)
	if err != nil {
		t = Retry{Harness: harness, Candidate: c, Since: now}
	}
	t.Tries, t.Why = t.Tries+1, why
	t.Due = now.Add(min(retryFirst<<min(t.Tries-1, 10), retryLast))
	return r.write(c.Retry, &t)
}

// Due lists what is to be tried now, the longest due first. A file that cannot be read is reported and stays.
func (r *Retries) Due() ([]Retry, error) {
	all, err := r.All()
	now := r.now()
	return slices.DeleteFunc(all, func(t Retry) bool { return t.Due.After(now) }), err
}

// All lists everything that is not answered.
func (r *Retries) All() ([]Retry, error) {
	names, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	var out []Retry
	var errs []error
	for _, e := range names {
		if !strings.HasSuffix(e.Name(), ".retry.json") {
			continue
		}
		t, err := r.read(e.Name())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
			continue
		}
		t.Name = e.Name()
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b Retry) int { return a.Due.Compare(b.Due) })
	return out, errors.Join(errs...)
}

// Get reads one retry by its name.
func (r *Retries) Get(name string) (Retry, error) {
	t, err := r.read(name)
	if err != nil {
		return t, fmt.Errorf("retries: %w", err)
	}
	t.Name, t.Candidate.Retry = name, filepath.Base(name)
	return t, nil
}

func (r *Retries) read(name string) (Retry, error) {
	var t Retry
	b, err := os.ReadFile(filepath.Join(r.dir, filepath.Base(name)))
	if err != nil {
		return t, err
	}
	return t, json.Unmarshal(b, &t)
}

func (r *Retries) write(name string, t *Retry) error {
	if err := writeFile(filepath.Join(r.dir, filepath.Base(name)), t); err != nil {
		return fmt.Errorf("retries: %w", err)
	}
	return nil
}
