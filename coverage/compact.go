package coverage

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// compactTx bounds the bytes that one transaction of a compaction copies.
const compactTx = 1 << 20

// Compact rewrites a ledger file without its free pages. The old file is replaced only when the new one is complete and
// on disk. It needs the file for itself; another holder is ErrHeld.
func Compact(ctx context.Context, path string) (before, after int64, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = damaged("%s: %v", path, r)
		}
	}()
	if _, err := os.Stat(path); err != nil {
		return 0, 0, fmt.Errorf("compact ledger: %w", err)
	}
	f, err := openGuarded(ctx, path, FileOptions{Deadline: defaultDeadline})
	if err != nil {
		return 0, 0, err
	}
	defer f.db.Close()
	before = f.Size()
	tmp := filepath.Join(filepath.Dir(path), filepath.Base(path)+".compact")
	os.Remove(tmp) // of a compaction that was cut off
	defer os.Remove(tmp)
	if err := copyTo(tmp, f.db); err != nil {
		return before, before, fmt.Errorf("compact ledger: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return before, before, fmt.Errorf("compact ledger: %w", err)
	}
	return before, f.Size(), syncDir(filepath.Dir(path))
}

func copyTo(path string, src *bolt.DB) error {
	dst, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockStep, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	if err := bolt.Compact(dst, src, compactTx); err != nil {
		dst.Close()
		return err
	}
	if err := dst.Sync(); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
