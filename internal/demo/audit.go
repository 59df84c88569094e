package demo

import (
	"fmt"
	"sort"
	"strings"

	"github.com/fullsend-ai/discovery/internal/dispatch"
	"github.com/fullsend-ai/discovery/internal/forgesim"
)

// audit evaluates the examples independently, cycle by cycle: a pair is due when it enters the match, or when what makes
// it match is another thing than last time.
type audit struct {
	world *forgesim.World
	in    map[string]bool
	known map[string]map[string]bool // by pair: everything that it was asked for since it entered
}

func newAudit(w *forgesim.World) *audit {
	return &audit{world: w, in: map[string]bool{}, known: map[string]map[string]bool{}}
}

// difference is what one cycle should have sent and did send.
type difference struct {
	expected, sent int
	missed, twice  []string
	byHarness      map[string][]string // what was sent, for the table
}

func (a *audit) compare(got []dispatch.Record) difference {
	want := a.due()
	d := difference{expected: len(want), sent: len(got), byHarness: map[string][]string{}}
	for _, r := range got {
		p := pair(r.Harness, r.Entity.Key)
		d.byHarness[r.Harness] = append(d.byHarness[r.Harness], r.Entity.Key)
		if !want[p] {
			d.twice = append(d.twice, p)
		}
		delete(want, p)
	}
	for p := range want {
		d.missed = append(d.missed, p)
	}
	sort.Strings(d.missed)
	return d
}

func pair(harness, key string) string { return harness + " " + key }

// due walks the whole world.
func (a *audit) due() map[string]bool {
	entities, err := a.world.Entities(forgesim.SeedRepo)
	if err != nil {
		panic(fmt.Sprintf("the seeded repository is gone: %v", err))
	}
	want, now := map[string]bool{}, a.world.Now()
	for _, x := range expectations() {
		for i := range entities {
			e := &entities[i]
			if e.Kind != x.kind {
				continue
			}
			p := pair(x.harness, fmt.Sprintf("%s#%d", e.Repo.FullName(), e.Number))
			if !x.match(e, now) {
				a.in[p] = false
				continue
			}
			if !a.in[p] {
				a.known[p] = map[string]bool{}
			}
			a.in[p] = true
			if why := because(x.harness, e); !a.known[p][why] {
				a.known[p][why] = true
				want[p] = true
			}
		}
	}
	return want
}

// because names what makes an entity match, as far as it can change while the entity stays a match.
func because(harness string, e *forgesim.Entity) string {
	var parts []string
	switch harness {
	case "fix":
		for _, c := range e.Comments {
			if strings.HasPrefix(c.Body, "/fs-fix") && counts(c.Author) {
				parts = append(parts, fmt.Sprint(c.ID, c.Edited.Unix()))
			}
		}
	case "code", "security":
		for _, l := range e.Labels {
			wanted := l.Name == "security" && harness == "security" || harness == "code" && (l.Name == "bug" || l.Name == "regression")
			if wanted && counts(l.By) {
				parts = append(parts, fmt.Sprint(l.ID, l.By.ID, l.At.Unix()))
			}
		}
	case "retro":
		parts = append(parts, fmt.Sprint(e.ClosedAt.Unix()))
	}
	return strings.Join(parts, " ")
}
