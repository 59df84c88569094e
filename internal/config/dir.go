package config

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fullsend-ai/discovery/internal/diag"
	"github.com/fullsend-ai/discovery/internal/yamlpos"
)

// Dir is an opened .fullsend folder. Nothing outside it is read, through symbolic links neither.
type Dir struct {
	path string
	root *os.Root
}

// OpenDir opens the folder at path. The caller closes it.
func OpenDir(path string) (*Dir, Diagnostics) {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		return nil, Diagnostics{diag.InFile(yamlpos.RuleUnreadable, path, "give the folder that holds config.yaml", "is no folder")}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		suggest := "check the rights of the folder"
		if errors.Is(err, fs.ErrNotExist) {
			suggest = "name the folder with --fullsend-dir"
		}
		return nil, Diagnostics{diag.InFile(yamlpos.RuleUnreadable, path, suggest, "cannot be opened: %v", bare(err))}
	}
	return &Dir{path: path, root: root}, nil
}

// Close releases the folder.
func (d *Dir) Close() error { return d.root.Close() }

// Path is the folder's path as given.
func (d *Dir) Path() string { return d.path }

// Shown is how messages name the file rel of the folder.
func (d *Dir) Shown(rel string) string { return filepath.ToSlash(filepath.Join(d.path, rel)) }

// Load reads and parses one file of the folder.
func (d *Dir) Load(rel string) (*yamlpos.Document, Diagnostics) {
	return yamlpos.Load(d.root, rel, d.Shown(rel))
}

// YAML lists the .yaml and .yml files directly in the subfolder sub, sorted; a missing subfolder has none. Hidden
// files, and the dotted folders by which mounted volumes swap their content, are left out.
func (d *Dir) YAML(sub string) ([]string, Diagnostics) {
	fail := func(err error) ([]string, Diagnostics) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, Diagnostics{diag.InFile(yamlpos.RuleUnreadable, d.Shown(sub), "check the rights of the folder", "cannot be listed: %v", bare(err))}
	}
	f, err := d.root.Open(sub)
	if err != nil {
		return fail(err)
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return fail(err)
	}
	var files []string
	for _, n := range names {
		if ext := path.Ext(n); (ext == ".yaml" || ext == ".yml") && !strings.HasPrefix(n, ".") {
			files = append(files, path.Join(sub, n))
		}
	}
	slices.Sort(files)
	return files, nil
}

// Stat describes one file of the folder, behind its links.
func (d *Dir) Stat(rel string) (os.FileInfo, error) { return d.root.Stat(filepath.FromSlash(rel)) }

// bare strips operation and path from an error, since the message names the file.
func bare(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
