package github

import (
	"time"

	"github.com/shurcooL/githubv4"
)

// The shapes of the queries. Their text follows from the fields; what a pointer or slice element leaves nil was null in the
// answer.

// account is an Actor of any kind. The four that have a numeric id name it alike.
type account struct {
	Kind         string `graphql:"__typename"`
	Login        string
	User         databaseID `graphql:"... on User"`
	Bot          databaseID `graphql:"... on Bot"`
	Organization databaseID `graphql:"... on Organization"`
	Mannequin    databaseID `graphql:"... on Mannequin"`
}

type databaseID struct {
	DatabaseID int64 `graphql:"databaseId"`
}

type pageInfo struct {
	HasNextPage bool
	EndCursor   string
}

type pageBefore struct {
	HasPreviousPage bool
	StartCursor     string
}

type repositoryRef struct {
	DatabaseID    int64 `graphql:"databaseId"`
	NameWithOwner string
}

type label struct {
	ID   string `graphql:"id"`
	Name string
}

type labelPage struct {
	PageInfo pageInfo
	Nodes    []*label
}

type assignee struct {
	Kind string `graphql:"__typename"`
	databaseID
	Login string
}

type assigneePage struct {
	PageInfo pageInfo
	Nodes    []*assignee
}

// row is what a listing shows of an entity of either kind.
type row struct {
	ID           string `graphql:"id"`
	DatabaseID   string `graphql:"fullDatabaseId"` // a BigInt comes as a text
	Number       int64
	URL          string `graphql:"url"`
	Title        string
	Body         string
	State        string
	CreatedAt    time.Time
	UpdatedAt    time.Time
	ClosedAt     *time.Time
	LastEditedAt *time.Time
	Locked       bool
	Author       *account
	Editor       *account
	Milestone    *struct {
		ID    string `graphql:"id"`
		Title string
	}
	Repository repositoryRef
	Labels     *labelPage   `graphql:"labels(first: 50)"`
	Assignees  assigneePage `graphql:"assignees(first: 20)"`
}

// issueRow is an issue on a server that has no issue types.
type issueRow struct{ row }

// typedRow is an issue on one that has. (Issue.issueType came in 2025, docs.github.com graphql/reference/objects#issue.)
type typedRow struct {
	issueRow
	IssueType *struct {
		ID   string `graphql:"id"`
		Name string
	}
}

type pullRow struct {
	row
	Merged            bool
	IsDraft           bool
	IsCrossRepository bool
	BaseRefName       string
	HeadRefName       string
	HeadRefOid        string
}

// connection is one page of a listing.
type connection[R any] struct {
	TotalCount int
	PageInfo   pageInfo
	Nodes      []*R
}

// The listings. Each is asked of the repository's node, so that a rename between two pages changes nothing. A filter is
// either given or absent, never null.
type (
	issueWindow[R any, P rowOf[R]] struct {
		Node struct {
			Repository struct {
				databaseID
				Rows connection[R] `graphql:"rows: issues(first: $first, after: $after, filterBy: $filter, orderBy: {field: UPDATED_AT, direction: ASC})"`
			} `graphql:"... on Repository"`
		} `graphql:"node(id: $id)"`
	}
	issueHistory[R any, P rowOf[R]] struct {
		Node struct {
			Repository struct {
				databaseID
				Rows connection[R] `graphql:"rows: issues(first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: ASC})"`
			} `graphql:"... on Repository"`
		} `graphql:"node(id: $id)"`
	}
	issueSweep[R any, P rowOf[R]] struct {
		Node struct {
			Repository struct {
				databaseID
				Rows connection[R] `graphql:"rows: issues(first: $first, after: $after, states: $states, orderBy: {field: CREATED_AT, direction: ASC})"`
			} `graphql:"... on Repository"`
		} `graphql:"node(id: $id)"`
	}
	pullWindow[R any, P rowOf[R]] struct {
		Node struct {
			Repository struct {
				databaseID
				Rows connection[R] `graphql:"rows: pullRequests(first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: DESC})"`
			} `graphql:"... on Repository"`
		} `graphql:"node(id: $id)"`
	}
	pullSweep[R any, P rowOf[R]] struct {
		Node struct {
			Repository struct {
				databaseID
				Rows connection[R] `graphql:"rows: pullRequests(first: $first, after: $after, states: $states, orderBy: {field: CREATED_AT, direction: ASC})"`
			} `graphql:"... on Repository"`
		} `graphql:"node(id: $id)"`
	}
)

func (q *issueWindow[R, P]) connection() (int64, rows) {
	r := &q.Node.Repository
	return r.DatabaseID, rowsOf[R, P](&r.Rows)
}

func (q *issueHistory[R, P]) connection() (int64, rows) {
	r := &q.Node.Repository
	return r.DatabaseID, rowsOf[R, P](&r.Rows)
}

func (q *issueSweep[R, P]) connection() (int64, rows) {
	r := &q.Node.Repository
	return r.DatabaseID, rowsOf[R, P](&r.Rows)
}

func (q *pullWindow[R, P]) connection() (int64, rows) {
	r := &q.Node.Repository
	return r.DatabaseID, rowsOf[R, P](&r.Rows)
}

func (q *pullSweep[R, P]) connection() (int64, rows) {
	r := &q.Node.Repository
	return r.DatabaseID, rowsOf[R, P](&r.Rows)
}

// number is all that is asked of the other kind in a sweep.
type number struct{ Number int64 }

type event struct {
	Kind      string `graphql:"__typename"`
	Labeled   change `graphql:"... on LabeledEvent"`
	Unlabeled change `graphql:"... on UnlabeledEvent"`
}

type change struct {
	ID        string `graphql:"id"`
	CreatedAt time.Time
	Actor     *account
	Label     *struct {
		ID string `graphql:"id"`
	}
}

type eventPage struct {
	PageInfo pageBefore
	Nodes    []*event
}

type rename struct {
	Renamed struct {
		ID           string `graphql:"id"`
		CreatedAt    time.Time
		Actor        *account
		CurrentTitle string
	} `graphql:"... on RenamedTitleEvent"`
}

type edit struct {
	ID       string `graphql:"id"`
	EditedAt time.Time
	Editor   *account
}

type comment struct {
	DatabaseID   string `graphql:"fullDatabaseId"`
	CreatedAt    time.Time
	LastEditedAt *time.Time
	Author       *account
	Editor       *account
	Body         string
}

type commentPage struct {
	PageInfo pageInfo
	Nodes    []*comment
}

type review struct {
	ID          string `graphql:"id"`
	DatabaseID  string `graphql:"fullDatabaseId"`
	State       string
	CreatedAt   time.Time
	SubmittedAt *time.Time
	Author      *account
	Commit      *struct{ Oid string }
}

type reviewPage struct {
	PageInfo pageInfo
	Nodes    []*review
}

type dismissal struct {
	Dismissed struct {
		ID        string `graphql:"id"`
		CreatedAt time.Time
		Actor     *account
		Review    *struct {
			ID string `graphql:"id"`
		}
	} `graphql:"... on ReviewDismissedEvent"`
}

type dismissalPage struct {
	PageInfo pageBefore
	Nodes    []*dismissal
}

type request struct {
	RequestedReviewer *struct {
		Kind      string     `graphql:"__typename"`
		User      person     `graphql:"... on User"`
		Bot       person     `graphql:"... on Bot"`
		Mannequin person     `graphql:"... on Mannequin"`
		Team      teamMember `graphql:"... on Team"`
	}
}

type person struct {
	databaseID
	Login string
}

type teamMember struct {
	databaseID
	CombinedSlug string
}

type requestPage struct {
	PageInfo pageInfo
	Nodes    []*request
}

type link struct {
	DatabaseID string `graphql:"fullDatabaseId"`
	State      string
	Merged     bool
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Author     *account
	Repository repositoryRef
}

type linkPage struct {
	PageInfo pageInfo
	Nodes    []*link
}

// details are the parts of either kind that a read adds where they are needed.
type details struct {
	Comments    *commentPage               `graphql:"comments(first: 50) @include(if: $comments)"`
	LabelEvents *eventPage                 `graphql:"labelEvents: timelineItems(last: 100, itemTypes: [LABELED_EVENT, UNLABELED_EVENT]) @include(if: $labels)"`
	Renames     *struct{ Nodes []*rename } `graphql:"renames: timelineItems(last: 1, itemTypes: [RENAMED_TITLE_EVENT]) @include(if: $title)"`
	Edits       *struct{ Nodes []*edit }   `graphql:"edits: userContentEdits(first: 10) @include(if: $body)"`
}

type pullDetails struct {
	details
	Reviews    *reviewPage    `graphql:"reviews(first: 50) @include(if: $reviews)"`
	Dismissals *dismissalPage `graphql:"dismissals: timelineItems(last: 50, itemTypes: [REVIEW_DISMISSED_EVENT]) @include(if: $reviews)"`
	Requests   *requestPage   `graphql:"requests: reviewRequests(first: 50) @include(if: $requests)"`
	HeadCommit *struct {
		Nodes []*struct {
			Commit struct {
				Oid               string
				StatusCheckRollup *struct{ State string }
			}
		}
	} `graphql:"headCommit: commits(last: 1) @include(if: $checks)"`
}

type issueRead struct {
	issueRow
	issueExtra
}

type typedRead struct {
	typedRow
	issueExtra
}

type issueExtra struct {
	details
	Links *linkPage `graphql:"links: closedByPullRequestsReferences(first: 20, includeClosedPrs: true) @include(if: $links)"`
}

type pullRead struct {
	pullRow
	pullDetails
}

// The reads, by node id. A node of the other kind has its type name alone.
type (
	issueNodes[R any, P rowOf[R]] struct {
		Nodes []*struct {
			Kind string `graphql:"__typename"`
			Row  R      `graphql:"... on Issue"`
		} `graphql:"nodes(ids: $ids)"`
	}
	pullNodes[R any, P rowOf[R]] struct {
		Nodes []*struct {
			Kind string `graphql:"__typename"`
			Row  R      `graphql:"... on PullRequest"`
		} `graphql:"nodes(ids: $ids)"`
	}
)

// What follows the first page of a collection of one entity.
type (
	both[C any] struct {
		Issue C `graphql:"... on Issue"`
		Pull  C `graphql:"... on PullRequest"`
	}
	moreLabels struct {
		Node *both[struct {
			Page *labelPage `graphql:"page: labels(first: 100, after: $after)"`
		}] `graphql:"node(id: $id)"`
	}
	moreAssignees struct {
		Node *both[struct {
			Page *assigneePage `graphql:"page: assignees(first: 100, after: $after)"`
		}] `graphql:"node(id: $id)"`
	}
	moreComments struct {
		Node *both[struct {
			Page *commentPage `graphql:"page: comments(first: 100, after: $after)"`
		}] `graphql:"node(id: $id)"`
	}
	moreEvents struct {
		Node *both[struct {
			Page *eventPage `graphql:"page: timelineItems(last: 100, before: $before, itemTypes: [LABELED_EVENT, UNLABELED_EVENT])"`
		}] `graphql:"node(id: $id)"`
	}
	moreLinks struct {
		Node *struct {
			Issue struct {
				Page *linkPage `graphql:"page: closedByPullRequestsReferences(first: 100, after: $after, includeClosedPrs: true)"`
			} `graphql:"... on Issue"`
		} `graphql:"node(id: $id)"`
	}
	moreReviews struct {
		Node *struct {
			Pull struct {
				Page *reviewPage `graphql:"page: reviews(first: 100, after: $after)"`
			} `graphql:"... on PullRequest"`
		} `graphql:"node(id: $id)"`
	}
	moreDismissals struct {
		Node *struct {
			Pull struct {
				Page *dismissalPage `graphql:"page: timelineItems(last: 100, before: $before, itemTypes: [REVIEW_DISMISSED_EVENT])"`
			} `graphql:"... on PullRequest"`
		} `graphql:"node(id: $id)"`
	}
	moreRequests struct {
		Node *struct {
			Pull struct {
				Page *requestPage `graphql:"page: reviewRequests(first: 100, after: $after)"`
			} `graphql:"... on PullRequest"`
		} `graphql:"node(id: $id)"`
	}
)

// repository is what the session asks of its container.
type repository struct {
	ID               string `graphql:"id"`
	DatabaseID       int64  `graphql:"databaseId"`
	NameWithOwner    string
	URL              string `graphql:"url"`
	ViewerPermission *string
	HasIssuesEnabled bool
	IsDisabled       bool
}

type (
	viewerQuery struct {
		Viewer viewer
	}
	viewer struct {
		Login      string
		DatabaseID int64 `graphql:"databaseId"`
	}
	openQuery struct {
		Repository *repository `graphql:"repository(owner: $owner, name: $name)"`
	}
	healthQuery struct {
		Node *struct {
			Repository repository `graphql:"... on Repository"`
		} `graphql:"node(id: $id)"`
		Configured *struct {
			DatabaseID int64 `graphql:"databaseId"`
		} `graphql:"configured: repository(owner: $owner, name: $name)"`
	}
	typeQuery struct {
		Type *struct {
			Fields []struct{ Name string }
		} `graphql:"__type(name: \"Issue\")"`
	}
	kindQuery struct {
		Node *struct {
			Issue struct {
				Repository repositoryRef
			} `graphql:"... on Issue"`
		} `graphql:"node(id: $id)"`
	}
)

func cursorVar(s string) *githubv4.String {
	if s == "" {
		return nil
	}
	return githubv4.NewString(githubv4.String(s))
}
