package chaos

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// pair is one harness and one entity.
type pair struct {
	harness string
	id      int64 // of the entity
}

// stay is what is known of a pair.
type stay struct {
	in  bool   // matches and is triggered, as the world stands
	sig string // then: what the decision rests on

	member bool            // its query held at some moment since the last checkpoint while its trigger did not
	was    bool            // in at the last checkpoint
	seen   map[string]bool // signatures that it had since it came in, as far as anybody can tell
	flips  int             // how often it came in or changed since the last checkpoint
	parked bool            // its harness left the plan while it may have matched
	adopts bool            // its query was edited since the last checkpoint: what it rests on now is taken over
	sure   map[string]bool // of those, the ones that were in force at a checkpoint
	fresh  map[string]bool // signatures since the last checkpoint
	sent   []string        // decisions that came out since
	done   []string        // closed decisions, as many as a ledger has to remember
	ever   bool            // in at some moment since the checkpoint before the last one
	waits  int             // what its harness had not been asked yet when it left the plan: it comes back with it
}

// oracle evaluates the whole world after every step and keeps account of what has to come out of the poller.
type oracle struct {
	world     *forgesim.World
	repo      int64
	robot     int64
	harnesses map[string]*harness
	entities  map[int64]*forgesim.Entity
	pairs     map[pair]*stay
	stale     bool            // since the last checkpoint answers may have shown the past without saying so
	handed    map[string]bool // decisions that came out in this ledger's life
}

func newOracle(w *forgesim.World, robot int64) *oracle {
	return &oracle{world: w, robot: robot, harnesses: map[string]*harness{}, pairs: map[pair]*stay{}, entities: map[int64]*forgesim.Entity{},
		handed: map[string]bool{}}
}

// refresh reads the whole world, or one entity of it.
func (o *oracle) refresh(ref string) {
	if ref != "" {
		if e, err := o.world.Entity(ref); err == nil {
			o.entities[e.ID] = &e
			o.sample(&e)
			return
		}
	}
	es, err := o.world.Entities("")
	if err != nil {
		panic(fmt.Sprintf("the world cannot be read: %v", err))
	}
	gone := o.entities
	o.entities = make(map[int64]*forgesim.Entity, len(es))
	for i := range es {
		if es[i].Repo.ID == o.repo {
			o.entities[es[i].ID] = &es[i]
			delete(gone, es[i].ID)
		}
	}
	for id := range gone {
		for name := range o.harnesses {
			o.note(pair{name, id}, false, "")
		}
	}
	o.tick()
}

// tick evaluates everything anew, since time has passed.
func (o *oracle) tick() {
	for _, e := range o.entities {
		o.sample(e)
	}
}

func (o *oracle) sample(e *forgesim.Entity) {
	l := &look{e: e, now: o.world.Now(), robot: o.robot}
	for name, h := range o.harnesses {
		in, sig := judge(h, l)
		p := pair{name, e.ID}
		if !in && h.asks(e.Kind) && h.rule.holds(l) {
			o.stay(p).member = true
		}
		o.note(p, in, sig)
	}
}

// judge says whether a harness is to be asked about an entity, and what the decision rests on.
func judge(h *harness, l *look) (bool, string) {
	if !h.asks(l.e.Kind) || !h.rule.holds(l) || !asks()[h.ask].want(l) {
		return false, ""
	}
	me := *l
	if h.self {
		me.self = me.robot // what the harness writes itself is no news to it
	}
	return true, signature(h.rule, &me) + "\n" + asks()[h.ask].read(&me)
}

func (h *harness) asks(k forgesim.Kind) bool {
	for _, x := range h.kinds {
		if x == k {
			return true
		}
	}
	return false
}

// known says that the poller may have decided on the pair already.
func (s *stay) known() bool { return s.was || s.member || len(s.sent) > 0 }

func (o *oracle) stay(p pair) *stay {
	s := o.pairs[p]
	if s == nil {
		s = &stay{seen: map[string]bool{}, sure: map[string]bool{}, fresh: map[string]bool{}}
		o.pairs[p] = s
	}
	return s
}

func (o *oracle) note(p pair, in bool, sig string) {
	s := o.stay(p)
	if s.in == in && s.sig == sig {
		return
	}
	again := s.in && s.sure[sig] // back to what was asked about before, without a time out
	s.in, s.sig = in, sig
	if !in {
		clear(s.sure) // who comes in again is asked again
	}
	if in {
		if !again {
			s.flips++
		}
		s.ever, s.fresh[sig] = true, true
	}
}

// edit replaces the harnesses. What matches before and after stays: an edited query asks only for what is new to it.
func (o *oracle) edit(hs []*harness) {
	old := o.harnesses
	o.harnesses = map[string]*harness{}
	for _, h := range hs {
		o.harnesses[h.name] = h
	}
	for p, s := range o.pairs {
		if o.harnesses[p.harness] == nil && s.in {
			s.in, s.sig = false, "" // nobody asks; the ledger remembers the pair in case the source returns
		}
		if h := o.harnesses[p.harness]; h == nil || o.entities[p.id] != nil && !h.asks(o.entities[p.id].Kind) {
			s.parked = s.parked || s.known()
		}
	}
	now := o.world.Now()
	for _, e := range o.entities {
		for name, h := range o.harnesses {
			p := pair{name, e.ID}
			s := o.stay(p)
			in, sig := judge(h, &look{e: e, now: now, robot: o.robot})
			if !h.asks(e.Kind) {
				continue
			}
			// What changed since the last look, and changes before the next one, cannot be told from what the edit changed.
			twice := s.adopts
			s.adopts = s.adopts || s.parked || old[name] != nil && s.known()
			s.parked = false
			clear(s.sure)
			if s.in && in && old[name] != nil {
				s.sig, s.fresh[sig] = sig, true // the decision that was made, or is to be made, is that of the new version
				if twice {                      // perhaps back to a version that the poller knows, and what changed meanwhile is news to it
					s.flips++
				}
				continue
			}
			o.note(p, in, sig)
		}
	}
}

// forget: the ledger is lost. Everything that matches may come again, and has to.
func (o *oracle) forget() {
	o.handed = map[string]bool{}
	for _, s := range o.pairs {
		s.was, s.sent, s.done, s.waits = false, nil, nil, 0
		clear(s.seen)
		clear(s.sure)
		if s.in {
			s.flips++
			s.fresh[s.sig] = true
		}
	}
}

// emitted notes a decision that a driver got, and says what is wrong with it. One does not count whose run read the past.
func (o *oracle) emitted(p pair, decision string, exact, counts bool) error {
	s := o.stay(p)
	if slices.Contains(s.done, decision) {
		return fmt.Errorf("again: %s was asked about %s, decision %s, after its outcome was recorded", p.harness, o.name(p.id), decision)
	}
	if exact && !s.ever && !s.was && s.waits == 0 {
		return fmt.Errorf("never matched: %s was asked about %s, which it has not matched since the last checkpoint", p.harness, o.name(p.id))
	}
	if counts && !o.handed[decision] {
		o.handed[decision] = true
		s.sent = append(s.sent, decision)
	}
	return nil
}

// lost: nothing is known of what became of a decision that was handed over.
func (o *oracle) lost(p pair, decision string) {
	s := o.stay(p)
	delete(o.handed, decision)
	s.sent = slices.DeleteFunc(s.sent, func(d string) bool { return d == decision })
}

// done: the outcome of a decision is recorded.
func (o *oracle) done(p pair, decision string) {
	s := o.stay(p)
	s.done = append(s.done, decision)
	if len(s.done) > 8 {
		s.done = s.done[1:]
	}
}

// reopened: a run that was handed off turned out to have failed.
func (o *oracle) reopened(p pair, decision string) {
	s := o.stay(p)
	s.done = slices.DeleteFunc(s.done, func(d string) bool { return d == decision })
}

func (o *oracle) name(id int64) string {
	if e := o.entities[id]; e != nil {
		return fmt.Sprintf("%s#%d", e.Kind, e.Number)
	}
	return fmt.Sprintf("entity %d", id)
}

// checkpoint compares what came out since the last one with what had to. It is called when the poller has had its chance.
func (o *oracle) checkpoint(at time.Time) []error {
	var errs []error
	for p, s := range o.pairs {
		need := s.in && !s.adopts && !s.seen[s.sig]
		most := s.flips + s.waits
		if need && len(s.sent) == 0 {
			errs = append(errs, fmt.Errorf("missed: %s was not asked about %s, which matches at %s", p.harness, o.name(p.id), at.Format(time.DateTime)))
		}
		if len(s.sent) > most && !o.stale {
			errs = append(errs, fmt.Errorf("twice: %s was asked %d times about %s, which came in or changed %d times", p.harness, len(s.sent), o.name(p.id), most))
		}
		e, h := o.entities[p.id], o.harnesses[p.harness]
		if h == nil {
			s.waits = max(0, most-len(s.sent))
		} else {
			s.waits = 0
		}
		s.member = !s.in && e != nil && h != nil && h.asks(e.Kind) && h.rule.holds(&look{e: e, now: at, robot: o.robot})
		if s.in {
			s.seen[s.sig], s.sure[s.sig] = true, true
		}
		if s.in || s.member { // a member whose trigger is false stays, with what it was asked about
			maps.Copy(s.seen, s.fresh)
		} else {
			clear(s.seen)
			clear(s.sure)
		}
		clear(s.fresh)
		s.ever = s.in || s.was && s.flips > 0
		s.was, s.flips, s.sent, s.adopts = s.in, 0, nil, false
	}
	o.stale = false
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errs
}
