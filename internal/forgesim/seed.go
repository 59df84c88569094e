package forgesim

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// SeedRepo is the repository that Seed fills.
const SeedRepo = "acme/widgets"

// Tokens of a seeded world: of the engine's account with and without the right to read
// roles, and of a stranger.
const (
	AdminToken    = "sim-admin"
	WriteToken    = "sim-write"
	StrangerToken = "sim-stranger"
)

// Seed fills the world with SeedRepo: accounts of differing rights, labels, milestones, and n
// entities, about a third of them change proposals, that were opened, labelled, discussed,
// reviewed and closed one after another. The same n, seed and start give the same world. It needs
// a virtual clock, and leaves it where the last entity was opened and a little later.
func (w *World) Seed(n int, seed uint64) error {
	if !w.virtual() {
		return refused("a clock that runs by itself cannot be seeded")
	}
	s := &seeder{World: w, rnd: rand.New(rand.NewPCG(seed, 0x5eed))}
	s.cast()
	for range n {
		s.Advance(time.Duration(30+s.rnd.IntN(5400)) * time.Second)
		s.open()
		for range s.rnd.IntN(5) {
			s.Advance(time.Duration(s.rnd.IntN(600)) * time.Second)
			s.happen()
		}
	}
	s.Advance(time.Minute)
	return s.err
}

// seeder keeps the first error, so that the story reads as one.
type seeder struct {
	*World
	rnd  *rand.Rand
	refs []string
	err  error
}

func (s *seeder) must(err error) {
	if s.err == nil && err != nil {
		s.err = err
	}
}

func seedRoles() []struct {
	login string
	role  Role
} {
	return []struct {
		login string
		role  Role
	}{
		{"olga", Admin}, {"wes", Write}, {"wanda", Write}, {"mira", Maintain}, {"tariq", Triage}, {"tess", Triage},
		{"rob", Read}, {"stella", None}, {"sam", None}, {"sid", None},
	}
}

func seedLabels() []string {
	return []string{"bug", "regression", "blocked", "docs", "good first issue", "needs-triage", "security",
		"area/ui", "area/api", "area/build", "priority/high", "priority/low"}
}

// cast brings in the accounts, the repository and its catalogue.
func (s *seeder) cast() {
	add := func(u User) { _, err := s.AddUser(u); s.must(err) }
	add(User{Login: "acme", FullName: "Acme", Org: true})
	add(User{Login: "agent", FullName: "The engine's account", Bot: true})
	add(User{Login: "agent-rw", FullName: "An account without administration", Bot: true})
	_, err := s.AddRepo(SeedRepo, false)
	s.must(err)
	for _, r := range seedRoles() {
		add(User{Login: r.login})
		s.must(s.SetRole(SeedRepo, r.login, r.role))
	}
	s.must(s.SetRole(SeedRepo, "agent", Admin))
	s.must(s.SetRole(SeedRepo, "agent-rw", Write))
	s.must(s.AddToken(AdminToken, "agent"))
	s.must(s.AddToken(WriteToken, "agent-rw"))
	s.must(s.AddToken(StrangerToken, "sid"))
	for _, l := range seedLabels() {
		_, err := s.AddLabel(SeedRepo, l, "", false)
		s.must(err)
	}
	for i := range 4 {
		_, err := s.AddMilestone(SeedRepo, fmt.Sprintf("1.%d", i), time.Time{})
		s.must(err)
	}
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// who is somebody; insiders are the busier ones.
func (s *seeder) who() string {
	roles := seedRoles()
	if s.rnd.IntN(10) < 6 {
		roles = roles[:6]
	}
	return pick(s.rnd, roles).login
}

func (s *seeder) open() {
	things := []string{"export", "login page", "search box", "build cache", "API client", "config loader", "report", "webhook"}
	faults := []string{"fails on empty input", "is slow", "loses settings", "shows the wrong date", "crashes on start", "ignores the proxy"}
	title := pick(s.rnd, things) + " " + pick(s.rnd, faults)
	n := NewEntity{Repo: SeedRepo, Title: title, Body: "Seen with version 1." + itoa(int64(s.rnd.IntN(9))) + "."}
	if s.rnd.IntN(3) == 0 {
		n.Kind, n.Title, n.Draft = ChangeProposal, "Fix: "+title, s.rnd.IntN(5) == 0
	}
	if s.rnd.IntN(3) == 0 {
		n.Labels = []string{pick(s.rnd, seedLabels())}
	}
	ref, err := s.Create(s.who(), n)
	s.must(err)
	s.refs = append(s.refs, ref)
}

// happen lets something happen to one of the newer entities, sometimes to an old one.
func (s *seeder) happen() {
	recent := s.refs[max(0, len(s.refs)-60):]
	if s.rnd.IntN(8) == 0 {
		recent = s.refs
	}
	ref, who := pick(s.rnd, recent), s.who()
	switch s.rnd.IntN(12) {
	case 0, 1, 2:
		s.must(s.Label(ref, who, pick(s.rnd, seedLabels())))
	case 3:
		s.must(s.Unlabel(ref, who, pick(s.rnd, seedLabels())))
	case 4, 5, 6:
		body := pick(s.rnd, []string{"I see this too.", "/fs-fix", "Works for me.", "/fs-triage please", "Any news?"})
		_, err := s.Comment(ref, who, body, "")
		s.must(err)
	case 7:
		s.must(s.Assign(ref, who, s.who()))
	case 8:
		s.must(s.SetMilestone(ref, who, fmt.Sprintf("1.%d", s.rnd.IntN(4))))
	case 9, 10:
		s.finish(ref, who)
	case 11:
		s.discuss(ref, who)
	}
}

func (s *seeder) finish(ref, who string) {
	e, err := s.Entity(ref)
	s.must(err)
	switch {
	case e.Closed && !e.Merged && s.rnd.IntN(3) == 0:
		s.must(s.Reopen(ref, who))
	case e.Closed:
	case e.Kind == ChangeProposal && s.rnd.IntN(2) == 0:
		s.must(s.Merge(ref, who))
	default:
		s.must(s.Close(ref, who))
	}
}

func (s *seeder) discuss(ref, who string) {
	e, err := s.Entity(ref)
	s.must(err)
	if e.Kind == WorkItem {
		body := e.Body + "\n\nMore: see the log."
		s.must(s.Edit(ref, who, Edit{Body: &body}))
		return
	}
	s.must(s.Review(ref, who, pick(s.rnd, []ReviewState{Approved, ChangesRequested, Commented}), "Looked at it."))
	s.must(s.ReportStatus(SeedRepo, e.HeadSHA, "olga", Status{Context: "ci/test", State: pick(s.rnd, []string{"success", "failure", "pending"})}))
}
