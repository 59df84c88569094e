package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	route := flag.String("route", "results/route.json", "what route wrote")
	poll := flag.String("poll", "results/poll.json", "what poll wrote")
	out := flag.String("out", "../docs/plots", "folder of the plots")
	flag.Parse()
	if err := run(*route, *poll, *out); err != nil {
		fmt.Fprintln(os.Stderr, "plots:", err)
		os.Exit(1)
	}
}

// routes is what is drawn of the report of route.
type routes struct {
	CPU   string `json:"cpu"`
	Go    string `json:"go"`
	Cells []struct {
		Engine string  `json:"engine"`
		Rules  int     `json:"rules"`
		Median float64 `json:"median_ns"`
		Least  float64 `json:"least_ns"`
		Most   float64 `json:"most_ns"`
	} `json:"cells"`
}

// polls is what is drawn of the report of poll.
type polls struct {
	Whole []struct {
		Harnesses int     `json:"harnesses"`
		CPU       float64 `json:"cpu_s"`
		Peak      float64 `json:"peak_mb"`
	} `json:"whole"`
}

func run(route, poll, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var r routes
	if err := read(route, &r); err != nil {
		return err
	}
	lines := map[string]*line{}
	for _, c := range r.Cells {
		if lines[c.Engine] == nil {
			lines[c.Engine] = &line{name: c.Engine}
		}
		lines[c.Engine].points = append(lines[c.Engine].points, point{float64(c.Rules), c.Median / 1e3, c.Least / 1e3, c.Most / 1e3})
	}
	where := r.CPU + ", " + r.Go
	engines := chart{
		title: "Processor time per entity", under: "median and range; " + where, x: "rules", y: "µs",
		lines: pick(lines, "ours", "closures", "opa", "plain", "cel"),
	}
	alone := chart{
		title: "The router alone", under: "processor time per entity, median and range; " + where, x: "rules", y: "µs",
		lines: pick(lines, "ours", "same matches", "mixed"),
	}
	if err := errors.Join(engines.write(filepath.Join(out, "engines.svg")), alone.write(filepath.Join(out, "router.svg"))); err != nil {
		return err
	}
	var p polls
	if err := read(poll, &p); errors.Is(err, fs.ErrNotExist) {
		return nil // not measured
	} else if err != nil {
		return err
	}
	cpu, mem := line{name: "processor seconds"}, line{name: "peak MB"}
	for _, w := range p.Whole {
		cpu.points = append(cpu.points, exactly(w.Harnesses, w.CPU))
		mem.points = append(mem.points, exactly(w.Harnesses, w.Peak))
	}
	whole := chart{title: "fullsend poll, one scope of 100,000 entities", under: where, x: "harnesses", y: "", lines: []*line{&cpu, &mem}}
	return whole.write(filepath.Join(out, "poll.svg"))
}

func exactly(x int, y float64) point { return point{float64(x), y, y, y} }

func pick(from map[string]*line, names ...string) []*line {
	var out []*line
	for _, n := range names {
		if l := from[n]; l != nil {
			out = append(out, l)
		}
	}
	return out
}

func read(file string, into any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
