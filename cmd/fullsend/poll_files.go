package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// fingerprint is equal for folders with the same files.
type fingerprint [sha256.Size]byte

// What of the folder is looked at, at most: more than a configuration ever has.
const (
	maxFiles    = 10_000
	maxFileSize = 1 << 20
)

// fingerprintOf reads every regular file below dir. Mounted volumes swap their content behind a link: the files
// themselves lie below dir, too.
func fingerprintOf(dir string) (fingerprint, error) {
	h := sha256.New()
	n := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if n++; n > maxFiles {
			return fmt.Errorf("%s holds more than %d files", dir, maxFiles)
		}
		f, err := os.Open(p)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(h, "%q\n", p)
		size, err := io.Copy(h, io.LimitReader(f, maxFileSize))
		fmt.Fprintf(h, "\n%d\n", size)
		return err
	})
	return fingerprint(h.Sum(nil)), err
}

// roomFor is how much a cycle must be able to write, at least, before it hands anything over.
const roomFor = 1 << 20

// room finds out that the disk of the ledger is full or read-only before anything is handed over: what cannot be
// recorded must not be done.
func (f *pollFlags) room() error {
	if f.dryRun {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.state), ".room")
	if err == nil {
		_, err = tmp.Write(make([]byte, roomFor))
		err = errors.Join(err, tmp.Close(), os.Remove(tmp.Name()))
	}
	if err != nil {
		return fmt.Errorf("the ledger's disk cannot be written to: nothing is read or handed over: %w", err)
	}
	return nil
}
