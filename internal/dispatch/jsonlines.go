package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fullsend-ai/discovery/coverage"
)

// Lines is the json driver: one record a line, nothing is started. A record is handed off once its line is durable,
// which closes its decision.
type Lines struct {
	path string
	now  func() time.Time

	mu     sync.Mutex
	out    io.Writer
	broken bool // the last write to out ended inside a line
}

// ToFile writes records to the end of a file, which is made for its owner alone. Every hand-over opens it anew, so that
// it may be moved away in between, and locks it against other pollers.
func ToFile(path string, now func() time.Time) *Lines { return &Lines{path: path, now: now} }

// ToWriter writes records to a stream, as durable as the stream is.
func ToWriter(w io.Writer, now func() time.Time) *Lines { return &Lines{out: w, now: now} }

// Name is JSON.
func (l *Lines) Name() string { return JSON }

// Start writes every record that it can. One that cannot be written down (too large) holds up no other; a failing
// write ends the hand-over, without a receipt for whatever is not surely kept.
func (l *Lines) Start(ctx context.Context, rs []Record) ([]coverage.Receipt, error) {
	var errs []error
	var batch []line
	for i := range rs {
		b, err := Line(&rs[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		batch = append(batch, line{&rs[i], b})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	n, err := l.write(batch)
	errs = append(errs, err)
	receipts := make([]coverage.Receipt, 0, n)
	for _, b := range batch[:n] {
		receipts = append(receipts, coverage.Receipt{Key: b.record.Key, Decision: b.record.Decision, Outcome: coverage.HandedOff, At: l.now().UTC()})
	}
	return receipts, errors.Join(errs...)
}

type line struct {
	record *Record
	text   []byte
}

// write returns how many lines are kept for good.
func (l *Lines) write(batch []line) (int, error) {
	if len(batch) == 0 {
		return 0, nil
	}
	if l.path == "" {
		return l.stream(batch)
	}
	f, err := open(l.path)
	if err != nil {
		return 0, fmt.Errorf("output file: %w", err)
	}
	n, err := appendLines(f, batch)
	if cerr := f.Close(); err == nil && cerr != nil {
		n, err = 0, cerr
	}
	if err != nil {
		return n, fmt.Errorf("output file: %w", err)
	}
	return n, nil
}

// stream cannot take back half a line; it closes it, so that the next record stands on a line of its own.
func (l *Lines) stream(batch []line) (int, error) {
	for i, b := range batch {
		text := b.text
		if l.broken {
			text = append([]byte{'\n'}, text...)
		}
		n, err := l.out.Write(text)
		if err == nil && n < len(text) {
			err = io.ErrShortWrite
		}
		if err != nil {
			l.broken = l.broken || n > 0
			return i, fmt.Errorf("output: %w", err)
		}
		l.broken = false
	}
	return len(batch), nil
}

func open(path string) (*os.File, error) {
	_, err := os.Lstat(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if fresh {
		// The name must survive a crash as surely as the lines do.
		if err := syncDir(filepath.Dir(path)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// appendLines adds whole lines or none: what a failing write left of a line is cut off again. The lines count once the
// file was synced.
func appendLines(f *os.File, batch []line) (int, error) {
	if err := lock(f); err != nil {
		return 0, fmt.Errorf("locking: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("%s is no regular file; use - for standard output", f.Name())
	}
	end, err := wholeLines(f, info.Size())
	if err != nil {
		return 0, err
	}
	start, n := end, 0
	var failed error
	for _, b := range batch {
		if _, failed = f.Write(b.text); failed != nil {
			failed = errors.Join(failed, f.Truncate(end))
			break
		}
		end += int64(len(b.text))
		n++
	}
	if err := f.Sync(); err != nil {
		// Nothing is sure any more: no receipts, and no lines that would stand twice after the next try.
		return 0, errors.Join(failed, err, f.Truncate(start))
	}
	return n, failed
}

// wholeLines cuts off what a crash left of a last line and returns the size. Only the beginning of a record is cut off:
// a file of somebody else's is refused, not altered.
func wholeLines(f *os.File, size int64) (int64, error) {
	if size == 0 {
		return 0, nil
	}
	tail := make([]byte, min(size, MaxLine+1))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil {
		return 0, err
	}
	if tail[len(tail)-1] == '\n' {
		return size, nil
	}
	cut := bytes.LastIndexByte(tail, '\n') + 1
	if cut == 0 && int64(len(tail)) < size {
		return 0, errors.New("last line is longer than any record")
	}
	// File systems may leave zeros where the size got ahead of the content.
	rest, mark := tail[cut:], []byte(`{"schema":"`+Schema+`"`)
	seen := bytes.TrimRight(rest, "\x00")
	if !bytes.HasPrefix(seen, mark) && !bytes.HasPrefix(mark, seen) {
		return 0, errors.New("does not end with a whole line, and what stands there is no record")
	}
	size -= int64(len(rest))
	return size, f.Truncate(size)
}

// Ask knows of no run: a hand-over ends within the process that makes it, so a record that was claimed before and has no
// receipt belongs to a process that died. It is offered again, under the same decision.
func (l *Lines) Ask(context.Context, []Record) ([]coverage.Receipt, error) { return nil, nil }
