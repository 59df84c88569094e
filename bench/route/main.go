package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/router"
	"github.com/fullsend-ai/discovery/router/workload"
)

// entities is how many records there are; slow engines see the first of them alone.
const entities = 10_000

func main() {
	reps := flag.Int("reps", 5, "repetitions of each measurement, after one to warm up")
	out := flag.String("json", "", "file to write every measurement to")
	only := flag.String("only", "", "the one engine to run")
	flag.Parse()
	if err := run(os.Stdout, *reps, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "route:", err)
		os.Exit(1)
	}
}

// cell is one measurement: nanoseconds of processor time of the whole process per entity, garbage collection included.
type cell struct {
	Engine   string  `json:"engine"`
	Rules    int     `json:"rules"`
	Entities int     `json:"entities"`
	Median   float64 `json:"median_ns"`
	Least    float64 `json:"least_ns"`
	Most     float64 `json:"most_ns"`
	Bytes    uint64  `json:"bytes"` // allocated per entity
	Matches  float64 `json:"matches"`
	Asked    float64 `json:"evaluated,omitempty"` // queries evaluated per entity, where the engine counts
}

// report is everything that a run measured.
type report struct {
	Go    string             `json:"go"`
	OS    string             `json:"os"`
	Arch  string             `json:"arch"`
	CPU   string             `json:"cpu"`
	Cores int                `json:"cores"`
	Deps  map[string]string  `json:"deps"`
	Cells []cell             `json:"cells"`
	Build map[string]float64 `json:"build"`
}

type contender struct {
	name  string
	make  func([]workload.Rule) (engine, error)
	limit map[int]int // entities by number of rules; absent: all
}

var contenders = []contender{
	{"ours", newOurs, nil},
	{"closures", newClosures, map[int]int{10_000: 5_000}},
	{"plain", newPlain, map[int]int{10: 10_000, 100: 2_000, 1_000: 200, 10_000: 20}},
	{"opa", newOPA, map[int]int{10: 1_000, 100: 500, 1_000: 150, 10_000: 50}},
	{"cel", newCEL, map[int]int{10: 5_000, 100: 500, 1_000: 50, 10_000: 10}},
}

func run(w io.Writer, reps int, out, only string) error {
	rep := report{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuName(), Cores: runtime.NumCPU(), Deps: deps()}
	fmt.Fprintf(w, "%s %s/%s, %s, %d cores; %d entities, %d labels; processor time per entity, median of %d\n",
		rep.Go, rep.OS, rep.Arch, rep.CPU, rep.Cores, entities, workload.Labels, reps)
	es := workload.Entities(entities, 7)
	records, err := makeRecords(es)
	if err != nil {
		return err
	}
	for _, n := range []int{10, 100, 1_000, 10_000} {
		rules := workload.Rules(n, workload.Labels, 11)
		fmt.Fprintf(w, "\n%d rules\n%s\n", n, heading)
		for _, c := range contenders {
			if only != "" && c.name != only {
				continue
			}
			m, err := c.measure(rules, records, reps)
			if err != nil {
				return fmt.Errorf("%s with %d rules: %w", c.name, n, err)
			}
			rep.Cells = append(rep.Cells, m)
			fmt.Fprintln(w, m)
		}
	}
	if only == "" || only == "ours" {
		if err := rest(w, &rep, records, reps); err != nil {
			return err
		}
	}
	if out != "" {
		b, err := json.MarshalIndent(rep, "", "\t")
		if err != nil {
			return err
		}
		if err := os.WriteFile(out, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return lastLine(w, rep.Cells)
}

const heading = "  engine              ns/entity       least        most  spread     B/entity   matches  evaluated   entities"

func (c cell) String() string {
	return fmt.Sprintf("  %-16s %12.0f %11.0f %11.0f %6.0f%% %12d %9.1f %10.1f %10d",
		c.Engine, c.Median, c.Least, c.Most, 100*(c.Most-c.Least)/c.Median, c.Bytes, c.Matches, c.Asked, c.Entities)
}

// measure checks an engine's answers against the plain truth and times them.
func (c contender) measure(rules []workload.Rule, records []record, reps int) (cell, error) {
	if n, ok := c.limit[len(rules)]; ok {
		records = records[:n]
	}
	wantN, wantSum := truth(rules, records)
	e, err := c.make(rules)
	if err != nil {
		return cell{}, err
	}
	m := cell{Engine: c.name, Rules: len(rules), Entities: len(records), Matches: float64(wantN) / float64(len(records))}
	err = m.time(reps, func() error {
		gotN, gotSum := 0, 0
		for i := range records {
			n, sum, err := e.route(&records[i])
			if err != nil {
				return err
			}
			gotN, gotSum = gotN+n, gotSum+sum
		}
		if gotN != wantN || gotSum != wantSum {
			return fmt.Errorf("%d matches (sum %d), want %d (%d)", gotN, gotSum, wantN, wantSum)
		}
		return nil
	})
	if o, ok := e.(*ours); ok {
		m.Asked = asked(o.router, records, o.views)
	}
	return m, err
}

func truth(rules []workload.Rule, records []record) (n, sum int) {
	for i := range records {
		for k, r := range rules {
			if r.Matches(records[i].entity) {
				n, sum = n+1, sum+k
			}
		}
	}
	return n, sum
}

// time runs f over all the cell's entities, once to warm up and reps times by the clock of the process.
func (c *cell) time(reps int, f func() error) error {
	var per []float64
	for i := range reps + 1 {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := cpu()
		if err := f(); err != nil {
			return err
		}
		took := cpu() - start
		runtime.ReadMemStats(&after)
		if i > 0 {
			per = append(per, float64(took)/float64(c.Entities))
			c.Bytes = (after.TotalAlloc - before.TotalAlloc) / uint64(c.Entities)
		}
	}
	slices.Sort(per)
	c.Median, c.Least, c.Most = per[len(per)/2], per[0], per[len(per)-1]
	return nil
}

func asked(r *router.Router, records []record, views []query.View) float64 {
	var a router.Answer
	n := 0
	for i := range records {
		r.Route(records[i].facts, views, workload.Now, &a)
		n += a.Evaluated
	}
	return float64(n) / float64(len(records))
}

// rest measures what only the router does: the mixed workload, more rules with the same matches, and building.
func rest(w io.Writer, rep *report, records []record, reps int) error {
	fmt.Fprintf(w, "\nthe router alone\n%s\n", heading)
	few := workload.Texts(workload.Rules(1_000, workload.Labels, 11))
	many := slices.Clone(few)
	for _, r := range workload.Rules(9_000, workload.Labels, 12) {
		many = append(many, fmt.Sprintf("v1: state = open and label in (%q, %q) and not label = %q",
			"team-"+workload.LabelName(r.A), "team-"+workload.LabelName(r.B), workload.LabelName(r.C)))
	}
	facts := make([]*query.Facts, len(records))
	for i := range records {
		facts[i] = records[i].facts
	}
	thin := make([]*query.Facts, len(records))
	for i := range records {
		thin[i] = records[i].entity.Facts()
	}
	workload.Thin(thin, 5)
	for _, x := range []struct {
		name  string
		texts []string
		facts []*query.Facts
	}{{"same matches", few, facts}, {"same matches", many, facts}, {"mixed", workload.Mixed(1_000, 3), thin}, {"mixed", workload.Mixed(10_000, 3), thin}} {
		m, err := alone(x.name, x.texts, x.facts, reps)
		if err != nil {
			return err
		}
		rep.Cells = append(rep.Cells, m)
		fmt.Fprintf(w, "%v   (%d rules)\n", m, m.Rules)
	}
	return building(w, rep)
}

func alone(name string, texts []string, facts []*query.Facts, reps int) (cell, error) {
	ss, err := workload.Sources(texts)
	if err != nil {
		return cell{}, err
	}
	m := cell{Engine: name, Rules: len(ss), Entities: len(facts)}
	r, vs := router.New(ss), []query.View{workload.Admit()}
	var a router.Answer
	matched, evaluated := 0, 0
	err = m.time(reps, func() error {
		matched, evaluated = 0, 0
		for _, f := range facts {
			r.Route(f, vs, workload.Now, &a)
			matched, evaluated = matched+len(a.Match), evaluated+a.Evaluated
		}
		return nil
	})
	m.Matches, m.Asked = float64(matched)/float64(len(facts)), float64(evaluated)/float64(len(facts))
	return m, err
}

// building measures the index of ten thousand mixed rules and its change by one.
func building(w io.Writer, rep *report) error {
	ss, err := workload.Sources(workload.Mixed(10_000, 3))
	if err != nil {
		return err
	}
	other, err := workload.Sources([]string{`v1: label = "entirely new"`})
	if err != nil {
		return err
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpu()
	r := router.New(ss)
	took := cpu() - start
	runtime.GC()
	runtime.ReadMemStats(&after)
	var rebuilt []float64
	for i := range 11 {
		changed := slices.Clone(ss)
		changed[i*700] = other[0]
		start := cpu()
		r.With(changed)
		rebuilt = append(rebuilt, float64(cpu()-start)/1e6)
	}
	slices.Sort(rebuilt)
	rep.Build = map[string]float64{
		"build_ms": float64(took) / 1e6, "rebuild_ms": rebuilt[len(rebuilt)/2],
		"kept_mb": float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / 1e6, "allocated_mb": float64(after.TotalAlloc-before.TotalAlloc) / 1e6,
	}
	runtime.KeepAlive(r)
	fmt.Fprintf(w, "\n10000 mixed rules: built in %.0f ms, %.1f MB kept, %.1f MB allocated; rebuilt for one change in %.1f ms\n",
		rep.Build["build_ms"], rep.Build["kept_mb"], rep.Build["allocated_mb"], rep.Build["rebuild_ms"])
	return nil
}

func lastLine(w io.Writer, cells []cell) error {
	line := struct {
		Rules    int     `json:"rules"`
		Ours     float64 `json:"ours_ns"`
		Closures float64 `json:"closures_ns"`
		OPA      float64 `json:"opa_ns"`
		CEL      float64 `json:"cel_ns"`
	}{Rules: 10_000}
	at := map[string]*float64{"ours": &line.Ours, "closures": &line.Closures, "opa": &line.OPA, "cel": &line.CEL}
	for _, c := range cells {
		if p := at[c.Engine]; p != nil && c.Rules == line.Rules {
			*p = float64(int64(c.Median))
		}
	}
	return json.NewEncoder(w).Encode(line)
}

// cpu is the processor time of all threads of the process: other work on the machine disturbs it less than it does a
// clock on the wall.
func cpu() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return time.Now().UnixNano()
	}
	return ts.Nano()
}

func deps() map[string]string {
	out := map[string]string{}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/google/cel-go", "github.com/open-policy-agent/opa":
			out[d.Path] = d.Version
		}
	}
	return out
}
