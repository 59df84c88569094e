package jira

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// Options of a face.
type Options struct {
	DataCenter bool
	CloudID    string         // "": 00000000-0000-4000-8000-000000000001
	Zone       *time.Location // of every account's profile; nil: UTC
	// CaseSensitive: labels in JQL are compared with case.
	CaseSensitive bool
	PageCap       int // rows of a page; 0: 100 with fields, 5,000 without; Data Center 1,000
	Quirks        Quirks
}

// Quirks are habits and failures that can be switched while the face runs.
type Quirks struct {
	// Warnings are added to every answer of search/jql (OAS searchWarning).
	Warnings []string
	// TokenRepeats gives the token that was asked with as the next one (mongodb/kingfisher#460).
	TokenRepeats bool
	// EmptyPages puts an empty page with a token before every page (salto-io/salto option_removal.ts).
	EmptyPages bool
	// NullToken writes nextPageToken: null on the last page; else the key is absent (JRACLOUD-92184).
	NullToken bool
	// NoIsLast leaves isLast out.
	NoIsLast bool
	// TokensExpire refuses every token with 400.
	TokensExpire bool
	// ShortWalk ends a walk after so many rows as if that were all (0: never).
	ShortWalk int
	// Omitted are issue keys that searches leave out.
	Omitted []string
	// Limit answers the next LimitCount requests with 429 and this RateLimit-Reason; RetryAfter and Reset go with it.
	Limit             string
	LimitCount        int
	RetryAfter, Reset string
	// NearLimit is sent on every good answer.
	NearLimit bool
	// ParseClosed refuses jql/parse.
	ParseClosed bool
	// MatchClosed refuses jql/match.
	MatchClosed bool
	// Broken is a field that comes with a value of the wrong shape.
	Broken string
	// MaxJQL refuses longer texts with 400 (0: none).
	MaxJQL int
	// EpochRefused refuses millisecond literals.
	EpochRefused bool
}

// Face answers Jira's REST API below /rest/api/{2,3,latest} and, on Cloud, below /ex/jira/{cloudId} too. It is safe for
// concurrent use.
type Face struct {
	w     *sim.World
	o     Options
	front http.Handler

	mu        sync.Mutex
	quirks    Quirks
	extra     map[int64]*extra // by entity id
	statuses  []Status
	types     []Named
	priority  []Named
	component []Named
	version   []Named
	fields    []Custom
	groups    []*group
	roles     map[string]string // extra role names of accounts: login -> role
	formerKey map[string]string // keys that projects had, upper case -> project id
	origin    map[int64]int64   // entity -> the entity that it was before a move
	gone      map[string]int64  // old issue key -> entity id
	archived  map[string]bool   // project keys
	asked     []string          // JQL texts as they came
}

// extra is what only Jira has of an entity.
type extra struct {
	set      map[string]string
	archived time.Time
	changes  []change
}

type change struct {
	id                   int
	at                   time.Time
	by                   sim.Actor
	field, from, to      string
	fromString, toString string
}

type group struct {
	id, name, role string
	members        []string // logins
	nested         []string // names
}

// New is the API, with the world's counters, faults and clock before it.
func New(w *sim.World, o Options) *Face {
	if o.CloudID == "" {
		o.CloudID = "00000000-0000-4000-8000-000000000001"
	}
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	f := &Face{w: w, o: o, quirks: o.Quirks, extra: map[int64]*extra{}, roles: map[string]string{}, formerKey: map[string]string{},
		origin: map[int64]int64{}, gone: map[string]int64{}, archived: map[string]bool{},
		statuses:  []Status{{"10100", "To Do", "new"}, {"10101", "In Progress", "indeterminate"}, {"10102", "Done", "done"}, {"10103", "In Review", "indeterminate"}},
		types:     []Named{{"10200", "Task"}, {"10201", "Bug"}, {"10202", "Story"}},
		priority:  []Named{{"1", "Highest"}, {"2", "High"}, {"3", "Medium"}, {"4", "Low"}},
		component: []Named{{"10300", "API"}, {"10301", "UI"}},
		version:   []Named{{"10400", "1.0"}, {"10401", "2.0"}},
		fields: []Custom{{ID: 10021, Name: "Team", Type: "select", Options: []Named{{"1", "core"}, {"2", "edge"}}}, {ID: 10022, Name: "Points", Type: "number"},
			{ID: 10023, Name: "Start", Type: "date"}, {ID: 10024, Name: "Heard", Type: "datetime"}, {ID: 10025, Name: "Note", Type: "string"}, {ID: 10026, Name: "Owner", Type: "user"}},
	}
	f.front = w.Front(f.classify, http.HandlerFunc(f.serve))
	return f
}

// Switch changes the quirks.
func (f *Face) Switch(c func(*Quirks)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c(&f.quirks)
}

// Asked are the JQL texts that were searched for, and forgets them.
func (f *Face) Asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.asked
	f.asked = nil
	return out
}

// ServeHTTP answers one request.
func (f *Face) ServeHTTP(rw http.ResponseWriter, r *http.Request) { f.front.ServeHTTP(rw, r) }

type route struct {
	method, pattern, name string
	class                 sim.Class
	cloud, dc             bool
	do                    func(*call)
}

func routes() []route {
	const g, p = http.MethodGet, http.MethodPost
	return []route{
		{g, "serverInfo", "server", sim.ClassServer, true, true, (*call).serverInfo},
		{g, "myself", "myself", sim.ClassIdentity, true, true, (*call).myself},
		{g, "mypermissions", "permissions", sim.ClassIdentity, true, true, (*call).permissions},
		{g, "project/{p}", "project", sim.ClassIdentity, true, true, (*call).project},
		{g, "project/{p}/statuses", "statuses", sim.ClassIdentity, true, true, (*call).projectStatuses},
		{g, "statuscategory", "statuscategory", sim.ClassIdentity, true, true, (*call).statusCategories},
		{g, "priority", "priority", sim.ClassIdentity, true, true, (*call).priorities},
		{g, "field", "field", sim.ClassIdentity, true, true, (*call).customFields},
		{p, "search/jql", "search", sim.ClassSearch, true, false, (*call).searchJQL},
		{p, "search", "search", sim.ClassSearch, false, true, (*call).searchOffset},
		{p, "search/approximate-count", "count", sim.ClassSearch, true, false, (*call).count},
		{p, "jql/parse", "jql.parse", sim.ClassIdentity, true, false, (*call).jqlParse},
		{p, "jql/match", "jql.match", sim.ClassRead, true, false, (*call).jqlMatch},
		{p, "issue/bulkfetch", "issue.bulk", sim.ClassRead, true, false, (*call).bulkFetch},
		{g, "issue/{i}", "issue", sim.ClassRead, true, true, (*call).issueGet},
		{p, "changelog/bulkfetch", "changelog.bulk", sim.ClassRead, true, false, (*call).bulkChangelog},
		{g, "issue/{i}/comment", "comments", sim.ClassRead, true, true, (*call).comments},
		{g, "project/{p}/role", "roles", sim.ClassRole, true, true, (*call).roleList},
		{g, "project/{p}/role/{r}", "role", sim.ClassRole, true, true, (*call).roleGet},
		{g, "user", "user", sim.ClassRole, true, true, (*call).user},
	}
}

// below gives the path below the API's root.
func (f *Face) below(r *http.Request) (segs []string, ok bool) {
	p := strings.TrimPrefix(r.URL.EscapedPath(), "/")
	if rest, gateway := strings.CutPrefix(p, "ex/jira/"); gateway {
		id, rest, _ := strings.Cut(rest, "/")
		if f.o.DataCenter || id != f.o.CloudID {
			return nil, false
		}
		p = rest
	}
	all := strings.Split(p, "/")
	if len(all) < 4 || all[0] != "rest" || all[1] != "api" || all[2] != "2" && all[2] != "3" && all[2] != "latest" || all[2] == "3" && f.o.DataCenter {
		return nil, false
	}
	return all[3:], true
}

func (f *Face) find(r *http.Request) (route, map[string]string, bool) {
	segs, ok := f.below(r)
	if !ok {
		return route{}, nil, false
	}
	for _, rt := range routes() {
		want := strings.Split(rt.pattern, "/")
		if rt.method != r.Method || len(want) != len(segs) || f.o.DataCenter && !rt.dc || !f.o.DataCenter && !rt.cloud {
			continue
		}
		params, ok := map[string]string{}, true
		for i, wd := range want {
			v, err := url.PathUnescape(segs[i])
			name, variable := strings.CutPrefix(wd, "{")
			switch {
			case err != nil || v == "":
				ok = false
			case variable:
				params[strings.TrimSuffix(name, "}")] = v
			case v != wd:
				ok = false
			}
		}
		if ok {
			return rt, params, true
		}
	}
	return route{}, nil, false
}

func (f *Face) classify(r *http.Request) sim.Route {
	if rt, _, ok := f.find(r); ok {
		return sim.Route{Name: rt.name, Class: rt.class}
	}
	if r.URL.Path == "/_edge/tenant_info" {
		return sim.Route{Name: "tenant", Class: sim.ClassServer}
	}
	return sim.Route{Name: "unknown", Class: sim.ClassOther}
}

// call is one request under way.
type call struct {
	*Face
	quirks Quirks
	rw     http.ResponseWriter
	r      *http.Request
	params map[string]string
	cond   sim.Conditions
	doer   *sim.User // nil: anonymous
	v3     bool
	body   []byte
}

func (f *Face) serve(rw http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &call{Face: f, quirks: f.quirks, rw: rw, r: r, cond: sim.ConditionsOf(r.Context()), v3: strings.Contains(r.URL.Path, "/rest/api/3/")}
	if r.URL.Path == "/_edge/tenant_info" && !f.o.DataCenter {
		c.json(http.StatusOK, map[string]string{"cloudId": f.o.CloudID})
		return
	}
	rt, params, ok := f.find(r)
	if !ok {
		segs, _ := f.below(r)
		if len(segs) == 1 && segs[0] == "search" && !f.o.DataCenter {
			c.fail(http.StatusGone, "The requested API has been removed. Please migrate to the /rest/api/3/search/jql API.")
			return
		}
		c.fail(http.StatusNotFound, "null for uri: "+r.URL.Path)
		return
	}
	c.params = params
	if r.Method == http.MethodPost {
		var err error
		if c.body, err = io.ReadAll(io.LimitReader(r.Body, 4<<20)); err != nil {
			c.fail(http.StatusBadRequest, "cannot read")
			return
		}
	}
	c.authenticate()
	if c.limited() {
		return
	}
	if c.doer == nil && (rt.name == "myself" || rt.class == sim.ClassRole) {
		c.fail(http.StatusUnauthorized, "Client must be authenticated to access this resource.")
		return
	}
	rt.do(c)
}

// authenticate finds the caller. Who brings a bad token is served as nobody, with a header that says so.
func (c *call) authenticate() {
	kind, text, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if kind == "Basic" {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return
		}
		_, text, _ = strings.Cut(string(b), ":")
	}
	if c.cond.Anonymous || text == "" {
		return
	}
	t, ok := c.w.Token(text)
	if !ok {
		c.rw.Header().Set("X-Seraph-Loginreason", "AUTHENTICATED_FAILED")
		return
	}
	c.doer = &t.User
	c.rw.Header().Set("X-AAccountId", AccountID(t.User.ID))
	if c.quirks.NearLimit {
		c.rw.Header().Set("X-RateLimit-NearLimit", "true")
	}
}

func (c *call) limited() bool {
	if c.Face.quirks.LimitCount <= 0 {
		return false
	}
	c.Face.quirks.LimitCount--
	h := c.rw.Header()
	for k, v := range map[string]string{"RateLimit-Reason": c.quirks.Limit, "Retry-After": c.quirks.RetryAfter, "X-RateLimit-Reset": c.quirks.Reset} {
		if v != "" {
			h.Set(k, v)
		}
	}
	c.rw.WriteHeader(http.StatusTooManyRequests)
	return true
}

func (c *call) json(status int, v any) {
	c.rw.Header().Set("Content-Type", "application/json;charset=UTF-8")
	c.rw.WriteHeader(status)
	_ = json.NewEncoder(c.rw).Encode(v) // plain values always encode; a client that left needs no answer
}

func (c *call) fail(status int, text string) {
	c.json(status, map[string]any{"errorMessages": []string{text}, "errors": map[string]string{}})
}

// ask decodes the request's body.
func (c *call) ask(into any) bool {
	d := json.NewDecoder(bytes.NewReader(c.body))
	if err := d.Decode(into); err != nil {
		c.fail(http.StatusBadRequest, "There was an error parsing JSON. Check that your request body is valid.")
		return false
	}
	return true
}

// AccountID is the account id of a user of the world.
func AccountID(id int64) string { return "712020:u" + strconv.FormatInt(id, 10) }

func userID(account string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(account, "712020:u"), 10, 64)
	return n
}

// ProjectKey is the key of the project that a repository name stands for.
func ProjectKey(name string) string {
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name))
}

// ProjectID is the id of the project that a repository stands for.
func ProjectID(repo int64) string { return strconv.FormatInt(10000+repo, 10) }

// Key is how people write an issue.
func Key(e *sim.Entity) string {
	return ProjectKey(e.Repo.Name) + "-" + strconv.FormatInt(e.Number, 10)
}

// repo finds a project by id, key or a key that it had.
func (c *call) repo(p string) (sim.Repo, bool) {
	for _, r := range c.w.Repos() {
		if (ProjectID(r.ID) == p || ProjectKey(r.Name) == strings.ToUpper(p)) && c.browse(r) {
			return r, true
		}
	}
	return sim.Repo{}, false
}

func (c *call) role(r sim.Repo) sim.Role {
	if c.doer == nil {
		return c.w.Role(r.ID, 0)
	}
	return c.w.Role(r.ID, c.doer.ID)
}

func (c *call) browse(r sim.Repo) bool { return c.role(r) >= sim.Read }

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

func atoi(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	return otherwise
}

func in[T comparable](list []T, v T) bool { return slices.Contains(list, v) }
