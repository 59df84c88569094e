package lint

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// Fix makes the changes that diagnostics of the report offer, and returns how many it made. A file is replaced as a
// whole or not at all. Run again afterwards: a mended file may show what its fault had hidden.
func (r Report) Fix() (int, error) {
	edits := map[string][]diag.Edit{}
	for _, d := range r.Diagnostics {
		if d.Fix != nil && d.File != stdinName {
			edits[d.File] = append(edits[d.File], *d.Fix)
		}
	}
	made := 0
	for file, es := range edits {
		if err := rewrite(file, es); err != nil {
			return made, fmt.Errorf("fix %s: %w", diag.Clean(file), err)
		}
		made += len(es)
	}
	return made, nil
}

func rewrite(file string, es []diag.Edit) error {
	name, err := filepath.EvalSymlinks(filepath.FromSlash(file)) // the file is mended, not the link
	if err != nil {
		return err
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if len(src) > yamlpos.MaxFile {
		return fmt.Errorf("larger than %d bytes", yamlpos.MaxFile)
	}
	slices.SortFunc(es, func(a, b diag.Edit) int { return cmp.Compare(b.Start, a.Start) })
	for _, e := range es {
		if e.Start < 0 || e.End < e.Start || e.End > len(src) {
			return errors.New("it changed meanwhile")
		}
		src = slices.Replace(src, e.Start, e.End, []byte(e.Text)...)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".fix-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err := tmp.Write(src); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Chmod(info.Mode().Perm()); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
