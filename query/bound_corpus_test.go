package query_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
)

func TestBoundCorpus(t *testing.T) {
	eachCorpusCase(t, "testdata/v1/bound-*.txt", func(t *testing.T, lines []string) []string {
		c := &boundCase{claims: map[string]query.Strength{}, sweep: time.Hour}
		for _, line := range lines {
			require.NoError(t, c.apply(t, line), line)
		}
		return c.run()
	})
}

type boundCase struct {
	cat     *query.Catalogue
	self    string
	now     time.Time
	sweep   time.Duration
	most    int
	claims  map[string]query.Strength
	sources []query.Source
}

func (c *boundCase) apply(t *testing.T, line string) (err error) {
	words := strings.Fields(line)
	switch words[0] {
	case "on":
		c.cat = query.NewCatalogue(words[1], query.Kind(words[2]), nil)
	case "self":
		c.self = words[1]
	case "now":
		c.now, err = time.Parse(time.RFC3339, words[1])
	case "sweep":
		c.sweep, err = time.ParseDuration(words[1])
	case "fits":
		c.most, err = strconv.Atoi(words[1])
	case "exact", "superset":
		for _, w := range words[1:] {
			c.claims[w] = map[string]query.Strength{"exact": query.Exact, "superset": query.Superset}[words[0]]
		}
	case "source":
		b := bindText(t, strings.Join(words[2:], " "), c.cat, c.self)
		c.sources = append(c.sources, query.Source{ID: words[1], Query: b})
	default:
		err = fmt.Errorf("unknown directive %q", words[0])
	}
	return err
}

var opNamesOfClaims = [...]string{"in", "lt", "le", "gt", "ge", "contains", "starts", "empty"}

// Filter looks the leaf up as [-]FIELD[.MEMBER][:OP].
func (c *boundCase) Filter(l query.Leaf, _ query.WalkKind) query.Strength {
	field, _ := c.cat.ByID(l.Field)
	spec := field.Name
	for _, m := range field.Members {
		if m.ID == l.Member {
			spec += "." + m.Name
		}
	}
	if !l.Positive {
		spec = "-" + spec
	}
	return max(c.claims[spec], c.claims[spec+":"+opNamesOfClaims[l.Op]])
}

func (c *boundCase) fits(s *query.Search) error {
	n := 0
	for l := range s.Leaves {
		n += max(1, len(l.Values))
	}
	if c.most > 0 && n > c.most {
		return fmt.Errorf("more than %d values", c.most)
	}
	return nil
}

func (c *boundCase) run() []string {
	search, owed := query.Upper(c.sources, c, query.Sweep, c.now, c.sweep, c.fits)
	lines := []string{"search " + search.String()}
	for _, w := range owed {
		lines = append(lines, fmt.Sprintf("owes %s {%s} %s", w.Source, w.Leaf.Text, w.Why))
	}
	return lines
}
