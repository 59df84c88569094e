package coverage

import (
	"context"
	"math/bits"
	"strings"
	"time"
)

// sweepRow is a sweep as stored: a ring that goes round over an immutable order, whatever the plan.
type sweepRow struct {
	Def       Walk       `json:"def"`
	Turn      int        `json:"turn"` // last finished
	Open      *openTask  `json:"open,omitempty"`
	Max       int64      `json:"max,omitempty"` // highest number met in the turn
	Debts     int        `json:"debts"`         // entries of bDebt
	LastStart time.Time  `json:"last_start,omitzero"`
	LastEnd   time.Time  `json:"last_end,omitzero"` // of the last complete turn
	Tries     int        `json:"tries,omitempty"`   // short turns since the last complete one
	Fails     int        `json:"fails,omitempty"`   // failures since the last page
	NotBefore time.Time  `json:"not_before,omitzero"`
	Why       string     `json:"why,omitempty"` // of the last incomplete turn or failure
	Probe     *probeRow  `json:"probe,omitempty"`
	Audit     Audit      `json:"audit"`
	Turns     []TurnInfo `json:"turns,omitempty"` // the last ones, oldest first
}

// probeRow asks for the numbers that the last finished turn did not meet.
type probeRow struct {
	Next      int64     `json:"next"`
	Max       int64     `json:"max"`
	Batches   int       `json:"batches"`
	Tries     int       `json:"tries,omitempty"`
	NotBefore time.Time `json:"not_before,omitzero"`
	Why       string    `json:"why,omitempty"`
}

// TurnInfo is a finished turn.
type TurnInfo struct {
	Turn     int       `json:"turn"`
	Start    time.Time `json:"start"`
	End      time.Time `json:"end"`
	Pages    int       `json:"pages"`
	Entities int       `json:"entities"`
	Unmet    int       `json:"unmet"` // known members that it did not return
	Missed   int       `json:"missed"`
	Short    string    `json:"short,omitempty"`
}

// debtRow says that a source is owed the turn with that number. The source "" is the scope itself.
type debtRow struct {
	Since time.Time `json:"since"`
	Turn  int       `json:"turn"`
}

const (
	maxTurns   = 16
	probeBatch = 200
	maxNumber  = 1 << 31
)

func (t txn) sweep(sid, name string) (*sweepRow, error) {
	var s sweepRow
	ok, err := t.loadJSON(bSweep, keyOf(sid, part(name)), &s)
	if err != nil || !ok {
		return nil, err
	}
	return &s, nil
}

func (t txn) saveSweep(sid string, s *sweepRow) error {
	return t.saveJSON(bSweep, keyOf(sid, part(s.Def.Name)), s)
}

// owe owes the source one full turn. A turn that has begun does not count: its first part did not ask for the source.
func (t txn) owe(sid, walk, source string, since time.Time) error {
	s, err := t.sweep(sid, walk)
	if err != nil || s == nil {
		return err
	}
	d := debtRow{Since: since, Turn: s.Turn + 1}
	if s.Open != nil && s.Open.Pages > 0 {
		d.Turn++
	}
	key := keyOf(sid, part(walk), part(source))
	var have debtRow
	ok, err := t.loadJSON(bDebt, key, &have)
	if err != nil {
		return err
	}
	if ok {
		d.Since = earlier(d.Since, have.Since)
	} else {
		s.Debts++
		if err := t.saveSweep(sid, s); err != nil {
			return err
		}
	}
	return t.saveJSON(bDebt, key, d)
}

// settleDebt drops one debt, of a source that left.
func (t txn) settleDebt(sid, walk, source string) error {
	key := keyOf(sid, part(walk), part(source))
	if t.Get(bDebt, key) == nil {
		return nil
	}
	s, err := t.sweep(sid, walk)
	if err != nil || s == nil {
		return err
	}
	s.Debts--
	if err := t.saveSweep(sid, s); err != nil {
		return err
	}
	return t.Delete(bDebt, key)
}

// settleDebts drops the debts that the finished turn has paid.
func (t txn) settleDebts(sid string, s *sweepRow, turn int) error {
	var paid []string
	left := 0
	err := t.each(bDebt, keyOf(sid, part(s.Def.Name))+sep, func(k string, v []byte) error {
		var d debtRow
		if err := decodeJSON(bDebt, k, v, &d); err != nil {
			return err
		}
		if d.Turn <= turn {
			paid = append(paid, k)
		} else {
			left++
		}
		return nil
	})
	for _, k := range paid {
		if err == nil {
			err = t.Delete(bDebt, k)
		}
	}
	s.Debts = left
	return err
}

// owed says that a turn is to be read now.
func (s *sweepRow) owed(clock time.Time, pol Policy) bool {
	if pol.Full {
		return true
	}
	if clock.Before(s.NotBefore) {
		return false
	}
	return s.Open != nil || s.Debts > 0 || s.Tries > 0 || s.Fails > 0 ||
		pol.SweepEvery > 0 && !clock.Before(s.LastStart.Add(pol.SweepEvery))
}

// closeTurn ends a turn. A complete one pays debts, gives known members that it did not return an appointment, and
// begins to ask for the numbers that it did not meet; a short one is repeated.
func (l *Ledger) closeTurn(ctx context.Context, t *Task, clock time.Time) error {
	unmet := 0
	if t.Short == "" {
		var err error
		if unmet, err = l.markUnmet(ctx, t, clock); err != nil {
			return err
		}
	}
	return l.update(ctx, t.Scope, func(tx txn, st *scopeState) error {
		s, err := tx.sweep(st.SID, t.Walk)
		if err != nil {
			return err
		}
		if s == nil || t.Turn != s.Turn+1 || !sameOpen(s.Open, t) {
			return ErrTask
		}
		if err := tx.finishTurn(st.SID, s, t, clock, unmet); err != nil {
			return err
		}
		if t.Short != "" {
			s.Tries++
			s.Why = clip(t.Short)
			s.NotBefore = l.later(clock, s.Tries, 0)
		} else if err := tx.calmLags(st, s); err != nil {
			return err
		}
		if err := tx.clearAlarm(st); err != nil {
			return err
		}
		return tx.saveSweep(st.SID, s)
	})
}

func (t txn) finishTurn(sid string, s *sweepRow, task *Task, clock time.Time, unmet int) error {
	s.Turn, s.Open = task.Turn, nil
	s.Turns = append(s.Turns, TurnInfo{Turn: task.Turn, Start: task.Started, End: clock, Pages: task.Pages,
		Entities: task.Entities, Unmet: unmet, Missed: s.Audit.turn(task.Turn), Short: clip(task.Short)})
	if n := len(s.Turns) - maxTurns; n > 0 {
		s.Turns = append(s.Turns[:0:0], s.Turns[n:]...)
	}
	if task.Short != "" {
		return nil
	}
	s.Tries, s.Fails, s.Why, s.NotBefore = 0, 0, "", time.Time{}
	s.LastStart, s.LastEnd = task.Started, clock
	if err := t.settleDebts(sid, s, task.Turn); err != nil {
		return err
	}
	s.Probe = nil
	if !s.Def.Dense {
		return nil
	}
	first, err := t.unmetNumbers(sid, s, 1, s.Max, 1)
	if err == nil && len(first) > 0 {
		s.Probe = &probeRow{Next: first[0], Max: s.Max}
	}
	return err
}

// unmetChunk bounds the entities that one step of the search for unmet members looks at.
const unmetChunk = 2000

// markUnmet gives every known member, and everything with an appointment, that the turn did not return an appointment
// of its own, in steps of bounded size; a step that is repeated after a crash changes nothing.
func (l *Ledger) markUnmet(ctx context.Context, t *Task, clock time.Time) (int, error) {
	total, from := 0, ""
	for {
		var keys []string
		next := ""
		err := l.view(ctx, t.Scope, func(tx txn, st *scopeState) error {
			var err error
			keys, next, err = tx.unmet(st.SID, t, from, clock.Add(-l.o.RetainGone))
			return err
		})
		if err != nil {
			return total, err
		}
		if len(keys) > 0 {
			n, err := l.appointUnmet(ctx, t, keys, clock)
			if err != nil {
				return total, err
			}
			total += n
		}
		if next == "" {
			return total, nil
		}
		from = next
	}
}

// unmet returns keys of entities that the turn should have met, or that are gone since before forget.
func (t txn) unmet(sid string, task *Task, from string, forget time.Time) (keys []string, next string, err error) {
	prefix, looked := sid+sep, 0
	err = t.eachFrom(bEntity, prefix, max(from, prefix), func(k string, v []byte) error {
		if looked == unmetChunk {
			next = k
			return errStop
		}
		looked++
		head, turn, readAt := peek(v)
		switch {
		case head&headGone != 0 && head&headAgain == 0:
			if readAt.Before(forget) {
				keys = append(keys, k)
			}
		case turn < task.Turn && readAt.Before(task.Started) && head&(headMember|headAgain) != 0:
			keys = append(keys, k)
		}
		return nil
	})
	return keys, next, err
}

func (l *Ledger) appointUnmet(ctx context.Context, t *Task, keys []string, clock time.Time) (n int, err error) {
	err = l.update(ctx, t.Scope, func(tx txn, st *scopeState) error {
		n = 0
		for _, k := range keys {
			b, ok, err := tx.load(bEntity, k)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			e, err := entityAt(k, b)
			if err != nil {
				return err
			}
			if e.gone && len(e.again) == 0 {
				if err := tx.disown(sidOf(k), e); err != nil {
					return err
				}
				if err := tx.Delete(bEntity, k); err != nil {
					return err
				}
				continue
			}
			n++
			e.appoint(Appointment{Why: WhyUnmet, At: clock, Since: clock})
			if err := tx.saveEntity(st.SID, e); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// Numbers are kept as bits in chunks: those met in a turn, and those that are of the other kind or gone, for ever.
const (
	chunkNumbers = 4096
	chunkBytes   = chunkNumbers / 8
)

type chunk struct {
	turn       int
	met, other [chunkBytes]byte
}

func chunkKey(sid, walk string, i int64) string {
	return keyOf(sid, part(walk), hexText(uint64(i), 16))
}

// chunk reads a chunk as it stands in a turn: what an earlier turn met is not met.
func (t txn) chunk(sid, walk string, i int64, turn int) (*chunk, error) {
	key := chunkKey(sid, walk, i)
	c := &chunk{turn: turn}
	b, ok, err := t.load(bNumber, key)
	if err != nil || !ok {
		return c, err
	}
	d := decoder{b: b}
	had := d.int()
	met, other := d.take(chunkBytes), d.take(chunkBytes)
	if d.bad {
		return nil, damaged("number %q cannot be decoded", key)
	}
	if had == turn {
		copy(c.met[:], met)
	}
	copy(c.other[:], other)
	return c, nil
}

func (t txn) saveChunk(sid, walk string, i int64, c *chunk) error {
	var e encoder
	e.count(c.turn)
	e.b = append(append(e.b, c.met[:]...), c.other[:]...)
	return t.save(bNumber, chunkKey(sid, walk, i), e.b)
}

// note records numbers in the chunks that hold them.
func (t txn) note(sid, walk string, turn int, met, other []int64) (highest int64, err error) {
	chunks := map[int64]*chunk{}
	set := func(numbers []int64, plane func(*chunk) []byte) error {
		for _, n := range numbers {
			if n < 1 || n > maxNumber {
				continue
			}
			highest = max(highest, n)
			i := n / chunkNumbers
			c := chunks[i]
			if c == nil {
				if c, err = t.chunk(sid, walk, i, turn); err != nil {
					return err
				}
				chunks[i] = c
			}
			plane(c)[n%chunkNumbers/8] |= 1 << (n % 8)
		}
		return nil
	}
	if err := set(met, func(c *chunk) []byte { return c.met[:] }); err != nil {
		return 0, err
	}
	if err := set(other, func(c *chunk) []byte { return c.other[:] }); err != nil {
		return 0, err
	}
	for i, c := range chunks {
		if err := t.saveChunk(sid, walk, i, c); err != nil {
			return 0, err
		}
	}
	return highest, nil
}

// unmetNumbers returns up to n numbers in [from, to] that the last finished turn did not meet.
func (t txn) unmetNumbers(sid string, s *sweepRow, from, to int64, n int) ([]int64, error) {
	var out []int64
	for i := from / chunkNumbers; i <= to/chunkNumbers && len(out) < n; i++ {
		c, err := t.chunk(sid, s.Def.Name, i, s.Turn)
		if err != nil {
			return nil, err
		}
		for b := range chunkBytes {
			free := ^(c.met[b] | c.other[b])
			for free != 0 && len(out) < n {
				bit := bits.TrailingZeros8(free)
				free &^= 1 << bit
				if x := i*chunkNumbers + int64(b*8+bit); x >= max(from, 1) && x <= to {
					out = append(out, x)
				}
			}
		}
	}
	return out, nil
}

// closeProbe moves behind the numbers that were asked for. What could not be read is asked for by the next turn.
func (l *Ledger) closeProbe(ctx context.Context, t *Task) error {
	return l.update(ctx, t.Scope, func(tx txn, st *scopeState) error {
		s, err := tx.sweep(st.SID, t.Walk)
		if err != nil {
			return err
		}
		if s == nil || s.Probe == nil || s.Turn != t.Turn || t.last < s.Probe.Next {
			return ErrTask
		}
		s.Probe.Batches++
		s.Probe.Tries, s.Probe.NotBefore = 0, time.Time{}
		if t.Short != "" {
			s.Probe.Why = clip(t.Short)
		}
		rest, err := tx.unmetNumbers(st.SID, s, t.last+1, s.Probe.Max, 1)
		if err != nil {
			return err
		}
		if len(rest) == 0 {
			s.Probe = nil
		} else {
			s.Probe.Next = rest[0]
		}
		return tx.saveSweep(st.SID, s)
	})
}

// sourceOf is the source of a debt key.
func sourceOf(key string) string {
	s, err := unpart(key[strings.LastIndex(key, sep)+1:])
	if err != nil {
		return key
	}
	return s
}
