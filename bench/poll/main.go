package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	bin := flag.String("bin", "../bin/fullsend", "the binary that polls")
	entities := flag.Int("entities", 100_000, "entities of the large scope")
	matches := flag.Int("matches", 20_000, "entities that match, whatever the number of harnesses")
	scopes := flag.Int("scopes", 1_000, "idle scopes")
	cycles := flag.Int("cycles", 100, "cycles over the idle scopes")
	only := flag.Int("harnesses", 0, "the one number of harnesses over the large scope (0: 1, 100 and 10000)")
	out := flag.String("json", "", "file to write the measurements to")
	server := flag.Bool("serve", false, "be the simulated forge")
	flag.Parse()
	err := func() error {
		if *server {
			w, err := large(*entities, *matches)
			if err != nil {
				return err
			}
			return serve(w)
		}
		return run(os.Stdout, *bin, *entities, *matches, *only, *scopes, *cycles, *out)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "poll:", err)
		os.Exit(1)
	}
}

// whole is one process that polls the large scope once.
type whole struct {
	Harnesses int     `json:"harnesses"`
	CPU       float64 `json:"cpu_s"` // of the polling process, user and system
	Wall      float64 `json:"wall_s"`
	PeakMB    float64 `json:"peak_mb"`
	Scanned   int     `json:"scanned"`
	Matched   int     `json:"matched"`
	Evaluated int     `json:"evaluated"`
	Searches  int     `json:"search_requests"`
}

type report struct {
	Go       string  `json:"go"`
	Cores    int     `json:"cores"`
	Entities int     `json:"entities"`
	Whole    []whole `json:"whole"`
	Idle     *idle   `json:"idle,omitempty"`
}

func run(w io.Writer, bin string, entities, matches, only, scopes, cycles int, out string) error {
	rep := report{Go: runtime.Version(), Cores: runtime.NumCPU(), Entities: entities}
	if entities > 0 {
		if err := measureLarge(w, &rep, bin, entities, matches, only); err != nil {
			return err
		}
	}
	if scopes > 0 {
		i, err := measureIdle(w, scopes, cycles)
		if err != nil {
			return err
		}
		rep.Idle = i
	}
	b, err := json.Marshal(rep)
	if err != nil {
		return err
	}
	if out != "" {
		if err := os.WriteFile(out, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

func measureLarge(w io.Writer, rep *report, bin string, entities, matches, only int) error {
	url, stop, err := forge(entities, matches)
	if err != nil {
		return err
	}
	defer stop()
	fmt.Fprintf(w, "one scope, %d entities\n%9s %8s %8s %8s %8s %8s %10s %8s\n", entities,
		"harnesses", "cpu s", "wall s", "peak MB", "scanned", "matched", "evaluated", "searches")
	for _, n := range []int{1, people, milestones} {
		if only != 0 && n != only {
			continue
		}
		m, err := poll(bin, url, n)
		if err != nil {
			return fmt.Errorf("%d harnesses: %w", n, err)
		}
		rep.Whole = append(rep.Whole, m)
		fmt.Fprintf(w, "%9d %8.1f %8.1f %8.0f %8d %8d %10d %8d\n",
			m.Harnesses, m.CPU, m.Wall, m.PeakMB, m.Scanned, m.Matched, m.Evaluated, m.Searches)
	}
	return nil
}

// forge starts this program as the simulated forge, so that its memory and time are its own.
func forge(entities, matches int) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(self, "-serve", "-entities", strconv.Itoa(entities), "-matches", strconv.Itoa(matches))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { cmd.Process.Kill(); cmd.Wait() }
	line, err := bufio.NewReader(pipe).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the simulated forge did not start: %w", err)
	}
	return strings.TrimSpace(line), stop, nil
}

// poll runs one cycle of the binary in a fresh folder.
func poll(bin, url string, harnesses int) (whole, error) {
	dir, err := os.MkdirTemp("", "poll-bench-")
	if err != nil {
		return whole{}, err
	}
	defer os.RemoveAll(dir)
	if err := folder(filepath.Join(dir, ".fullsend"), url, 1, harnesses, share(harnesses)); err != nil {
		return whole{}, err
	}
	var log bytes.Buffer
	cmd := exec.Command(bin, "poll", "--fullsend-dir", filepath.Join(dir, ".fullsend"), "--state", filepath.Join(dir, "ledger.db"),
		"--out", filepath.Join(dir, "records.jsonl"))
	cmd.Stdout, cmd.Stderr = io.Discard, &log
	cmd.Env = append(os.Environ(), "TOKEN=sim-admin", "NO_COLOR=1")
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return whole{}, fmt.Errorf("%w\n%s", err, tail(log.String()))
	}
	m := whole{Harnesses: harnesses, Wall: time.Since(start).Seconds(), CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		m.PeakMB = float64(u.Maxrss) / 1024
	}
	for name, to := range map[string]*int{"scanned": &m.Scanned, "matched": &m.Matched, "evaluated": &m.Evaluated, "search_requests": &m.Searches} {
		*to = number(log.String(), name)
	}
	return m, nil
}

func tail(s string) string { return s[max(0, len(s)-2000):] }

// number reads an attribute of the summary line.
func number(log, name string) int {
	found := regexp.MustCompile(`\b` + name + `=(\d+)`).FindStringSubmatch(log)
	if found == nil {
		return -1
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		return -1
	}
	return n
}
