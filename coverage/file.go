package coverage

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// FileOptions of a ledger file.
type FileOptions struct {
	Wait     time.Duration // how long to wait for another process that holds the file; 0 ends at once
	Deadline time.Duration // how long opening may take besides, on a file system that hangs; 30 s
	Version  string        // of the program, told to others that find the file held
	ReadOnly bool          // the file must exist; nothing is written
	NoSync   bool          // simulations only: a crash of the machine may lose or damage the file
	Now      func() time.Time
}

// Holder is who holds a ledger file, as told by the file beside it.
type Holder struct {
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Version string    `json:"version"`
}

// HeldError matches ErrHeld.
type HeldError struct {
	Path   string
	Holder *Holder // nil when the holder did not tell
}

func (e *HeldError) Error() string {
	if e.Holder == nil {
		return fmt.Sprintf("%v: %s", ErrHeld, e.Path)
	}
	return fmt.Sprintf("%v: %s is held by pid %d on %s since %s (%s)", ErrHeld, e.Path, e.Holder.PID, e.Holder.Host,
		e.Holder.Started.Format(time.RFC3339), e.Holder.Version)
}

// Is makes the error match ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

const defaultDeadline = 30 * time.Second

// lockStep is how long one try for the lock takes.
const lockStep = 100 * time.Millisecond

// OpenFile opens or creates a ledger file of mode 0600. Another process that holds it makes a *HeldError; a file that
// is cut or whose structure is damaged makes ErrDamaged, and stays where it is. The file is locked until Close, or until
// the process ends. Network file systems are not supported: their locks cannot be relied on.
func OpenFile(ctx context.Context, path string, o FileOptions) (Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Deadline <= 0 {
		o.Deadline = defaultDeadline
	}
	until := o.Now().Add(o.Wait)
	for {
		f, err := openGuarded(ctx, path, o)
		if err == nil {
			return f, f.begin(o)
		}
		if !errors.Is(err, ErrHeld) || !o.Now().Before(until) {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// openGuarded opens the file in a goroutine of its own: on some file systems the lock blocks whatever the time-out.
// When the deadline passes the goroutine is left behind, and closes what it may still get.
func openGuarded(ctx context.Context, path string, o FileOptions) (*file, error) {
	type result struct {
		db  *bolt.DB
		err error
	}
	done := make(chan result) // unbuffered: what nobody receives is closed
	abandoned := make(chan struct{})
	go func() {
		db, err := openBolt(path, o)
		select {
		case <-abandoned:
			if db != nil {
				db.Close()
			}
		case done <- result{db, err}:
		}
	}()
	timer := time.NewTimer(o.Deadline + lockStep)
	defer timer.Stop()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return &file{path: path, db: r.db, readOnly: o.ReadOnly}, nil
	case <-ctx.Done():
		select {
		case r := <-done:
			if r.err == nil {
				r.db.Close()
			}
		case <-time.After(2 * lockStep): // it hangs
			close(abandoned)
		}
		return nil, ctx.Err()
	case <-timer.C:
		close(abandoned)
		return nil, fmt.Errorf("%w: opening %s took longer than %s; is it on a network file system?", ErrHeld, path, o.Deadline)
	}
}

// openBolt opens the database. Faults and panics of a damaged file become ErrDamaged.
func openBolt(path string, o FileOptions) (db *bolt.DB, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			db, err = nil, damaged("%s cannot be opened: %v", path, r)
		}
	}()
	if o.ReadOnly {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	if err := create(path, o); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if err := checkSize(path); err != nil {
		return nil, err
	}
	db, err = bolt.Open(path, 0o600, o.bolt())
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, &HeldError{Path: path, Holder: readHolder(path)}
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch),
		err != nil && !isOS(err):
		return nil, damaged("%s cannot be opened: %v", path, err)
	case err != nil:
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return db, nil
}

func (o *FileOptions) bolt() *bolt.Options {
	return &bolt.Options{Timeout: lockStep, ReadOnly: o.ReadOnly, NoSync: o.NoSync, NoGrowSync: o.NoSync, FreelistType: bolt.FreelistMapType}
}

// create makes a file that is missing, under another name until its first pages are written: what a full disk or a crash
// leaves of them would look like a ledger that was cut.
func create(path string, o FileOptions) error {
	if _, err := os.Lstat(path); o.ReadOnly || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	fail := func(err error) error {
		if p := (*os.PathError)(nil); errors.As(err, &p) {
			err = p.Err
		}
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return fail(err)
	}
	defer os.Remove(tmp.Name())
	if err := tmp.Close(); err != nil {
		return fail(err)
	}
	db, err := bolt.Open(tmp.Name(), 0o600, o.bolt())
	if err != nil {
		return fail(err)
	}
	if err := db.Close(); err != nil {
		return fail(err)
	}
	// Another process may have made it meanwhile: then that one is opened. A file system without links makes it in place.
	_ = os.Link(tmp.Name(), path)
	return nil
}

// isOS says that the operating system refused, not the content.
func isOS(err error) bool {
	var p *os.PathError
	var s *os.SyscallError
	return errors.As(err, &p) || errors.As(err, &s)
}

// Where bbolt keeps what it says of the whole file: two meta pages, of which the newer valid one counts
// (go.etcd.io/bbolt/internal/common/meta.go: magic, version, page size, …, high-water page, transaction, checksum).
const (
	metaMagic  = 0xED0CDAED
	metaHeader = 16 // of the page
	metaSize   = 64
)

// checkSize finds a file that was cut before the database maps it: it walks its pages in goroutines of its own, where a
// missing one ends the process, and it takes a file without meta pages for a new one.
func checkSize(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return nil // new, or refused by the open itself
	}
	defer f.Close()
	size := func() int64 {
		fi, err := f.Stat()
		if err != nil {
			return 0
		}
		return fi.Size()
	}
	if size() == 0 {
		return nil
	}
	var want int64
	var newest uint64
	for _, at := range []int64{0, int64(os.Getpagesize())} {
		b := make([]byte, metaHeader+metaSize)
		if _, err := f.ReadAt(b, at); err != nil {
			return damaged("%s has only %d bytes", path, size())
		}
		m := b[metaHeader:]
		sum := fnv.New64a()
		sum.Write(m[:metaSize-8])
		if binary.LittleEndian.Uint32(m) != metaMagic || sum.Sum64() != binary.LittleEndian.Uint64(m[metaSize-8:]) {
			continue
		}
		if tx := binary.LittleEndian.Uint64(m[48:]); tx >= newest {
			newest = tx
			want = int64(binary.LittleEndian.Uint64(m[40:])) * int64(binary.LittleEndian.Uint32(m[8:]))
		}
	}
	// Asked last: another process may hold the file, and grows it before it counts the new pages.
	if have := size(); have < want {
		return damaged("%s is cut: it has %d bytes of %d", path, have, want)
	}
	return nil
}

// file is a bbolt store.
type file struct {
	path     string
	db       *bolt.DB
	readOnly bool
	broken   atomic.Bool
}

func holderPath(path string) string { return path + ".holder" }

// begin tells others who holds the file.
func (f *file) begin(o FileOptions) error {
	if f.readOnly {
		return nil
	}
	if fi, err := os.Stat(f.path); err == nil && fi.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(f.path, 0o600); err != nil {
			f.db.Close()
			return fmt.Errorf("open ledger: %w", err)
		}
	}
	host, _ := os.Hostname()
	b, err := json.Marshal(Holder{PID: os.Getpid(), Host: host, Started: o.Now().UTC(), Version: o.Version})
	if err == nil {
		err = replace(holderPath(f.path), b)
	}
	if err != nil {
		f.db.Close()
		return fmt.Errorf("open ledger: %w", err)
	}
	return nil
}

// replace writes a file so that readers see the old or the new content.
func replace(path string, b []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(b)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

func readHolder(path string) *Holder {
	b, err := os.ReadFile(holderPath(path))
	if err != nil {
		return nil
	}
	var h Holder
	if json.Unmarshal(b, &h) != nil {
		return nil
	}
	return &h
}

func (f *file) View(ctx context.Context, fn func(Tx) error) error {
	return f.guard(ctx, func(user func(*bolt.Tx) error) error { return f.db.View(user) }, fn)
}

func (f *file) Update(ctx context.Context, fn func(Tx) error) error {
	return f.guard(ctx, func(user func(*bolt.Tx) error) error { return f.db.Update(user) }, fn)
}

// userPanic carries a panic of the caller's function through the database's own handling.
type userPanic struct{ value any }

// guard runs a transaction. A fault in the mapped file or a panic of the database means that the file is damaged: the
// store then refuses everything. A panic of the caller stays one.
func (f *file) guard(ctx context.Context, run func(func(*bolt.Tx) error) error, fn func(Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if f.broken.Load() {
		return damaged("%s failed before", f.path)
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var user *userPanic
	defer func() {
		if user != nil {
			panic(user.value)
		}
		if r := recover(); r != nil {
			f.broken.Store(true)
			err = damaged("%s: %v", f.path, r)
		}
	}()
	return run(func(tx *bolt.Tx) (err error) {
		t := &fileTx{tx: tx, buckets: map[string]*bolt.Bucket{}}
		defer func() {
			if r := recover(); r != nil {
				if t.inside || isFault(r) {
					panic(r)
				}
				user = &userPanic{r}
				err = errors.New("panic")
			}
		}()
		return fn(t)
	})
}

// isFault says that r is a fault of mapped memory.
func isFault(r any) bool {
	re, ok := r.(runtime.Error)
	if !ok {
		return false
	}
	_, ok = re.(interface{ Addr() uintptr })
	return ok
}

// Close lets go of the file. A broken store is left to the end of the process when the database does not close.
func (f *file) Close() error {
	if !f.readOnly {
		os.Remove(holderPath(f.path))
	}
	if !f.broken.Load() {
		return f.db.Close()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { recover() }()
		done <- f.db.Close()
	}()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Second):
		return damaged("%s did not close", f.path)
	}
}

// Size is the size of the file in bytes.
func (f *file) Size() int64 {
	fi, err := os.Stat(f.path)
	if err != nil {
		return 0
	}
	return fi.Size()
}

// fileTx is a bbolt transaction. inside is set while the database's own code runs, and stays set when that panics.
type fileTx struct {
	tx      *bolt.Tx
	buckets map[string]*bolt.Bucket
	inside  bool
}

func (t *fileTx) bucket(name string) *bolt.Bucket {
	b := t.buckets[name]
	if b == nil {
		if b = t.tx.Bucket([]byte(name)); b != nil {
			t.buckets[name] = b
		}
	}
	return b
}

func (t *fileTx) Get(bucket, key string) []byte {
	t.inside = true
	var v []byte
	if b := t.bucket(bucket); b != nil {
		v = b.Get([]byte(key))
	}
	t.inside = false
	return v
}

func (t *fileTx) Put(bucket, key string, value []byte) error {
	t.inside = true
	b := t.bucket(bucket)
	if b == nil {
		var err error
		if b, err = t.tx.CreateBucketIfNotExists([]byte(bucket)); err != nil {
			t.inside = false
			return err
		}
		t.buckets[bucket] = b
	}
	err := b.Put([]byte(key), append([]byte{}, value...))
	t.inside = false
	return err
}

func (t *fileTx) Delete(bucket, key string) error {
	t.inside = true
	var err error
	if b := t.bucket(bucket); b != nil {
		err = b.Delete([]byte(key))
	}
	t.inside = false
	return err
}

func (t *fileTx) Ascend(bucket, from string, f func(string, []byte) bool) {
	t.inside = true
	if b := t.bucket(bucket); b != nil {
		c := b.Cursor()
		for k, v := c.Seek([]byte(from)); k != nil; k, v = c.Next() {
			t.inside = false
			if !f(string(k), v) {
				return
			}
			t.inside = true
		}
	}
	t.inside = false
}
