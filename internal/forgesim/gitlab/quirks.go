package gitlab

import "time"

// Quirks are habits and failures that can be switched while the face runs. The zero value is a GitLab 18.3 or later in good
// health with no limits, as a self-managed one is by default.
type Quirks struct {
	// NoKeyset ignores pagination=keyset, as before 18.3 (doc/api/rest/_index.md; !199887): pages by number answer.
	NoKeyset bool
	// KeysetRefused answers 405 to it. (lib/api/helpers/pagination_strategies.rb)
	KeysetRefused bool
	// CursorExpired answers 400 to every cursor.
	CursorExpired bool
	// WholeSeconds takes updated_after and created_after for the whole second. (openjdk/skara PR 1380)
	WholeSeconds bool
	// TotalsUpTo is the count above which X-Total, X-Total-Pages and rel=last are left out; 0: 10,000
	// (doc/api/rest/_index.md; lib/gitlab/pagination/offset_pagination.rb).
	TotalsUpTo int
	// OffsetCap answers 405 to pages behind that row; 0: none. (GothenburgBitFactory/bugwarrior#807: page 501 of 100)
	OffsetCap int
	// MostPerPage cuts per_page; 0: 100, which is GitLab's.
	MostPerPage int
	// StaleList serves merge requests that are listed without with_labels_details as of this long ago: the list has a cache
	// of its own (lib/api/merge_requests.rb, skip_cache; openjdk/skara PR 1427). 0: none.
	StaleList time.Duration
	// NoLabelDetails ignores with_labels_details.
	NoLabelDetails bool
	// NoApprovalTimes leaves approved_at out, as servers before 18 do (lib/api/entities/approvals.rb).
	NoApprovalTimes bool
	// MergedResults makes pipelines of merged results: of a commit that is no head (doc/ci/pipelines/merged_results_pipelines.md).
	MergedResults bool
	// HiddenPipelines leaves head_pipeline out (lib/api/entities/merge_request.rb: only for who may read pipelines).
	HiddenPipelines bool
	// HiddenMembers do not show, as members by way of a private group do to who belongs to neither
	// (doc/api/project_members.md).
	HiddenMembers []string
	// LockedMerges are merge requests, by number, that are in the middle of being merged.
	LockedMerges []int64
	// NoID are numbers whose rows come without an id, as from a proxy that rewrites answers.
	NoID []int64
	// NoteDrops are entities, by number, whose notes lack the first row of every page, which is cut out after paging
	// (lib/api/notes.rb: readable_by?).
	NoteDrops []int64
	// StrangeNote is a system note in words that nobody knows, on this entity, by this account.
	StrangeNote   int64
	StrangeNoteBy string
	// PerMinute is the limit of requests of a token, told in RateLimit headers; 0: none
	// (doc/administration/settings/user_and_ip_rate_limits.md).
	PerMinute int
	// MembersPerMinute is the limit of members/all, which no header tells (doc/user/gitlab_com/rate_limits.md); 0: none.
	MembersPerMinute int
	// SilentLimit leaves Retry-After and RateLimit headers out of a 429 (#365728).
	SilentLimit bool
	// NoRetryAfter leaves Retry-After alone out of a 429.
	NoRetryAfter bool
	// TokenScopes are what the token says of itself; nil: read_api. TokenExpires is its last day.
	TokenScopes  []string
	TokenExpires string
	// NoTokenPage answers 404 there, as to OAuth tokens.
	NoTokenPage bool
	// IssuesOff and MergesOff switch the features off.
	IssuesOff, MergesOff bool
}
