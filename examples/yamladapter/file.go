package yamladapter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/fullsend-ai/discovery/adapters"
)

// People is people.yaml.
type People struct {
	Me     string            `yaml:"me"`     // id of the account as which the folder is read
	People map[string]Person `yaml:"people"` // by stable id, which is never used again
}

// Person is an account.
type Person struct {
	Login   string `yaml:"login"`
	Bot     bool   `yaml:"bot,omitempty"`
	Deleted bool   `yaml:"deleted,omitempty"`
}

// Container is container.yaml.
type Container struct {
	ID    string            `yaml:"id"`    // stable; a copy of the folder needs another one
	Roles map[string]string `yaml:"roles"` // by id of the person
}

// Issue is one file.
type Issue struct {
	ID        string     `yaml:"id"` // stable; the number may be given again, the id never
	Title     Writing    `yaml:"title"`
	Body      Writing    `yaml:"body,omitempty"`
	Author    string     `yaml:"author"`
	Created   time.Time  `yaml:"created"`
	Closed    *time.Time `yaml:"closed,omitempty"` // open without
	Due       string     `yaml:"due,omitempty"`    // yyyy-mm-dd
	Locked    bool       `yaml:"locked,omitempty"`
	Assignees []string   `yaml:"assignees,omitempty"`
	Milestone string     `yaml:"milestone,omitempty"`
	Labels    []Label    `yaml:"labels,omitempty"`
	Comments  []Comment  `yaml:"comments,omitempty"`
}

// Writing is a text with who wrote it as it stands, and when.
type Writing struct {
	Text string    `yaml:"text"`
	By   string    `yaml:"by"`
	At   time.Time `yaml:"at"`
}

// Label is a label with who applied it, and when.
type Label struct {
	Name string    `yaml:"name"`
	By   string    `yaml:"by"`
	At   time.Time `yaml:"at"`
	// Nth tells one application of a label from a later one within the same second.
	Nth int64 `yaml:"nth,omitempty"`
}

// Comment is a comment.
type Comment struct {
	ID      string `yaml:"id"`
	Writing `yaml:",inline"`
}

// maxFile bounds one file, in bytes.
const maxFile = 4 << 20

var errBroken = errors.New("file cannot be read as what it should be")

// load reads one file strictly: a misspelled key is a mistake, not nothing.
func load(path string, into any) (read []byte, mod time.Time, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, time.Time{}, err
	}
	if len(b) > maxFile {
		return nil, time.Time{}, fmt.Errorf("%s: %w", filepath.Base(path), adapters.ErrTooLarge)
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		return nil, time.Time{}, fmt.Errorf("%s: %w: %w", filepath.Base(path), errBroken, err)
	}
	return b, info.ModTime(), nil
}

// row is one issue as its file shows it.
type row struct {
	Issue
	number  int64
	updated time.Time
	token   string
}

func (s *session) dir(container string) string {
	return filepath.Join(s.root, filepath.FromSlash(container))
}

// row reads issue n of the container.
func (s *session) row(n int64) (*row, error) {
	r := &row{number: n}
	b, mod, err := load(filepath.Join(s.dir(*s.place.Load()), strconv.FormatInt(n, 10)+".yaml"), &r.Issue)
	if err != nil {
		return nil, err
	}
	if r.ID == "" || r.Created.IsZero() {
		return nil, fmt.Errorf("%d.yaml: %w: it has no id or no creation time", n, errBroken)
	}
	r.updated = mod.UTC()
	sum := sha256.Sum256(fmt.Appendf(b, "\n%d", mod.UnixNano())) // a row shows its clock, too
	r.token = hex.EncodeToString(sum[:16])
	return r, nil
}

// numbers lists the container's issues, ascending, with when each file changed.
func (s *session) numbers() ([]int64, map[int64]time.Time, error) {
	es, err := os.ReadDir(s.dir(*s.place.Load()))
	if err != nil {
		return nil, nil, err
	}
	var ns []int64
	when := map[int64]time.Time{}
	for _, e := range es {
		name, ok := strings.CutSuffix(e.Name(), ".yaml")
		n, err := strconv.ParseInt(name, 10, 64)
		if !ok || err != nil || n <= 0 {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted while the folder was read
		}
		if err != nil {
			return nil, nil, err
		}
		ns = append(ns, n)
		when[n] = info.ModTime()
	}
	slices.Sort(ns)
	return ns, when, nil
}

func (s *session) people() (*People, error) {
	p := &People{}
	if _, _, err := load(filepath.Join(s.root, "people.yaml"), p); err != nil {
		return nil, scoped("read people.yaml", err)
	}
	if p.Me == "" {
		return nil, failure(adapters.ScopeFailure, "read people.yaml", fmt.Errorf("%w: it does not say who I am (me)", errBroken))
	}
	return p, nil
}

func (s *session) container(name string) (*Container, error) {
	c := &Container{}
	op := "read container " + name
	if _, _, err := load(filepath.Join(s.dir(name), "container.yaml"), c); err != nil {
		return nil, scoped(op, err)
	}
	if c.ID == "" {
		return nil, failure(adapters.ScopeFailure, op, fmt.Errorf("%w: it has no id", errBroken))
	}
	return c, nil
}

// scoped says that a failure concerns everything below it.
func scoped(op string, err error) *adapters.Error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w: %w", adapters.ErrNotFound, err)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: %w", adapters.ErrForbidden, err)
	}
	return failure(adapters.ScopeFailure, op, err)
}
