package github

import "time"

// Quirks are habits and failures that can be switched while the face runs. The zero value is a GitHub in good health.
type Quirks struct {
	// NullFilterIsStale serves a listing whose filterBy has a null member from an index as of three days ago (the world
	// forgets states after six hours, and shows the oldest that is left). neomjs/neo#15603.
	NullFilterIsStale bool
	// TooHeavy is how many entities with nested collections are too many for one page: their nodes are all null, with
	// one error each. 0: none are. spiceai/spiceai#13762; changelog 2025-09-01.
	TooHeavy int
	// BadGateway is from how many entities on a query ends with 502 after ten seconds. 0: never. docs, rate limits,
	// "Timeouts"; spiceai/spiceai#13762.
	BadGateway int
	// GatewayBody is what such a 502 carries; "": a page of a proxy. shurcooL/githubv4#38 saw {"data":"null"}.
	GatewayBody string
	// Limit is what the next LimitCount requests are answered with. docs, rate limits: "200 or 403".
	Limit      Limit
	LimitCount int
	// RetryAfter goes with them; "": no such header. hub4j/github-api#2009: none at all.
	RetryAfter string
	// DataNull answers queries with data null, with an error of this type or without. machinebox/graphql#72;
	// yoshi389111/github-profile-3d-contrib#163.
	DataNull string
	// NullNodes are the numbers whose nodes are null in listings and reads, with an error or without.
	NullNodes []int64
	NullQuiet bool
	// Broken is a field, by response name, that fails with FORBIDDEN in every entity that has it. linuxfoundation/crowd.dev#4656.
	Broken string
	// Omitted are numbers that listings leave out although they exist (open-telemetry/opentelemetry-java-instrumentation#18856:
	// pinned issues; kubernetes/test-infra#9001).
	Omitted []int64
	// Flagged are numbers that nobody finds, and that may come back: their author's account is under suspicion.
	// streamlink/streamlink#622.
	Flagged []int64
	// CustomRoles are role names that an organisation made up, by login. docs, collaborators: role_name.
	CustomRoles map[string]string
	// CollaboratorsClosed refuses the permission endpoint to everybody. yegor256/rultor#1407.
	CollaboratorsClosed bool
	// NoIssueTypes is a server whose schema has none yet (GitHub Enterprise Server before 3.18).
	NoIssueTypes bool
	// ViewerHidden refuses to name the viewer, as to an installation's token.
	ViewerHidden bool
	// Unordered gives the rows of a listing in no order at all. cli/cli, neomjs/neo#15603: "out of order".
	Unordered bool
	// LegacyIDs answers requests without X-Github-Next-Global-ID with old node ids. docs, migrating global node ids.
	LegacyIDs bool
	// Points is the hour's budget of each token; 0: 5,000. docs, rate limits.
	Points int
	// Lifetime of an installation's token; 0: an hour. docs, authenticating as an installation.
	Lifetime time.Duration
	// HTML answers with a page and status 200. RIPE-NCC/whois#89.
	HTML bool
}

// Limit is how a limit shows.
type Limit uint8

// The forms: SecondaryForbidden is 403 whose body alone says so; SecondaryOK is 200 with errors; PrimaryOK is 200 with
// errors and X-RateLimit-Remaining 0; TooMany is 429.
const (
	NoLimit Limit = iota
	SecondaryForbidden
	SecondaryOK
	PrimaryOK
	TooMany
)
