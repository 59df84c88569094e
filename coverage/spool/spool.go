// Package spool is a directory through which runs tell the poller what became of them: the poller holds the ledger, runs
// never open it.
package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
)

// Spool is a directory of receipts, one file each. Writers and one reader may be different processes: a file is complete
// when it has its name, and is there until it was taken in.
type Spool struct {
	dir  string
	now  func() time.Time
	rand func() uint64
}

// The file names: the instant of writing sorts them, the random part keeps writers apart.
const (
	suffix  = ".receipt.json"
	aside   = "malformed"
	maxSize = 64 << 10
)

// Open makes the directory, of mode 0700, where it is missing.
func Open(dir string, now func() time.Time, rand func() uint64) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	return &Spool{dir: dir, now: now, rand: rand}, nil
}

// Write puts a receipt into the spool. It is durable when Write returns nil; after an error it may be there or not.
func (s *Spool) Write(r coverage.Receipt) error {
	if err := valid(r); err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	name := fmt.Sprintf("%020d-%016x%s", s.now().UnixNano(), s.rand(), suffix)
	if err := s.publish(name, append(b, '\n')); err != nil {
		return fmt.Errorf("write receipt: %w", err)
	}
	return nil
}

// publish writes the content under a name that readers ignore, and gives it its name when it is on disk.
func (s *Spool) publish(name string, b []byte) error {
	tmp := filepath.Join(s.dir, "."+name)
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp, filepath.Join(s.dir, name))
	}
	if err != nil {
		os.Remove(tmp)
		return err
	}
	return s.syncDir()
}

func (s *Spool) syncDir() error {
	d, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Malformed is a file that is no receipt. It was moved aside and is kept.
type Malformed struct {
	Name string
	Err  error
}

// Ingest gives every receipt to take, oldest first, and removes it when take returns nil. The first error of take ends
// it; that receipt and the later ones stay. take may see a receipt again after a crash and must not mind. What is no
// receipt is set aside, not lost, and does not hold up the others.
func (s *Spool) Ingest(take func(coverage.Receipt) error) (taken int, bad []Malformed, err error) {
	names, err := s.names()
	if err != nil {
		return 0, nil, fmt.Errorf("read spool: %w", err)
	}
	for _, name := range names {
		r, err := s.read(name)
		var pe *fs.PathError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue // taken out by a person
		case errors.As(err, &pe) && !errors.Is(err, fs.ErrPermission):
			return taken, bad, fmt.Errorf("read spool: %w", err)
		case err != nil:
			bad = append(bad, Malformed{name, err})
			if err := s.setAside(name); err != nil {
				return taken, bad, fmt.Errorf("set %s aside: %w", name, err)
			}
			continue
		}
		if err := take(r); err != nil {
			return taken, bad, err
		}
		taken++
		if err := os.Remove(filepath.Join(s.dir, name)); err != nil {
			return taken, bad, fmt.Errorf("remove receipt: %w", err)
		}
	}
	return taken, bad, nil
}

func (s *Spool) names() ([]string, error) {
	es, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range es {
		if n := e.Name(); strings.HasSuffix(n, suffix) && !strings.HasPrefix(n, ".") {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (s *Spool) read(name string) (coverage.Receipt, error) {
	var r coverage.Receipt
	path := filepath.Join(s.dir, name)
	fi, err := os.Lstat(path)
	if err != nil {
		return r, err
	}
	if !fi.Mode().IsRegular() {
		return r, fmt.Errorf("%s is no regular file", fi.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return r, err
	}
	return Parse(b)
}

// Parse reads one receipt as a run wrote it.
func Parse(b []byte) (coverage.Receipt, error) {
	var r coverage.Receipt
	if len(b) > maxSize {
		return r, fmt.Errorf("larger than %d bytes", maxSize)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("no receipt: %v", err)
	}
	return r, valid(r)
}

func valid(r coverage.Receipt) error {
	switch {
	case r.Key == "":
		return errors.New("no receipt: it has no key")
	case r.At.IsZero():
		return errors.New("no receipt: it has no time")
	}
	switch r.Outcome {
	case coverage.HandedOff, coverage.Ran, coverage.Skipped, coverage.NotMember, coverage.NotTriggered,
		coverage.UnknownRun, coverage.Failed, coverage.Lost:
		return nil
	}
	return fmt.Errorf("no receipt: unknown outcome %q", r.Outcome)
}

func (s *Spool) setAside(name string) error {
	dir := filepath.Join(s.dir, aside)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.Rename(filepath.Join(s.dir, name), filepath.Join(dir, name))
}
