package forgejo

import "time"

// The JSON bodies of go-gitea/gitea, modules/structs. The order of fields is theirs.

type user struct {
	ID          int64     `json:"id"`
	Login       string    `json:"login"`
	LoginName   string    `json:"login_name"`
	SourceID    int64     `json:"source_id"`
	FullName    string    `json:"full_name"`
	Email       string    `json:"email"`
	AvatarURL   string    `json:"avatar_url"`
	HTMLURL     string    `json:"html_url"`
	Language    string    `json:"language"`
	IsAdmin     bool      `json:"is_admin"`
	LastLogin   time.Time `json:"last_login"`
	Created     time.Time `json:"created"`
	Restricted  bool      `json:"restricted"`
	Active      bool      `json:"active"`
	Prohibit    bool      `json:"prohibit_login"`
	Location    string    `json:"location"`
	Website     string    `json:"website"`
	Description string    `json:"description"`
	Visibility  string    `json:"visibility"`
	Followers   int       `json:"followers_count"`
	Following   int       `json:"following_count"`
	Starred     int       `json:"starred_repos_count"`
	Username    string    `json:"username"`
}

type repoMeta struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Owner    string `json:"owner"`
	FullName string `json:"full_name"`
}

type pullMeta struct {
	Merged   bool       `json:"merged"`
	MergedAt *time.Time `json:"merged_at"`
	Draft    bool       `json:"draft"`
	HTMLURL  string     `json:"html_url"`
}

type label struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Exclusive   bool   `json:"exclusive"`
	Archived    bool   `json:"is_archived"`
	Color       string `json:"color"`
	Description string `json:"description"`
	URL         string `json:"url"`
}

type milestone struct {
	ID          int64      `json:"id"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	State       string     `json:"state"`
	Open        int        `json:"open_issues"`
	Closed      int        `json:"closed_issues"`
	Created     time.Time  `json:"created_at"`
	Updated     *time.Time `json:"updated_at"`
	ClosedAt    *time.Time `json:"closed_at"`
	Due         *time.Time `json:"due_on"`
}

type issue struct {
	ID               int64      `json:"id"`
	URL              string     `json:"url"`
	HTMLURL          string     `json:"html_url"`
	Number           int64      `json:"number"`
	User             *user      `json:"user"`
	OriginalAuthor   string     `json:"original_author"`
	OriginalAuthorID int64      `json:"original_author_id"`
	Title            string     `json:"title"`
	Body             string     `json:"body"`
	Ref              string     `json:"ref"`
	Assets           []struct{} `json:"assets"`
	Labels           []label    `json:"labels"`
	Milestone        *milestone `json:"milestone"`
	Assignee         *user      `json:"assignee"`
	Assignees        []*user    `json:"assignees"`
	State            string     `json:"state"`
	Locked           bool       `json:"is_locked"`
	Comments         int        `json:"comments"`
	Created          time.Time  `json:"created_at"`
	Updated          time.Time  `json:"updated_at"`
	Closed           *time.Time `json:"closed_at"`
	Due              *time.Time `json:"due_date"`
	Pull             *pullMeta  `json:"pull_request"`
	Repo             *repoMeta  `json:"repository"`
	PinOrder         int        `json:"pin_order"`
}

// issue27 is an issue as Gitea 1.27 sends it.
type issue27 struct {
	issue
	Projects       []struct{} `json:"projects"`
	TimeEstimate   int64      `json:"time_estimate"`
	ContentVersion int        `json:"content_version"`
}

type comment struct {
	ID               int64      `json:"id"`
	HTMLURL          string     `json:"html_url"`
	PullURL          string     `json:"pull_request_url"`
	IssueURL         string     `json:"issue_url"`
	User             *user      `json:"user"`
	OriginalAuthor   string     `json:"original_author"`
	OriginalAuthorID int64      `json:"original_author_id"`
	Body             string     `json:"body"`
	Assets           []struct{} `json:"assets"`
	Created          time.Time  `json:"created_at"`
	Updated          time.Time  `json:"updated_at"`
}

type timelineRow struct {
	ID              int64      `json:"id"`
	Type            string     `json:"type"`
	HTMLURL         string     `json:"html_url"`
	PullURL         string     `json:"pull_request_url"`
	IssueURL        string     `json:"issue_url"`
	User            *user      `json:"user"`
	Body            string     `json:"body"`
	Created         time.Time  `json:"created_at"`
	Updated         time.Time  `json:"updated_at"`
	OldProjectID    int64      `json:"old_project_id"`
	ProjectID       int64      `json:"project_id"`
	OldMilestone    *milestone `json:"old_milestone"`
	Milestone       *milestone `json:"milestone"`
	TrackedTime     *struct{}  `json:"tracked_time"`
	OldTitle        string     `json:"old_title"`
	NewTitle        string     `json:"new_title"`
	OldRef          string     `json:"old_ref"`
	NewRef          string     `json:"new_ref"`
	RefIssue        any        `json:"ref_issue"`
	RefComment      *comment   `json:"ref_comment"`
	RefAction       string     `json:"ref_action"`
	RefCommit       string     `json:"ref_commit_sha"`
	ReviewID        int64      `json:"review_id"`
	Label           *label     `json:"label"`
	Assignee        *user      `json:"assignee"`
	AssigneeTeam    *struct{}  `json:"assignee_team"`
	RemovedAssignee bool       `json:"removed_assignee"`
	ResolveDoer     *user      `json:"resolve_doer"`
	Dependent       *struct{}  `json:"dependent_issue"`

	// missing: the row was dropped after paging, as the server does with what the caller may not see.
	missing bool
}

type branch struct {
	Label  string      `json:"label"`
	Ref    string      `json:"ref"`
	SHA    string      `json:"sha"`
	RepoID int64       `json:"repo_id"`
	Repo   *repository `json:"repo"`
}

type pull struct {
	ID                  int64      `json:"id"`
	URL                 string     `json:"url"`
	Number              int64      `json:"number"`
	User                *user      `json:"user"`
	Title               string     `json:"title"`
	Body                string     `json:"body"`
	Labels              []label    `json:"labels"`
	Milestone           *milestone `json:"milestone"`
	Assignee            *user      `json:"assignee"`
	Assignees           []*user    `json:"assignees"`
	Reviewers           []*user    `json:"requested_reviewers"`
	ReviewerTeams       []struct{} `json:"requested_reviewers_teams"`
	State               string     `json:"state"`
	Draft               bool       `json:"draft"`
	Locked              bool       `json:"is_locked"`
	Comments            int        `json:"comments"`
	ReviewComments      int        `json:"review_comments,omitempty"`
	Additions           *int       `json:"additions,omitempty"`
	Deletions           *int       `json:"deletions,omitempty"`
	ChangedFiles        *int       `json:"changed_files,omitempty"`
	HTMLURL             string     `json:"html_url"`
	DiffURL             string     `json:"diff_url"`
	PatchURL            string     `json:"patch_url"`
	Mergeable           bool       `json:"mergeable"`
	Merged              bool       `json:"merged"`
	MergedAt            *time.Time `json:"merged_at"`
	MergeSHA            *string    `json:"merge_commit_sha"`
	MergedBy            *user      `json:"merged_by"`
	AllowMaintainerEdit bool       `json:"allow_maintainer_edit"`
	Base                branch     `json:"base"`
	Head                branch     `json:"head"`
	MergeBase           string     `json:"merge_base"`
	Due                 *time.Time `json:"due_date"`
	Created             *time.Time `json:"created_at"`
	Updated             *time.Time `json:"updated_at"`
	Closed              *time.Time `json:"closed_at"`
	PinOrder            int        `json:"pin_order"`
}

type review struct {
	ID        int64     `json:"id"`
	User      *user     `json:"user"`
	Team      *struct{} `json:"team"`
	State     string    `json:"state"`
	Body      string    `json:"body"`
	CommitID  string    `json:"commit_id"`
	Stale     bool      `json:"stale"`
	Official  bool      `json:"official"`
	Dismissed bool      `json:"dismissed"`
	Comments  int       `json:"comments_count"`
	Submitted time.Time `json:"submitted_at"`
	Updated   time.Time `json:"updated_at"`
	HTMLURL   string    `json:"html_url"`
	PullURL   string    `json:"pull_request_url"`
}

type commitStatus struct {
	ID          int64     `json:"id"`
	Status      string    `json:"status"`
	TargetURL   string    `json:"target_url"`
	Description string    `json:"description"`
	URL         string    `json:"url"`
	Context     string    `json:"context"`
	Creator     *user     `json:"creator"`
	Created     time.Time `json:"created_at"`
	Updated     time.Time `json:"updated_at"`
}

type combinedStatus struct {
	State    string         `json:"state"`
	SHA      string         `json:"sha"`
	Total    int            `json:"total_count"`
	Statuses []commitStatus `json:"statuses"`
	Repo     *repository    `json:"repository"`
	Commit   string         `json:"commit_url"`
	URL      string         `json:"url"`
}

type permission struct {
	Permission string `json:"permission"`
	RoleName   string `json:"role_name"`
	User       *user  `json:"user"`
}

type rights struct {
	Admin bool `json:"admin"`
	Push  bool `json:"push"`
	Pull  bool `json:"pull"`
}

type tracker struct {
	TimeTracker bool `json:"enable_time_tracker"`
	OnlyContrib bool `json:"allow_only_contributors_to_track_time"`
	Depends     bool `json:"enable_issue_dependencies"`
}

type repository struct {
	ID              int64     `json:"id"`
	Owner           *user     `json:"owner"`
	Name            string    `json:"name"`
	FullName        string    `json:"full_name"`
	Description     string    `json:"description"`
	Empty           bool      `json:"empty"`
	Private         bool      `json:"private"`
	Fork            bool      `json:"fork"`
	Template        bool      `json:"template"`
	Mirror          bool      `json:"mirror"`
	Size            int       `json:"size"`
	Language        string    `json:"language"`
	LanguagesURL    string    `json:"languages_url"`
	HTMLURL         string    `json:"html_url"`
	URL             string    `json:"url"`
	Link            string    `json:"link"`
	SSHURL          string    `json:"ssh_url"`
	CloneURL        string    `json:"clone_url"`
	OriginalURL     string    `json:"original_url"`
	Website         string    `json:"website"`
	Stars           int       `json:"stars_count"`
	Forks           int       `json:"forks_count"`
	Watchers        int       `json:"watchers_count"`
	OpenIssues      int       `json:"open_issues_count"`
	OpenPulls       int       `json:"open_pr_counter"`
	Releases        int       `json:"release_counter"`
	DefaultBranch   string    `json:"default_branch"`
	Archived        bool      `json:"archived"`
	Created         time.Time `json:"created_at"`
	Updated         time.Time `json:"updated_at"`
	ArchivedAt      time.Time `json:"archived_at"`
	Permissions     rights    `json:"permissions"`
	HasIssues       bool      `json:"has_issues"`
	InternalTracker tracker   `json:"internal_tracker"`
	HasWiki         bool      `json:"has_wiki"`
	HasPulls        bool      `json:"has_pull_requests"`
	HasProjects     bool      `json:"has_projects"`
	ProjectsMode    string    `json:"projects_mode"`
	HasReleases     bool      `json:"has_releases"`
	HasPackages     bool      `json:"has_packages"`
	HasActions      bool      `json:"has_actions"`
	IgnoreSpace     bool      `json:"ignore_whitespace_conflicts"`
	AllowMerge      bool      `json:"allow_merge_commits"`
	AllowRebase     bool      `json:"allow_rebase"`
	AllowRebaseFF   bool      `json:"allow_rebase_explicit"`
	AllowSquash     bool      `json:"allow_squash_merge"`
	AllowFF         bool      `json:"allow_fast_forward_only_merge"`
	AllowUpdate     bool      `json:"allow_rebase_update"`
	DeleteBranch    bool      `json:"default_delete_branch_after_merge"`
	MergeStyle      string    `json:"default_merge_style"`
	MaintainerEdit  bool      `json:"default_allow_maintainer_edit"`
	AvatarURL       string    `json:"avatar_url"`
	Internal        bool      `json:"internal"`
	MirrorInterval  string    `json:"mirror_interval"`
	ObjectFormat    string    `json:"object_format_name"`
	MirrorUpdated   time.Time `json:"mirror_updated"`
	Topics          []string  `json:"topics"`
	Licenses        []string  `json:"licenses"`
}

// apiError is the body of an error.
type apiError struct {
	Message string `json:"message"`
	URL     string `json:"url"`
}

// notFound is the body of a 404 before 1.27: it lists errors, usually none.
type notFound struct {
	Errors  []string `json:"errors"`
	Message string   `json:"message"`
	URL     string   `json:"url"`
}

// settings is the body of /settings/api.
type settings struct {
	MaxItems     int   `json:"max_response_items"`
	DefaultItems int   `json:"default_paging_num"`
	Trees        int   `json:"default_git_trees_per_page"`
	Blob         int64 `json:"default_max_blob_size"`
	Response     int64 `json:"default_max_response_size"`
}
