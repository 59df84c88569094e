package forgesim

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"
)

// World is one forge: accounts, repositories and what happens in them. It is safe for
// concurrent use; every method is one atomic step.
type World struct {
	profile Profile
	traffic traffic // what goes over HTTP; has a lock of its own

	mu       sync.Mutex
	clock    clock
	seq      uint64 // order of all mutations
	ids      map[string]int64
	users    map[int64]*User
	tokens   map[string]token
	repos    map[int64]*repo
	labels   map[int64]*Label
	stones   map[int64]*Milestone
	comments map[int64]*thread // comment id -> where it lives
	threads  map[int64]*thread
	moved    map[string]int64 // "owner-id/name" -> repository that had this name
	renamed  map[string]int64 // login -> account that had this login
	aliases  map[string]int64 // entities by the name that a script gave them
	remarks  map[string]int64 // comments likewise
	home     int64            // the repository that a bare "#7" means: the last created
}

// Options of a new world; the zero value is a Gitea with a clock that stands still.
type Options struct {
	Profile Profile
	Clock   func() time.Time // nil: virtual
}

// New makes an empty world.
func New(o Options) *World {
	if o.Profile.Name == "" {
		o.Profile = Gitea()
	}
	return &World{
		profile: o.Profile,
		traffic: newTraffic(),
		clock:   newClock(o.Clock),
		ids:     map[string]int64{},
		users:   map[int64]*User{}, tokens: map[string]token{},
		repos: map[int64]*repo{}, labels: map[int64]*Label{}, stones: map[int64]*Milestone{},
		comments: map[int64]*thread{}, threads: map[int64]*thread{},
		moved: map[string]int64{}, renamed: map[string]int64{},
		aliases: map[string]int64{}, remarks: map[string]int64{},
	}
}

// Profile is the profile that the world was made with.
func (w *World) Profile() Profile { return w.profile }

// repo is a repository with everything in it.
type repo struct {
	Repo
	deleted  bool
	roles    map[int64]Role
	expires  map[int64]time.Time // of memberships
	threads  []*thread           // ascending by creation, then id
	outline  []outline           // of each thread, for listings of many
	byNumber map[int64]*thread
	next     map[Kind]int64
	statuses map[string][]status // by commit
	commits  map[string]bool
	branches map[string]string    // head commit by name
	heads    map[string][]*thread // by a commit that is or was their head
}

type token struct {
	user   int64
	scopes []string
}

type status struct {
	Status
	creator int64
}

// thread is the identity of an entity; its states are immutable records.
type thread struct {
	id, change, number int64
	repo               *repo
	kind               Kind
	author             int64
	created            time.Time
	name               string // alias
	born               time.Duration
	index              int       // in the repository's threads
	past               []*record // ascending by time
}

func (t *thread) now() *record { return t.past[len(t.past)-1] }

// asOf is the state at an elapsed time, or the oldest that is left; nil when the entity did
// not exist.
func (t *thread) asOf(elapsed time.Duration) *record {
	for i := len(t.past) - 1; i >= 0; i-- {
		if t.past[i].at <= elapsed {
			return t.past[i]
		}
	}
	if t.born <= elapsed {
		return t.past[0]
	}
	return nil
}

// outline is what most listings ask first, laid side by side: a page out of 100,000
// entities must not look into each of them.
type outline struct {
	updated                int64 // whole seconds, by the profile
	proposal, closed, gone bool
}

// sketch brings an entity's outline up to date.
func (w *World) sketch(t *thread) {
	s := t.now()
	t.repo.outline[t.index] = sketchOf(t, s, w.profile.Moves)
}

func sketchOf(t *thread, s *record, m Moves) outline {
	return outline{latest(s.touches, m).Unix(), t.kind == ChangeProposal, s.closed, s.gone}
}

// memory is how far back older states of an entity are kept for lagging readers.
const memory = 6 * time.Hour

type revision struct {
	text string
	by   int64
	at   time.Time
}

type applied struct {
	label, by int64
	at        time.Time
}

type comment struct {
	id, author int64
	created    time.Time
	revision
}

type review struct {
	Review
	author int64
}

type event struct {
	Event
	actor, user, label, oldStone, newStone int64
}

// record is one immutable state of an entity.
type record struct {
	at          time.Duration // elapsed, when it became so
	gone        bool
	title, body revision

	closed, merged, draft, locked bool
	confidential                  bool
	closedBy, mergedBy            int64
	closedAt, mergedAt, due       time.Time
	base, head, headSHA, mergeSHA string
	headRepo                      int64

	labels    []applied
	assignees []int64
	stone     int64
	issueType string
	links     []int64 // proposals that would close this work item
	movedTo   int64   // where it was transferred to; then it is gone here, or closed
	comments  []comment
	reviews   []review
	events    []event
	touches   []touch
}

func (r *record) clone() *record {
	n := *r
	n.labels = slices.Clone(r.labels)
	n.assignees = slices.Clone(r.assignees)
	n.comments = slices.Clone(r.comments)
	n.reviews = slices.Clone(r.reviews)
	n.events = slices.Clone(r.events)
	n.touches = slices.Clone(r.touches)
	n.links = slices.Clone(r.links)
	return &n
}

func (r *record) touch(c Change, seq uint64, at time.Time) {
	i := slices.IndexFunc(r.touches, func(t touch) bool { return t.kind == c })
	if i < 0 {
		r.touches = append(r.touches, touch{c, seq, at})
		return
	}
	r.touches[i] = touch{c, seq, at}
}

// edit is a change of one entity in the making.
type edit struct {
	*record
	w    *World
	t    *thread
	time time.Time
}

// change gives the entity a new state. With f failing nothing happens.
func (w *World) change(t *thread, f func(*edit) error) error {
	now, elapsed := w.clock.tick()
	e := &edit{record: t.now().clone(), w: w, t: t, time: now}
	if e.gone {
		return missing("entity %s#%d is deleted", t.repo.FullName(), t.number)
	}
	if err := f(e); err != nil {
		return err
	}
	e.at = elapsed
	w.count(t, t.now(), -1)
	w.count(t, e.record, +1)
	if t.now().at == elapsed {
		t.past = t.past[:len(t.past)-1] // no reader can stand between the two
	}
	t.past = append(t.past, e.record)
	w.sketch(t)
	for len(t.past) > 1 && t.past[1].at < elapsed-memory {
		t.past = t.past[1:]
	}
	return nil
}

// count keeps the numbers of open and done entities of repositories and milestones.
func (w *World) count(t *thread, s *record, n int) {
	if s.gone {
		return
	}
	if m := w.stones[s.stone]; m != nil && s.closed {
		m.DoneItems += n
	} else if m != nil {
		m.OpenItems += n
	}
	switch {
	case s.closed:
	case t.kind == WorkItem:
		t.repo.OpenIssues += n
	default:
		t.repo.OpenProposals += n
	}
}

func (e *edit) touch(c Change) {
	e.w.seq++
	e.record.touch(c, e.w.seq, e.time)
}

// log adds a row to the history.
func (e *edit) log(ev event) {
	ev.ID = e.w.id("comment")
	ev.At = e.time
	e.events = append(e.events, ev)
}

func (w *World) id(space string) int64 {
	w.ids[space]++
	return w.ids[space]
}

func fold(s string) string { return strings.ToLower(s) }

// user finds an account that exists by login; logins are compared without case.
func (w *World) user(login string) (*User, error) {
	for _, u := range w.users {
		if !u.Deleted && fold(u.Login) == fold(login) {
			return u, nil
		}
	}
	return nil, missing("user %q", login)
}

// repository finds a repository by "owner/name"; "" is the home repository.
func (w *World) repository(full string) (*repo, error) {
	if full == "" {
		if r := w.repos[w.home]; r != nil && !r.deleted {
			return r, nil
		}
		return nil, missing("a home repository")
	}
	for _, r := range w.repos {
		if !r.deleted && fold(w.fullName(r)) == fold(full) {
			return r, nil
		}
	}
	return nil, missing("repository %q", full)
}

func (w *World) fullName(r *repo) string { return w.users[r.OwnerID].Login + "/" + r.Name }

// thread finds an entity: an alias, "owner/name#7", "#7" or "7" in the home repository.
func (w *World) thread(ref string) (*thread, error) {
	if id, ok := w.aliases[ref]; ok {
		return w.threads[id], nil
	}
	full, num, ok := strings.Cut(ref, "#")
	if !ok {
		full, num = "", ref
	}
	r, err := w.repository(full)
	if err != nil {
		return nil, err
	}
	n, err := parseInt("entity", num)
	if err != nil {
		return nil, err
	}
	t := r.byNumber[n]
	if t == nil {
		return nil, missing("entity %q", ref)
	}
	return t, nil
}

// label finds a label that a repository may use, by name or "id:7"; of several of one name
// the oldest.
func (w *World) label(r *repo, name string) (*Label, error) {
	for _, l := range w.catalogue(r) {
		if l.Name == name || "id:"+itoa(l.ID) == name {
			return l, nil
		}
	}
	return nil, missing("label %q in %s", name, w.fullName(r))
}

// catalogue is every label that a repository may use, by id.
func (w *World) catalogue(r *repo) []*Label {
	var ls []*Label
	for _, l := range w.labels {
		if !l.Deleted && (l.RepoID == r.ID || l.OrgID != 0 && l.OrgID == r.OwnerID) {
			ls = append(ls, l)
		}
	}
	slices.SortFunc(ls, func(a, b *Label) int { return cmp.Compare(a.ID, b.ID) })
	return ls
}

// stone finds a milestone of a repository by its title.
func (w *World) stone(r *repo, title string) (*Milestone, error) {
	var found *Milestone
	for _, m := range w.stones {
		if m.RepoID == r.ID && m.Title == title && !m.Deleted && (found == nil || m.ID < found.ID) {
			found = m
		}
	}
	if found == nil {
		return nil, missing("milestone %q in %s", title, w.fullName(r))
	}
	return found, nil
}
