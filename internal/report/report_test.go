package report_test

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/coverage"
	"github.com/fullsend-ai/discovery/internal/report"
	"github.com/fullsend-ai/discovery/scope"
)

var t0 = time.Date(2026, 3, 21, 12, 0, 0, 0, time.UTC)

func at(h float64) time.Time { return t0.Add(time.Duration(h * float64(time.Hour))) }

const nasty = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\u202egnp\x1b[31m\"'`"

// full is a page with everything on it.
func full() *report.Page {
	p := &report.Page{Version: "v1.2.3", Holder: &report.Holder{PID: 4711, Mode: "watch", Started: at(-20), Problem: nasty}}
	p.At, p.Schema, p.Size = at(0), 1, 5<<20
	p.Cycles = []coverage.Cycle{{Driver: "code", Began: at(-0.1), Ended: at(-0.09), Complete: at(-3), Fails: 2, NotBefore: at(0.2)}}
	p.Drivers = []report.Driver{{Name: "code", Every: time.Minute, Next: at(0.2)}, {Name: "slow", Every: time.Hour, Running: at(-0.2)}}
	p.Outbox = coverage.OutboxSnapshot{Ready: 11, Waiting: 12, Claimed: 13, Lost: 14, Held: 15, Dead: 16, Oldest: at(-30), Letters: []coverage.Letter{{
		Source: "fix", Tries: 9, NotBefore: at(10), Why: nasty,
		Ref: scope.Ref{Identity: scope.Identity{Provider: "forgejo", Tenant: "git.example", Kind: "work_item", ID: "7"}, Key: "acme/widgets#7" + nasty, URL: "javascript:alert(1)"},
	}}}
	for i, kind := range []string{"work_item", "change_proposal"} {
		s := coverage.ScopeSnapshot{
			Scope: scope.Scope{Provider: "forgejo", Tenant: "git.example", Container: "17", Kind: scope.Identity{Kind: "work_item"}.Kind, Account: "5"},
			Plan:  "abc", Entities: 4321 + i, Members: 210 + i, Gone: 3, Actors: 12,
			Sources: []coverage.SourceSnapshot{{ID: "a"}, {ID: "b", Retired: at(-3)}},
		}
		s.Scope.Account = kind
		s.Walks = []coverage.WalkSnapshot{
			{Name: "issues", Active: true, Frontier: at(-0.1), Provisional: at(-0.5), Lag: 24 * time.Minute, Declared: 5 * time.Second, Widened: true,
				Covered: []coverage.Range{{From: at(-24), To: at(-12), Scans: 700}, {From: at(-9), To: at(-0.1), Scans: 400}},
				Gaps:    []coverage.GapSnapshot{{From: at(-12), To: at(-9), Why: nasty, Since: at(-9), Tries: 4, Next: at(1)}}},
			{Name: "comments", Active: true, Frontier: at(-0.1), Provisional: at(-0.1), Covered: []coverage.Range{{From: at(-24), To: at(-0.1)}},
				Reading: &coverage.Reading{Started: at(-0.05), Pages: 2, Entities: 100}, Fails: 3, Why: "502"},
			{Name: "old", Frontier: at(-20), Provisional: at(-20)},
		}
		s.Sweeps = []coverage.SweepSnapshot{{Name: "all", Active: true, Turn: 3, LastStart: at(-7), LastEnd: at(-6), Owed: 2,
			Turns:   []coverage.TurnInfo{{Turn: 1, Start: at(-23), End: at(-22)}, {Turn: 2, Start: at(-15), End: at(-14), Short: "a row was null"}, {Turn: 3, Start: at(-7), End: at(-6)}},
			Reading: &coverage.Reading{Started: at(-1), Pages: 20, Entities: 1000},
			Audit:   coverage.Audit{Missed: 6, Late: 3, Unnoticed: 2, Unexplained: 1, Recent: []coverage.Miss{{Key: nasty, Class: "late", Walk: "issues", Updated: at(-8), Found: at(-6), Turn: 3}}},
		}}
		s.Agenda = []coverage.AgendaSnapshot{{Why: "undecided", Count: 40, Due: 4, Oldest: at(-50), Next: at(0)}, {Why: "due", Count: 400, Oldest: at(-1), Next: at(5)}}
		p.Scopes = append(p.Scopes, s)
	}
	p.Scopes[1].Alarm = &coverage.Alarm{Why: nasty, Since: at(-2), Last: at(0)}
	return p
}

func render(t testing.TB, p *report.Page) string {
	var b bytes.Buffer
	require.NoError(t, report.Write(&b, p))
	return b.String()
}

// SPEC PO-14: what a provider sent is text, and the page asks nobody for anything.
func TestPageIsSelfContainedAndEscaped(t *testing.T) {
	text := render(t, full())
	tags := map[string]int{}
	for _, m := range tag.FindAllStringSubmatch(text, -1) {
		tags[m[1]]++
		for _, a := range attribute.FindAllStringSubmatch(m[2], -1) {
			assert.NotContains(t, []string{"src", "href", "action", "onerror", "onload"}, a[1], m[0])
		}
	}
	assert.Equal(t, 2, tags["svg"])
	assert.Zero(t, tags["script"]+tags["img"]+tags["link"]+tags["iframe"]+tags["a"])
	assert.NotContains(t, text, "\x1b")
	assert.NotContains(t, text, "\u202e")
	assert.Contains(t, text, "&lt;script&gt;")
}

var (
	tag       = regexp.MustCompile(`<([a-zA-Z]+)((?:[^<>"]|"[^"]*")*)>`)
	attribute = regexp.MustCompile(`([a-zA-Z-]+)="`)
)

func TestEmptyLedger(t *testing.T) {
	p := &report.Page{}
	p.At = t0
	assert.Contains(t, render(t, p), "No scope was polled yet")
}

// A ledger that was left alone for a year, or whose provider's clock is elsewhere, is drawn up to what it knows.
func TestOldLedger(t *testing.T) {
	p := full()
	p.At = at(9000)
	text := render(t, p)
	assert.Contains(t, text, "Nothing was read for long")
	assert.Contains(t, text, `class="bar gap"`)
}

var barRect = regexp.MustCompile(`<rect class="bar (\w+)" x="([0-9.e+]+)" y="\d+" width="([0-9.e+]+)"`)

// What is drawn says what is stored: 24 hours are 900 pixels wide.
func TestTimelineIsToScale(t *testing.T) {
	p := full()
	p.Scopes = p.Scopes[:1]
	var got []string
	for _, m := range barRect.FindAllStringSubmatch(render(t, p), -1) {
		var x, w float64
		fmt.Sscan(m[2], &x)
		fmt.Sscan(m[3], &w)
		got = append(got, fmt.Sprintf("%s %.1f+%.1f", m[1], (x-150)/900*24-24, w/900*24))
	}
	assert.Equal(t, []string{
		"covered -24.0+12.0", "covered -9.0+8.5", "provisional -0.5+0.4", "gap -12.0+3.0",
		"covered -24.0+23.9", "reading -0.1+0.1",
		"turn -23.0+1.0", "short -15.0+1.0", "turn -7.0+1.0", "reading -1.0+1.0",
	}, got)
}

// measure runs in the page: what a person would see, as the browser has laid it out.
const measure = `<script>
const out = [];
for (const e of document.querySelectorAll('rect.bar')) {
  const r = e.getBoundingClientRect(), c = getComputedStyle(e).fill;
  out.push([e.classList[1], Math.round(r.width), Math.round(r.height), c].join(' '));
}
for (const e of document.querySelectorAll('[data-outbox],[data-count]')) {
  const r = e.getBoundingClientRect();
  out.push((e.dataset.outbox || e.dataset.count) + '=' + e.textContent + (r.width > 0 && r.height > 0 ? '' : ' hidden'));
}
out.push('title=' + document.title, 'wide=' + (document.documentElement.scrollWidth > innerWidth));
const pre = document.createElement('pre'); pre.id = 'measured'; pre.textContent = out.join('\n'); document.body.append(pre);
</script>`

// SPEC PO-14: a real browser lays the page out, runs nothing of it, and shows the numbers.
func TestInABrowser(t *testing.T) {
	browser := chromium(t)
	p := full()
	p.Scopes = p.Scopes[:1]
	text := render(t, p)
	dir := t.TempDir()
	plain := filepath.Join(dir, "status.html")
	require.NoError(t, os.WriteFile(plain, []byte(text), 0o600))
	// The policy forbids scripts; the copy that measures itself must do without it.
	csp := regexp.MustCompile(`<meta http-equiv[^>]*>`)
	require.Regexp(t, csp, text)
	probe := filepath.Join(dir, "probe.html")
	require.NoError(t, os.WriteFile(probe, []byte(strings.Replace(csp.ReplaceAllString(text, ""), "</body>", measure+"</body>", 1)), 0o600))

	dom := browse(t, browser, dir, "--dump-dom", "file://"+probe)
	found := regexp.MustCompile(`(?s)<pre id="measured">(.*?)</pre>`).FindStringSubmatch(dom)
	require.NotNil(t, found, dom)
	seen := html.UnescapeString(found[1])
	for _, want := range []string{"ready=11", "waiting=12", "claimed=13", "lost=14", "held=15", "dead=16", "entities=4321", "members=210",
		"gone=3", "actors=12", "sources=2", "covered 450 16 rgb(43, 138, 62)", "gap 113 16 rgb(209, 36, 47)", "short 38 16 rgb(191, 119, 0)",
		"title=fullsend: coverage at 2026-03-21 12:00:00Z", "wide=false"} {
		assert.Contains(t, strings.Split(seen, "\n"), want)
	}
	assert.NotContains(t, seen, "hidden")

	shot := filepath.Join(dir, "status.png")
	browse(t, browser, dir, "--screenshot="+shot, "file://"+plain)
	f, err := os.Open(shot)
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(f)
	require.NoError(t, err)
	// The picture holds the colours of ranges, gaps and incomplete turns in the area that they were given; the legend
	// and some text have them, too.
	area := map[[3]uint32]int{}
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			area[[3]uint32{r >> 8, g >> 8, b >> 8}]++
		}
	}
	assert.Greater(t, len(area), 50, "text is drawn")
	for colour, want := range map[[3]uint32]float64{{43, 138, 62}: (450 + 319 + 896 + 38 + 38) * 16, {209, 36, 47}: 113 * 16, {191, 119, 0}: 38 * 16} {
		got := float64(area[colour])
		assert.Greater(t, got, 0.95*want, "pixels of colour %v", colour)
		assert.Less(t, got, 2*want, "pixels of colour %v", colour)
	}
	if keep := os.Getenv("KEEP_SCREENSHOT"); keep != "" {
		b, err := os.ReadFile(shot)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(keep, b, 0o600))
	}
}

func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Skip("no Chromium here: on Debian, apt-get install chromium")
	return ""
}

func browse(t *testing.T, browser, dir string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser, append([]string{"--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
		"--disable-dev-shm-usage", "--no-first-run", "--blink-settings=preferredColorScheme=1", "--force-device-scale-factor=1",
		"--window-size=1200,1400", "--user-data-dir=" + filepath.Join(dir, "profile")}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	return out.String()
}
