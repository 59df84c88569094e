package yamlpos

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fullsend-ai/discovery/internal/diag"
)

// MaxFile is the largest file that is read, in bytes.
const MaxFile = 1 << 20

// Load reads and parses the file rel below root; shown is how messages name it. A path that leaves root, through a
// symbolic link too, is refused, as is everything that is no regular file.
func Load(root *os.Root, rel, shown string) (*Document, diag.Diagnostics) {
	src, d := Read(root, rel, shown)
	if d != nil {
		return nil, diag.Diagnostics{*d}
	}
	return Parse(shown, src)
}

// Read is Load without parsing.
func Read(root *os.Root, rel, shown string) ([]byte, *diag.Diagnostic) {
	fail := func(r diag.Rule, suggest, format string, args ...any) ([]byte, *diag.Diagnostic) {
		d := diag.InFile(r, shown, suggest, format, args...)
		return nil, &d
	}
	info, err := root.Stat(filepath.FromSlash(rel)) // before opening: opening a pipe waits for its writer
	if err != nil {
		return fail(RuleUnreadable, wayOut(err), "cannot be read: %v", reason(err))
	}
	if info.IsDir() {
		return fail(RuleUnreadable, "name a file", "is a directory")
	}
	if !info.Mode().IsRegular() {
		return fail(RuleUnreadable, "name a regular file", "is no regular file")
	}
	if info.Size() > MaxFile {
		return fail(RuleTooLarge, "harness and config files are small; was the right file given?", "has %d bytes, the cap is %d", info.Size(), MaxFile)
	}
	f, err := root.Open(filepath.FromSlash(rel))
	if err != nil {
		return fail(RuleUnreadable, wayOut(err), "cannot be read: %v", reason(err))
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return fail(RuleUnreadable, wayOut(err), "cannot be read: %v", reason(err))
	}
	if len(src) > MaxFile {
		return fail(RuleTooLarge, "harness and config files are small; was the right file given?", "has more than %d bytes", MaxFile)
	}
	return src, nil
}

// reason strips the operation and path, which the message names already.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func wayOut(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("give the user that runs this (uid %d) the right to read it", os.Getuid())
	case errors.Is(err, fs.ErrNotExist):
		return "check its name"
	default:
		return "it must be a regular file inside the folder"
	}
}
