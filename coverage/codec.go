package coverage

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"strings"
	"time"
)

// txn reads and writes sealed values: every value carries a checksum over its bucket, its key and itself, since no
// store notices a byte that flipped, and a wrong mark or frontier would cost a match.
type txn struct{ Tx }

// load returns the value of a key; it must not be kept.
func (t txn) load(bucket, key string) ([]byte, bool, error) {
	b := t.Get(bucket, key)
	if b == nil {
		return nil, false, nil
	}
	v, err := unseal(bucket, key, b)
	return v, err == nil, err
}

func (t txn) save(bucket, key string, value []byte) error {
	return t.Put(bucket, key, seal(bucket, key, value))
}

func (t txn) loadJSON(bucket, key string, v any) (bool, error) {
	b, ok, err := t.load(bucket, key)
	if err != nil || !ok {
		return false, err
	}
	return true, decodeJSON(bucket, key, b, v)
}

func (t txn) saveJSON(bucket, key string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return t.save(bucket, key, b)
}

func decodeJSON(bucket, key string, b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return damaged("%s %q: %v", bucket, key, err)
	}
	return nil
}

// each calls f for every key with the prefix, ascending; f must not write to the bucket. errStop ends it early.
func (t txn) each(bucket, prefix string, f func(key string, value []byte) error) error {
	return t.eachFrom(bucket, prefix, prefix, f)
}

func (t txn) eachFrom(bucket, prefix, from string, f func(key string, value []byte) error) error {
	var err error
	t.Ascend(bucket, from, func(k string, b []byte) bool {
		if !strings.HasPrefix(k, prefix) {
			return false
		}
		var v []byte
		if v, err = unseal(bucket, k, b); err == nil {
			err = f(k, v)
		}
		return err == nil
	})
	if err == errStop {
		return nil
	}
	return err
}

type stop struct{}

func (stop) Error() string { return "stop" }

var errStop error = stop{}

func sum(bucket, key string, value []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	var buf [128]byte
	head := append(append(append(buf[:0], bucket...), 0), key...)
	return crc32.Update(crc32.Update(0, table, head), table, value)
}

func seal(bucket, key string, value []byte) []byte {
	b := make([]byte, 4, 4+len(value))
	binary.BigEndian.PutUint32(b, sum(bucket, key, value))
	return append(b, value...)
}

func unseal(bucket, key string, b []byte) ([]byte, error) {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != sum(bucket, key, b[4:]) {
		return nil, damaged("the checksum of %s %q does not hold", bucket, key)
	}
	return b[4:], nil
}

// encoder appends what decoder reads.
type encoder struct{ b []byte }

func (e *encoder) uint(v uint64)   { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) count(n int)     { e.uint(uint64(n)) }
func (e *encoder) str(s string)    { e.count(len(s)); e.b = append(e.b, s...) }
func (e *encoder) bytes(p []byte)  { e.count(len(p)); e.b = append(e.b, p...) }
func (e *encoder) fixed(v uint64)  { e.b = binary.BigEndian.AppendUint64(e.b, v) }
func (e *encoder) strs(s []string) { e.count(len(s)); e.each(s) }
func (e *encoder) each(s []string) {
	for _, x := range s {
		e.str(x)
	}
}

func (e *encoder) time(t time.Time) {
	if t.IsZero() {
		e.uint(0)
		return
	}
	e.uint(uint64(t.Unix()+yearOne) + 1)
	e.uint(uint64(t.Nanosecond()))
}

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

// flags is one byte; with the second not set it is what bool writes of the first.
func (e *encoder) flags(a, b bool) {
	v := byte(0)
	if a {
		v |= 1
	}
	if b {
		v |= 2
	}
	e.b = append(e.b, v)
}

// decoder reads what encoder wrote. After the first thing that is not there all reads are zero and bad is set.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count reads a length, which can never exceed the bytes that are left.
func (d *decoder) count() int {
	v := d.uint()
	if v > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(v)
}

func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) int() int      { return int(d.uint()) }
func (d *decoder) str() string   { return string(d.take(d.count())) }
func (d *decoder) bytes() []byte { return append([]byte(nil), d.take(d.count())...) }
func (d *decoder) bool() bool    { p := d.take(1); return p != nil && p[0] == 1 }
func (d *decoder) flags() (a, b bool) {
	p := d.take(1)
	return p != nil && p[0]&1 != 0, p != nil && p[0]&2 != 0
}
func (d *decoder) strs() []string { return repeat(d, func() string { return d.str() }) }

func (d *decoder) fixed() uint64 {
	p := d.take(8)
	if p == nil {
		return 0
	}
	return binary.BigEndian.Uint64(p)
}

func (d *decoder) time() time.Time {
	s := d.uint()
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s-1)-yearOne, int64(d.uint())).UTC()
}

func repeat[T any](d *decoder, f func() T) []T {
	n := d.count()
	if n == 0 {
		return nil
	}
	out := make([]T, 0, n)
	for range n {
		if d.bad {
			break
		}
		out = append(out, f())
	}
	return out
}
