package coverage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// NewMemory returns a store that keeps nothing beyond the process: for dry runs, simulations and tests.
func NewMemory() Store { return &memory{buckets: map[string]*blocks{}} }

type memory struct {
	mu      sync.RWMutex
	buckets map[string]*blocks
	closed  bool
}

var errClosed = errors.New("ledger store is closed")

func (m *memory) View(ctx context.Context, f func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.closed {
		return errClosed
	}
	return f(&memoryTx{m: m})
}

func (m *memory) Update(ctx context.Context, f func(Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errClosed
	}
	tx := &memoryTx{m: m, writable: true}
	done := false
	defer func() {
		if !done {
			tx.rollback()
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	done = true
	return nil
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

type memoryTx struct {
	m        *memory
	writable bool
	undo     []undo
}

type undo struct {
	bucket, key string
	before      []byte // nil: was absent
}

var errReadOnly = errors.New("write in a read-only transaction")

func (t *memoryTx) Get(bucket, key string) []byte {
	b := t.m.buckets[bucket]
	if b == nil {
		return nil
	}
	return b.get(key)
}

func (t *memoryTx) Put(bucket, key string, value []byte) error {
	if !t.writable {
		return errReadOnly
	}
	b := t.m.buckets[bucket]
	if b == nil {
		b = &blocks{}
		t.m.buckets[bucket] = b
	}
	v := append([]byte{}, value...)
	t.undo = append(t.undo, undo{bucket, key, b.put(key, v)})
	return nil
}

func (t *memoryTx) Delete(bucket, key string) error {
	if !t.writable {
		return errReadOnly
	}
	b := t.m.buckets[bucket]
	if b == nil {
		return nil
	}
	if before := b.remove(key); before != nil {
		t.undo = append(t.undo, undo{bucket, key, before})
	}
	return nil
}

func (t *memoryTx) Ascend(bucket, from string, f func(string, []byte) bool) {
	if b := t.m.buckets[bucket]; b != nil {
		b.ascend(from, f)
	}
}

func (t *memoryTx) rollback() {
	for _, u := range slices.Backward(t.undo) {
		if u.before == nil {
			t.m.buckets[u.bucket].remove(u.key)
		} else {
			t.m.buckets[u.bucket].put(u.key, u.before)
		}
	}
}

// blocks is a sorted map in blocks of bounded size: small inserts, ordered ascent.
type blocks struct{ list [][]entry }

type entry struct {
	key   string
	value []byte
}

const maxBlock = 256

// find returns the block and the place in it where key is or would be.
func (b *blocks) find(key string) (int, int, bool) {
	i, found := slices.BinarySearchFunc(b.list, key, func(es []entry, k string) int { return strings.Compare(es[0].key, k) })
	if !found && i > 0 {
		i--
	}
	if i == len(b.list) {
		return i, 0, false
	}
	j, ok := slices.BinarySearchFunc(b.list[i], key, func(e entry, k string) int { return strings.Compare(e.key, k) })
	return i, j, ok
}

func (b *blocks) get(key string) []byte {
	i, j, ok := b.find(key)
	if !ok {
		return nil
	}
	return b.list[i][j].value
}

func (b *blocks) put(key string, value []byte) (before []byte) {
	i, j, ok := b.find(key)
	switch {
	case ok:
		before = b.list[i][j].value
		b.list[i][j].value = value
		return before
	case i == len(b.list):
		b.list = append(b.list, []entry{{key, value}})
		return nil
	}
	b.list[i] = slices.Insert(b.list[i], j, entry{key, value})
	if es := b.list[i]; len(es) > maxBlock {
		b.list = slices.Insert(b.list, i+1, slices.Clone(es[maxBlock/2:]))
		b.list[i] = slices.Clip(es[:maxBlock/2])
	}
	return nil
}

func (b *blocks) remove(key string) (before []byte) {
	i, j, ok := b.find(key)
	if !ok {
		return nil
	}
	before = b.list[i][j].value
	b.list[i] = slices.Delete(b.list[i], j, j+1)
	if len(b.list[i]) == 0 {
		b.list = slices.Delete(b.list, i, i+1)
	}
	return before
}

func (b *blocks) ascend(from string, f func(string, []byte) bool) {
	if len(b.list) == 0 {
		return
	}
	i, j, _ := b.find(from)
	for ; i < len(b.list); i, j = i+1, 0 {
		for ; j < len(b.list[i]); j++ {
			if e := b.list[i][j]; !f(e.key, e.value) {
				return
			}
		}
	}
}
