package coverage

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/fullsend-ai/discovery/scope"
)

var someone = scope.Identity{Provider: "forgejo", Tenant: "git.example", Kind: "work_item", ID: "7"}

func drawEntity(rt *rapid.T) *entityRow {
	text := rapid.StringN(0, 12, 40)
	at := rapid.Custom(func(rt *rapid.T) time.Time {
		if rapid.Bool().Draw(rt, "zero") {
			return time.Time{}
		}
		return time.Unix(rapid.Int64Range(-1<<33, 1<<38).Draw(rt, "s"), rapid.Int64Range(0, 999_999_999).Draw(rt, "ns")).UTC()
	})
	digests := rapid.MapOfN(text, rapid.Uint64(), 0, 3)
	e := &entityRow{key: entityKey("00000001", someone), ref: scope.Ref{Identity: someone, Alias: text.Draw(rt, "alias"),
		Key: text.Draw(rt, "key"), URL: text.Draw(rt, "url")}, token: text.Draw(rt, "token"), updated: at.Draw(rt, "updated"),
		readAt: at.Draw(rt, "read"), judged: text.Draw(rt, "judged"), turn: rapid.IntRange(0, 1<<40).Draw(rt, "turn"),
		gone: rapid.Bool().Draw(rt, "gone"), pairs: map[string]*pairRow{}, stored: true}
	for range rapid.IntRange(0, 3).Draw(rt, "n") {
		e.appoint(Appointment{Why: text.Draw(rt, "why"), At: at.Draw(rt, "at"), Since: at.Draw(rt, "since"),
			Tries: rapid.IntRange(0, 9).Draw(rt, "tries"), Cause: text.Draw(rt, "cause"), Needs: []string{text.Draw(rt, "need")}})
		e.pairs[text.Draw(rt, "source")] = &pairRow{in: rapid.Bool().Draw(rt, "in"), along: rapid.Bool().Draw(rt, "along"), entries: rapid.IntRange(0, 9).Draw(rt, "entries"),
			version: text.Draw(rt, "version"), digests: digests.Draw(rt, "digests"), pending: text.Draw(rt, "pending"),
			closed: []decision{{ID: text.Draw(rt, "id"), Digests: digests.Draw(rt, "closed"), At: at.Draw(rt, "closed at")}}}
	}
	e.evidence = []byte(text.Draw(rt, "evidence"))
	return e
}

// What is stored is what is read.
func TestEntityRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := drawEntity(rt)
		b := e.encode()
		got, err := decodeEntity(e.key, someone, b)
		require.NoError(rt, err)
		require.Equal(rt, b, got.encode())
		head, turn, readAt := peek(b)
		require.Equal(rt, e.head(), head)
		require.Equal(rt, e.turn, turn)
		require.True(rt, e.readAt.Equal(readAt))
		for _, a := range e.again {
			require.True(rt, unstamp(stamp(a.At)).Equal(a.At))
		}
	})
}

// Keys sort as their instants do.
func TestStamps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		at := func(name string) time.Time {
			return time.Unix(rapid.Int64Range(-1<<35, 1<<40).Draw(rt, name), rapid.Int64Range(0, 999_999_999).Draw(rt, name+" ns")).UTC()
		}
		a, b := at("a"), at("b")
		require.Equal(rt, a.Before(b), stamp(a) < stamp(b))
		require.Less(rt, stamp(time.Time{}), stamp(a))
	})
}

func FuzzDecodeEntity(f *testing.F) {
	f.Add((&entityRow{ref: scope.Ref{Identity: someone}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		peek(b)
		e, err := decodeEntity("k", someone, b)
		if err != nil {
			require.ErrorIs(t, err, ErrDamaged)
			return
		}
		_, err = decodeEntity("k", someone, e.encode())
		require.NoError(t, err)
	})
}

func FuzzImport(f *testing.F) {
	var out bytes.Buffer
	s := NewMemory()
	if _, err := Open(context.Background(), s, Options{}); err != nil {
		f.Fatal(err)
	}
	if err := Export(context.Background(), s, &out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte(`{"format":"coverage-export/v1","schema":1}` + "\n" + `{"b":"entity","k":"x","v":"AA=="}` + "\n" + `{"end":true,"rows":1,"sum":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewMemory()
		err := Import(context.Background(), s, bytes.NewReader(b))
		l, oerr := Open(context.Background(), s, Options{})
		if err == nil && oerr == nil { // whatever it holds is read or refused, never a panic
			_, _ = l.Snapshot(context.Background(), time.Time{})
			_, _ = Check(context.Background(), s)
		}
	})
}
