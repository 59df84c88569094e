package conformance

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed cases
var files embed.FS

// PlaceScript makes the place that every case begins with, in the verbs of the case files, with {home}, {other} and
// {org} in it. A stage that has accounts of its own makes the same otherwise.
//
//go:embed cases/place.txt
var PlaceScript string

// Cases reads the suite's cases, in the order of their names. The error names every file that cannot be read.
func Cases() ([]*Case, error) {
	var out []*Case
	var errs []error
	err := fs.WalkDir(files, "cases", func(p string, d fs.DirEntry, err error) error {
		name, ok := strings.CutSuffix(strings.TrimPrefix(p, "cases/"), ".txt")
		if err != nil || d.IsDir() || !ok || !strings.Contains(name, "/") {
			return err
		}
		b, err := files.ReadFile(p)
		if err != nil {
			return err
		}
		cs, err := Parse(name, string(b))
		if err != nil {
			errs = append(errs, err)
		}
		out = append(out, cs...)
		return nil
	})
	return out, errors.Join(err, errors.Join(errs...))
}

// Pick keeps the cases whose name, or whose name without its kind, matches a glob. "" keeps all.
func Pick(cs []*Case, pattern string) ([]*Case, error) {
	if pattern == "" {
		return cs, nil
	}
	var out []*Case
	for _, c := range cs {
		for _, n := range []string{c.Name, strings.TrimSuffix(c.Name, "/"+string(c.Kind)), c.Group()} {
			ok, err := path.Match(pattern, n)
			if err != nil {
				return nil, fmt.Errorf("pattern %q: %w", pattern, err)
			}
			if ok {
				out = append(out, c)
				break
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no case is called %q", pattern)
	}
	return out, nil
}
