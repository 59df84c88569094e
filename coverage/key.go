package coverage

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// The buckets. Keys are made of parts joined by sep; sid is a scope's short id.
const (
	bMeta   = "meta"   // schema, seq, sid, cycles, names
	bScope  = "scope"  // scope key -> scopeRow
	bSource = "source" // sid, source -> sourceRow
	bWalk   = "walk"   // sid, walk -> walkRow
	bRange  = "range"  // sid, walk -> history: what was read
	bSweep  = "sweep"  // sid, walk -> sweepRow
	bDebt   = "debt"   // sid, walk, source -> debtRow: turns that are owed
	bNumber = "number" // sid, walk, chunk -> numbers met and numbers of the other kind
	bEntity = "entity" // sid, identity -> entity
	bAgenda = "agenda" // sid, why, time, identity -> since
	bRests  = "rests"  // sid, actor, identity
	bActor  = "actor"  // sid, actor -> actorRow
	bAsk    = "ask"    // sid, time, actor: whose role was read when
	bPair   = "pair"   // source, identity -> sid of the scope that has the pair
	bOutbox = "outbox" // source, identity -> outRow
	bQueue  = "queue"  // n|r|h, time, seq -> outbox key
)

func buckets() []string {
	return []string{bMeta, bScope, bSource, bWalk, bRange, bSweep, bDebt, bNumber, bEntity, bAgenda, bRests, bActor, bAsk,
		bPair, bOutbox, bQueue}
}

// sep sorts below every byte of a part.
const sep = "\x00"

// part makes a foreign text usable as a part of a key.
func part(s string) string { return url.PathEscape(s) }

func keyOf(parts ...string) string { return strings.Join(parts, sep) }

// stamp is a text that sorts as the time does; the zero time sorts first.
func stamp(t time.Time) string {
	const width = 24
	var b [width]byte
	s, n := uint64(0), uint64(0)
	if !t.IsZero() {
		s, n = uint64(t.Unix()+yearOne), uint64(t.Nanosecond())
	}
	hexInto(b[:16], s)
	hexInto(b[16:], n)
	return string(b[:])
}

// yearOne is the distance between the zero time and the Unix epoch in seconds.
const yearOne = 62135596800

func hexInto(b []byte, v uint64) {
	const digits = "0123456789abcdef"
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = digits[v&15]
		v >>= 4
	}
}

func hexText(v uint64, width int) string {
	b := make([]byte, width)
	hexInto(b, v)
	return string(b)
}

func entityKey(sid string, id scope.Identity) string { return sid + sep + id.String() }

// DeliveryKey is the key of the outbox row of a source and an entity.
func DeliveryKey(source string, id scope.Identity) string { return deliveryKey(source, id) }

func deliveryKey(source string, id scope.Identity) string { return part(source) + "|" + id.String() }

func unpart(s string) (string, error) { return url.PathUnescape(s) }

// unstamp reads what stamp wrote.
func unstamp(s string) time.Time {
	if len(s) != 24 {
		return time.Time{}
	}
	sec, err1 := strconv.ParseUint(s[:16], 16, 64)
	ns, err2 := strconv.ParseUint(s[16:], 16, 32)
	if err1 != nil || err2 != nil || sec == 0 {
		return time.Time{}
	}
	return time.Unix(int64(sec)-yearOne, int64(ns)).UTC()
}
