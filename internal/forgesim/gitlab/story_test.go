package gitlab_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/fullsend-ai/discovery/internal/forgesim"
	"github.com/fullsend-ai/discovery/internal/forgesim/gitlab"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A story is a script of the world with requests in between, and what the server answers: what a
// reader of the servers' source or of a measurement can check line by line.
//
//	quirks {"NoKeyset":true}                (switches, any time)
//	label on=1 as=olga label=bug            (a verb)
//	> GET sim-admin projects/a%2Fw/issues?state=all | iid labels
//	    200 total=1                         (the answer: status, headers, one line per row)
//	    1 [bug]
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			src, err := os.ReadFile(file)
			require.NoError(t, err)
			got := tell(t, string(src))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(src), got)
		})
	}
}

// tell runs a story and returns it with the answers that came.
func tell(t *testing.T, src string) string {
	var out strings.Builder
	w := forgesim.New(forgesim.Options{Profile: forgesim.GitLab()})
	face := gitlab.New(w, gitlab.Options{})
	client := &http.Client{
		Transport:     forgesim.Transport(face),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(src, "\n"), "\n") {
		if q, ok := strings.CutPrefix(line, "quirks "); ok {
			fmt.Fprintln(&out, line)
			face.Switch(func(k *gitlab.Quirks) { require.NoError(t, json.Unmarshal([]byte(q), k), line) })
			continue
		}
		if req, ok := strings.CutPrefix(line, "> "); ok {
			answer := strings.TrimSuffix(ask(t, client, req), "\n")
			fmt.Fprintf(&out, "%s\n    %s\n", line, strings.ReplaceAll(answer, "\n", "\n    "))
			continue
		}
		if strings.HasPrefix(line, "    ") {
			continue // the old answer
		}
		require.NoError(t, w.Run(context.Background(), strings.NewReader(line)), line)
		fmt.Fprintln(&out, line)
	}
	require.NoError(t, w.HookErr())
	return out.String()
}

// ask makes one request, "METHOD TOKEN PATH [BODY] | FIELDS", and prints the answer.
func ask(t *testing.T, client *http.Client, line string) string {
	line, fields, _ := strings.Cut(line, " | ")
	parts := strings.SplitN(line, " ", 4)
	var body io.Reader
	if len(parts) == 4 {
		body = strings.NewReader(parts[3])
	}
	req, err := http.NewRequest(parts[0], "http://git.example/api/v4/"+parts[2], body)
	require.NoError(t, err)
	if parts[1] != "-" {
		req.Header.Set("Authorization", "Bearer "+parts[1])
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Sprintf("error: %v\n", err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	head := fmt.Sprint(resp.StatusCode)
	for _, name := range []string{"X-Page", "X-Next-Page", "X-Total", "RateLimit-Remaining", "Retry-After"} {
		if v := resp.Header.Get(name); v != "" {
			head += " " + strings.ToLower(strings.TrimPrefix(name, "X-")) + "=" + v
		}
	}
	if err != nil {
		return fmt.Sprintf("%s\n%d bytes, then %v\n", head, len(b), err)
	}
	return head + "\n" + show(b, strings.Fields(fields)) + links(resp.Header)
}

// links is the address of the next page, or of where a redirect leads.
func links(h http.Header) string {
	for link := range strings.SplitSeq(h.Get("Link"), ", ") {
		if strings.HasSuffix(link, `rel="next"`) {
			return link + "\n"
		}
	}
	if to := h.Get("Location"); to != "" {
		return "to " + to + "\n"
	}
	return ""
}

// show prints the fields of each row, or the body when it is no JSON or no fields are named.
func show(body []byte, fields []string) string {
	var v any
	if len(fields) == 0 || json.Unmarshal(body, &v) != nil {
		return strings.TrimRight(string(body), "\n") + nl(len(body) > 0)
	}
	rows, ok := v.([]any)
	if !ok {
		rows = []any{v}
	}
	var out strings.Builder
	for _, r := range rows {
		var cells []string
		for _, f := range fields {
			cells = append(cells, cell(r, strings.Split(f, ".")))
		}
		fmt.Fprintln(&out, strings.Join(cells, " "))
	}
	return out.String()
}

func nl(yes bool) string {
	if yes {
		return "\n"
	}
	return ""
}

func cell(v any, path []string) string {
	switch x := v.(type) {
	case []any:
		var cells []string
		for _, e := range x {
			cells = append(cells, cell(e, path))
		}
		return "[" + strings.Join(cells, ",") + "]"
	case map[string]any:
		if len(path) > 0 {
			e, ok := x[path[0]]
			if !ok {
				return "absent"
			}
			return cell(e, path[1:])
		}
	case string:
		return strings.ReplaceAll(x, "\n", "\\n")
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
