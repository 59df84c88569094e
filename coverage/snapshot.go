package coverage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fullsend-ai/discovery/scope"
)

// Snapshot is the ledger as people see it, at one consistent state.
type Snapshot struct {
	At     time.Time       `json:"at"`
	Schema int             `json:"schema"`
	Size   int64           `json:"size"`   // bytes of the file; 0 in memory
	Cycles []Cycle         `json:"cycles"` // the last of every input driver
	Scopes []ScopeSnapshot `json:"scopes"`
	Outbox OutboxSnapshot  `json:"outbox"`
}

// ScopeSnapshot is one scope.
type ScopeSnapshot struct {
	Scope    scope.Scope      `json:"scope"`
	Plan     string           `json:"plan"`
	Since    time.Time        `json:"since"`
	Alarm    *Alarm           `json:"alarm,omitempty"`
	Walks    []WalkSnapshot   `json:"walks"`
	Sweeps   []SweepSnapshot  `json:"sweeps"`
	Sources  []SourceSnapshot `json:"sources"`
	Agenda   []AgendaSnapshot `json:"agenda"`
	Entities int              `json:"entities"`
	Members  int              `json:"members"` // entities in at least one match
	Gone     int              `json:"gone"`
	Actors   int              `json:"actors"` // on whom verdicts rest
}

// WalkSnapshot is one change walk. Provisional is where coverage is not final yet: changes after it may still become
// visible.
type WalkSnapshot struct {
	Name        string        `json:"name"`
	Active      bool          `json:"active"` // in the plan
	Frontier    time.Time     `json:"frontier"`
	Provisional time.Time     `json:"provisional"`
	Lag         time.Duration `json:"lag"`
	Declared    time.Duration `json:"declared"` // the walk's own lag
	Widened     bool          `json:"widened"`
	Covered     []Range       `json:"covered"`
	Recent      []Range       `json:"recent"`
	Gaps        []GapSnapshot `json:"gaps"`
	Reading     *Reading      `json:"reading,omitempty"`
	Fails       int           `json:"fails"`
	Why         string        `json:"why,omitempty"`
}

// GapSnapshot is a range that was not read completely.
type GapSnapshot struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Why     string    `json:"why"`
	Since   time.Time `json:"since"`
	Tries   int       `json:"tries"`
	Next    time.Time `json:"next"`
	Reading *Reading  `json:"reading,omitempty"`
}

// Reading is a task under way.
type Reading struct {
	Started  time.Time `json:"started"`
	Pages    int       `json:"pages"`
	Entities int       `json:"entities"`
	Short    string    `json:"short,omitempty"`
}

// SweepSnapshot is one sweep.
type SweepSnapshot struct {
	Name      string     `json:"name"`
	Active    bool       `json:"active"`
	Turn      int        `json:"turn"` // last finished
	LastStart time.Time  `json:"last_start,omitzero"`
	LastEnd   time.Time  `json:"last_end,omitzero"`
	Reading   *Reading   `json:"reading,omitempty"`
	Owed      int        `json:"owed"` // sources that are owed a turn, and the scope itself
	Tries     int        `json:"tries"`
	Next      time.Time  `json:"next,omitzero"` // not before
	Why       string     `json:"why,omitempty"`
	ProbeFrom int64      `json:"probe_from,omitempty"` // numbers from here to ProbeTo are still asked for
	ProbeTo   int64      `json:"probe_to,omitempty"`
	ProbeWhy  string     `json:"probe_why,omitempty"`
	Audit     Audit      `json:"audit"`
	Turns     []TurnInfo `json:"turns"`
}

// SourceSnapshot is one source of the plan, or one that left it and is remembered.
type SourceSnapshot struct {
	ID      string    `json:"id"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Owed    time.Time `json:"owed,omitzero"` // since when it is owed a turn
	Retired time.Time `json:"retired,omitzero"`
}

// AgendaSnapshot is the appointments of one reason.
type AgendaSnapshot struct {
	Why    string    `json:"why"`
	Count  int       `json:"count"`
	Due    int       `json:"due"`
	Oldest time.Time `json:"oldest"` // since when the oldest reason stands
	Next   time.Time `json:"next"`
}

// OutboxSnapshot is the outbox by state, with its dead letters.
type OutboxSnapshot struct {
	Ready   int       `json:"ready"`
	Waiting int       `json:"waiting"` // for their next try
	Claimed int       `json:"claimed"` // by a driver
	Lost    int       `json:"lost"`    // claimed, the lease is over, no receipt
	Held    int       `json:"held"`    // their source is not in the plan
	Dead    int       `json:"dead"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Letters []Letter  `json:"letters"` // the dead ones, at most 100
}

// Letter is a row that failed often and is tried slowly.
type Letter struct {
	Key       string      `json:"key"`
	Decision  string      `json:"decision"`
	Scope     scope.Scope `json:"scope"`
	Source    string      `json:"source"`
	Ref       scope.Ref   `json:"ref"`
	Entries   int         `json:"entries"`
	Created   time.Time   `json:"created"`
	Tries     int         `json:"tries"`
	NotBefore time.Time   `json:"not_before,omitzero"`
	Lease     time.Time   `json:"lease,omitzero"`
	Why       string      `json:"why"`
}

const maxLetters = 100

// Snapshot reads everything that status shows. now, on the local clock, decides what is due and whose lease is over.
func (l *Ledger) Snapshot(ctx context.Context, now time.Time) (Snapshot, error) {
	out := Snapshot{At: utc(now), Schema: Schema, Scopes: []ScopeSnapshot{}}
	if f, ok := l.store.(interface{ Size() int64 }); ok {
		out.Size = f.Size()
	}
	err := l.viewAll(ctx, func(tx txn) error {
		err := tx.eachScope(func(row *scopeRow) error {
			s, err := tx.scopeSnapshot(row, now)
			out.Scopes = append(out.Scopes, s)
			return err
		})
		if err != nil {
			return err
		}
		if out.Cycles, err = tx.cycles(); err != nil {
			return err
		}
		out.Outbox, err = tx.outboxSnapshot(now)
		return err
	})
	return out, err
}

func (t txn) scopeSnapshot(row *scopeRow, now time.Time) (ScopeSnapshot, error) {
	s := ScopeSnapshot{Scope: row.Scope, Plan: row.Plan, Since: row.Since, Alarm: row.Alarm}
	active := func(name string) bool {
		return slices.ContainsFunc(row.Walks, func(w Walk) bool { return w.Name == name })
	}
	owed := map[string]time.Time{}
	prefix := row.SID + sep
	for _, f := range []func() error{
		func() error {
			return t.each(bWalk, prefix, func(k string, v []byte) error {
				var w walkRow
				if err := decodeJSON(bWalk, k, v, &w); err != nil {
					return err
				}
				_, err := t.loadJSON(bRange, k, &w.history)
				s.Walks = append(s.Walks, w.snapshot(active(w.Def.Name)))
				return err
			})
		},
		func() error {
			return t.each(bSweep, prefix, func(k string, v []byte) error {
				var w sweepRow
				err := decodeJSON(bSweep, k, v, &w)
				s.Sweeps = append(s.Sweeps, w.snapshot(active(w.Def.Name)))
				return err
			})
		},
		func() error {
			return t.each(bDebt, prefix, func(k string, v []byte) error {
				var d debtRow
				err := decodeJSON(bDebt, k, v, &d)
				id := sourceOf(k)
				if at, ok := owed[id]; !ok || d.Since.Before(at) {
					owed[id] = d.Since
				}
				return err
			})
		},
		func() error {
			return t.each(bSource, prefix, func(k string, v []byte) error {
				var r sourceRow
				err := decodeJSON(bSource, k, v, &r)
				s.Sources = append(s.Sources, SourceSnapshot{ID: r.ID, Version: r.Version, Since: r.Since,
					Owed: owed[r.ID], Retired: r.Retired})
				return err
			})
		},
		func() error { return t.count(prefix, &s) },
		func() (err error) { s.Agenda, err = t.agendaSnapshot(row.SID, now); return err },
	} {
		if err := f(); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (t txn) count(prefix string, s *ScopeSnapshot) error {
	err := t.each(bEntity, prefix, func(_ string, v []byte) error {
		head, _, _ := peek(v)
		s.Entities++
		if head&headGone != 0 {
			s.Gone++
		}
		if head&headMember != 0 {
			s.Members++
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.each(bActor, prefix, func(string, []byte) error { s.Actors++; return nil })
}

func (o *openTask) reading() *Reading {
	if o == nil {
		return nil
	}
	return &Reading{Started: o.Started, Pages: o.Pages, Entities: o.Entities, Short: o.Short}
}

func (w *walkRow) snapshot(active bool) WalkSnapshot {
	s := WalkSnapshot{Name: w.Def.Name, Active: active, Frontier: w.Frontier, Provisional: w.Frontier.Add(-w.lag()),
		Lag: w.lag(), Declared: w.Def.Lag, Widened: w.lag() > max(w.Def.Lag, w.Def.Grain), Covered: w.Covered,
		Recent: w.Recent, Reading: w.Open.reading(), Fails: w.Fails, Why: w.Why}
	for _, g := range w.Gaps {
		s.Gaps = append(s.Gaps, GapSnapshot{From: g.From, To: g.To, Why: g.Why, Since: g.Since, Tries: g.Tries + g.Fails,
			Next: g.NotBefore, Reading: g.Open.reading()})
	}
	return s
}

func (s *sweepRow) snapshot(active bool) SweepSnapshot {
	out := SweepSnapshot{Name: s.Def.Name, Active: active, Turn: s.Turn, LastStart: s.LastStart, LastEnd: s.LastEnd,
		Reading: s.Open.reading(), Owed: s.Debts, Tries: s.Tries + s.Fails, Next: s.NotBefore, Why: s.Why, Audit: s.Audit,
		Turns: s.Turns}
	if s.Probe != nil {
		out.ProbeFrom, out.ProbeTo, out.ProbeWhy = s.Probe.Next, s.Probe.Max, s.Probe.Why
	}
	return out
}

func (t txn) agendaSnapshot(sid string, now time.Time) ([]AgendaSnapshot, error) {
	whys, err := t.whys(sid)
	if err != nil {
		return nil, err
	}
	var out []AgendaSnapshot
	limit := stamp(now)
	for _, why := range whys {
		a := AgendaSnapshot{}
		if a.Why, err = unpart(why); err != nil {
			return nil, damaged("agenda %q: %v", why, err)
		}
		prefix, oldest := keyOf(sid, why)+sep, ""
		err := t.each(bAgenda, prefix, func(k string, v []byte) error {
			at, _, _ := strings.Cut(k[len(prefix):], sep)
			if a.Count == 0 {
				a.Next = unstamp(at)
			}
			a.Count++
			if at <= limit {
				a.Due++
			}
			if since := string(v); oldest == "" || since < oldest {
				oldest = since
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		a.Oldest = unstamp(oldest)
		out = append(out, a)
	}
	return out, nil
}

func (t txn) outboxSnapshot(now time.Time) (OutboxSnapshot, error) {
	out := OutboxSnapshot{Letters: []Letter{}}
	err := t.each(bOutbox, "", func(k string, v []byte) error {
		var r outRow
		if err := decodeJSON(bOutbox, k, v, &r); err != nil {
			return err
		}
		if out.Oldest.IsZero() || r.Created.Before(out.Oldest) {
			out.Oldest = r.Created
		}
		switch {
		case strings.HasPrefix(r.Queue, queueHeld):
			out.Held++
		case r.leased() && !now.Before(r.Lease):
			out.Lost++
		case r.leased():
			out.Claimed++
		case r.Dead:
			out.Dead++
		case now.Before(r.NotBefore):
			out.Waiting++
		default:
			out.Ready++
		}
		if r.Dead && len(out.Letters) < maxLetters {
			out.Letters = append(out.Letters, Letter{Key: r.Key, Decision: r.Decision, Scope: r.Scope, Source: r.Source, Ref: r.Ref,
				Entries: r.Entries, Created: r.Created, Tries: r.Tries, NotBefore: r.NotBefore, Lease: r.Lease, Why: r.Why})
		}
		return nil
	})
	return out, err
}
