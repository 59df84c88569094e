package chaos

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	face "github.com/fullsend-ai/discovery/internal/forgesim/forgejo"
)

// SPEC CO-9 CO-18 CO-20 CO-26 CO-39: see testdata/scenarios*.txt.
func TestScenarios(t *testing.T) {
	b, err := NewBench()
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/scenarios*.txt")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		_, rest, _ := strings.Cut(string(text), "\n== ")
		for _, story := range strings.Split(rest, "\n== ") {
			title, steps, _ := strings.Cut(story, "\n")
			for _, kind := range []forgesim.Kind{forgesim.WorkItem, forgesim.ChangeProposal} {
				t.Run(fmt.Sprintf("%s %s", kind, title), func(t *testing.T) {
					var log bytes.Buffer
					if err := Play(b, scenario(t, steps, kind), Rules{}, &log); err != nil {
						t.Fatalf("%v\n%s", err, &log)
					}
				})
			}
		}
	}
}

// scenario makes a story of its lines, with one kind of entity.
func scenario(t *testing.T, steps string, kind forgesim.Kind) *Story {
	queries := map[string]rule{
		"bug": label("bug"), "go": commanded("/go", ""), "open": state("open"), "bug-or-go": some{label("bug"), label("go")},
	}
	f, flavour := family{}, face.Gitea127
	var out strings.Builder
	repeat := regexp.MustCompile(`^(\d+) (things|bugs|labels on (\d+))$`)
	for line := range strings.Lines(steps) {
		line = strings.TrimSpace(line)
		word, arg, _ := strings.Cut(line, " ")
		switch m := repeat.FindStringSubmatch(line); {
		case word == "rule" || word == "wider":
			require.Contains(t, queries, arg)
			f.rules = append(f.rules, queries[arg])
			if word == "rule" {
				out.WriteString("plan a:0\n")
			}
		case word == "flavour":
			flavour = face.Flavour(arg)
		case m != nil:
			out.WriteString(several(m[1], m[2], m[3]))
		default:
			out.WriteString(line + "\n")
		}
	}
	f.script = out.String()
	if kind == forgesim.ChangeProposal {
		f.script = strings.ReplaceAll(f.script, "create as=wes", "create as=wes kind=change_proposal")
	}
	st := f.story()
	st.Setting.Flavour = flavour
	return st
}

func several(count, what, on string) string {
	var n int
	fmt.Sscan(count, &n) //nolint:errcheck // digits, by the pattern
	switch what {
	case "things":
		return strings.Repeat("create as=wes title=thing\n", n)
	case "bugs":
		return strings.Repeat("create as=wes title=thing labels=bug\nadvance by=20s\n", n)
	}
	return strings.Repeat(fmt.Sprintf("label on=%s as=wes label=docs\nunlabel on=%s as=wes label=docs\n", on, on), n)
}
