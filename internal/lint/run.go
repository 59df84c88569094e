package lint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fullsend-ai/discovery/internal/config"
	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/harness"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// Options of Run.
type Options struct {
	// Paths are folders (a .fullsend folder, a repository with one, or a folder of harness files), single files, or "-"
	// for a harness on Stdin. None means Dir.
	Paths    []string
	Dir      string // the .fullsend folder; its config.yaml serves Stdin
	Stdin    io.Reader
	Registry config.Registry
	Open     Opener // asks the providers too; nil is offline
}

// Report is the outcome of one run.
type Report struct {
	Diagnostics diag.Diagnostics
	Files       int // files looked at
	Sources     int // source queries among them
}

// Exit is 1 when there is an error and else 0; how the command was called is the caller's to judge.
func (r Report) Exit() int {
	if r.Diagnostics.Failed() {
		return 1
	}
	return 0
}

// ErrUsage is returned for options that ask for nothing that could be done.
var ErrUsage = errors.New("usage")

// Run checks what the options name. What is wrong with files is in the report; an error says that the run itself was
// impossible.
func Run(ctx context.Context, o Options) (Report, error) {
	paths := o.Paths
	if len(paths) == 0 {
		paths = []string{o.Dir}
	}
	var jobs []*job
	var rep Report
	for _, p := range paths {
		if p == "" {
			return rep, fmt.Errorf("%w: an empty path", ErrUsage)
		}
		if p == "-" {
			if o.Stdin == nil {
				return rep, fmt.Errorf("%w: no standard input", ErrUsage)
			}
			jobs = append(jobs, &job{root: o.Dir, stdin: o.Stdin})
			continue
		}
		j, d := locate(p)
		if d != nil {
			rep.Diagnostics = append(rep.Diagnostics, *d)
			continue
		}
		jobs = merge(jobs, j)
	}
	for _, j := range jobs {
		j.run(ctx, o, &rep)
	}
	rep.Diagnostics.Sort()
	rep.Diagnostics = slices.Compact(rep.Diagnostics)
	return rep, nil
}

// job is what to look at in one folder: everything, or some files.
type job struct {
	root  string   // a folder that may hold config.yaml
	all   bool     // the folder as a whole
	files []string // relative to root
	stdin io.Reader
}

// locate finds the folder to which a path belongs, so that its config and its other harnesses are known.
func locate(p string) (*job, *diag.Diagnostic) {
	info, err := os.Stat(p)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		d := diag.InFile(yamlpos.RuleUnreadable, p, wayOut(p, err), "cannot be read: %v", err)
		return nil, &d
	}
	if info.IsDir() {
		if sub := filepath.Join(p, ".fullsend"); isDir(sub) && !isFile(filepath.Join(p, config.File)) {
			return &job{root: sub, all: true}, nil
		}
		if up := filepath.Dir(filepath.Clean(p)); filepath.Base(p) == harness.Folder && isFile(filepath.Join(up, config.File)) {
			return &job{root: up, all: true}, nil
		}
		return &job{root: p, all: true}, nil
	}
	dir, base := filepath.Split(filepath.Clean(p))
	dir = filepath.Clean(dir)
	if filepath.Base(dir) == harness.Folder {
		return &job{root: filepath.Dir(dir), files: []string{harness.Folder + "/" + base}}, nil
	}
	return &job{root: dir, files: []string{base}}, nil
}

// wayOut helps those who have nothing yet.
func wayOut(p string, err error) string {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return "check its rights"
	case filepath.Base(p) == ".fullsend":
		return "make it: config.yaml says where to look, harness/NAME.yaml what for; or name another folder"
	}
	return "check its name"
}

func isDir(p string) bool  { fi, err := os.Stat(p); return err == nil && fi.IsDir() }
func isFile(p string) bool { fi, err := os.Stat(p); return err == nil && !fi.IsDir() }

func merge(jobs []*job, j *job) []*job {
	for _, k := range jobs {
		if k.root == j.root && k.stdin == nil {
			k.all = k.all || j.all
			k.files = append(k.files, j.files...)
			return jobs
		}
	}
	return append(jobs, j)
}

func (j *job) run(ctx context.Context, o Options, rep *Report) {
	reg := o.Registry
	dir, ds := config.OpenDir(j.root)
	if dir == nil && j.stdin == nil {
		rep.Diagnostics = append(rep.Diagnostics, ds...)
		return
	}
	var cfg *config.Config
	var agents []config.Agent
	var confDiags diag.Diagnostics
	haveConfig := false
	if dir != nil {
		defer dir.Close()
		if _, err := dir.Stat(config.File); err == nil || j.all && !errors.Is(err, os.ErrNotExist) {
			haveConfig = true
			if cfg, confDiags = config.Load(dir, reg); cfg != nil {
				agents = cfg.Agents
			}
			if j.all || slices.Contains(j.files, config.File) {
				rep.Files++
			} else {
				confDiags = nil
			}
		}
	}
	set := j.load(dir, agents)
	if haveConfig {
		set.Bind(cfg, reg)
	} else if d, ok := unchecked(j.shownRoot(), set); ok {
		set.Diagnostics = append(set.Diagnostics, d)
	}
	check(set, reg)
	if o.Open != nil {
		set.Diagnostics = append(set.Diagnostics, online(ctx, set, o.Open)...)
	}
	rep.Diagnostics = append(rep.Diagnostics, confDiags...)
	j.keep(dir, set, rep)
}

func (j *job) shownRoot() string { return filepath.ToSlash(filepath.Join(j.root, config.File)) }

// unchecked says once that there is no config, when a source would have needed it.
func unchecked(file string, set *harness.Set) (diag.Diagnostic, bool) {
	for _, h := range set.Harnesses {
		if len(h.Sources) > 0 {
			return diag.InFile(RuleUnchecked, file, "write "+config.Example+" into it, or name the folder that has one",
				"does not exist: fields, kinds and accounts of sources are not checked"), true
		}
	}
	return diag.Diagnostic{}, false
}

// load reads the folder's harnesses and those that were named and are none of them.
func (j *job) load(dir *config.Dir, agents []config.Agent) *harness.Set {
	if j.stdin != nil {
		return stdin(j.stdin)
	}
	set := harness.Load(dir, agents)
	known := map[string]bool{dir.Shown(config.File): true}
	for _, h := range set.Harnesses {
		known[h.File] = true
	}
	sets := []*harness.Set{set}
	files := j.files
	if j.all && !isDir(filepath.Join(j.root, harness.Folder)) && !isFile(filepath.Join(j.root, config.File)) {
		more, ds := dir.YAML(".") // a plain folder of harness files
		files = append(files, more...)
		set.Diagnostics = append(set.Diagnostics, ds...)
	}
	for _, f := range files {
		if known[dir.Shown(f)] {
			continue
		}
		known[dir.Shown(f)] = true
		doc, ds := dir.Load(f)
		one := harness.Parse(doc, f, dir.Shown(f))
		one.Diagnostics = append(ds, one.Diagnostics...)
		sets = append(sets, one)
	}
	if len(sets) == 1 {
		return set
	}
	return harness.Merge(sets...)
}

const stdinName = "<stdin>"

func stdin(r io.Reader) *harness.Set {
	src, err := io.ReadAll(io.LimitReader(r, yamlpos.MaxFile+1))
	var ds diag.Diagnostics
	var doc *yamlpos.Document
	switch {
	case err != nil:
		ds = diag.Diagnostics{diag.InFile(yamlpos.RuleUnreadable, stdinName, "write the harness to standard input", "cannot be read: %v", err)}
	case len(src) > yamlpos.MaxFile:
		ds = diag.Diagnostics{diag.InFile(yamlpos.RuleTooLarge, stdinName, "a harness is small; was the right file given?", "has more than %d bytes", yamlpos.MaxFile)}
	default:
		doc, ds = yamlpos.Parse(stdinName, src)
	}
	set := harness.Parse(doc, "stdin.yaml", stdinName)
	set.Diagnostics = append(ds, set.Diagnostics...)
	return set
}

// keep takes over what is about the files that were asked for.
func (j *job) keep(dir *config.Dir, set *harness.Set, rep *Report) {
	wanted := map[string]bool{}
	if dir != nil {
		for _, f := range j.files {
			wanted[dir.Shown(f)] = true
		}
	}
	want := func(file string) bool { return j.all || j.stdin != nil || wanted[file] }
	for _, h := range set.Harnesses {
		if want(h.File) {
			rep.Files++
			rep.Sources += len(h.Sources)
		}
	}
	for _, d := range set.Diagnostics {
		if want(d.File) || d.Code == RuleUnchecked.Code || d.Code == RuleNoRoles.Code || d.Code == RuleNotReachable.Code {
			rep.Diagnostics = append(rep.Diagnostics, d)
		}
	}
	if j.all && len(set.Harnesses) == 0 {
		rep.Diagnostics = append(rep.Diagnostics, diag.InFile(RuleNothingFound, filepath.ToSlash(j.root), "write harness/NAME.yaml with entity_sources: ["+harness.Example+"], or name other paths", "holds no harness file"))
	}
}
