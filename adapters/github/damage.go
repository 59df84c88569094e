package github

import (
	"fmt"

	"github.com/fullsend-ai/discovery/adapters/github/internal/api"
	"github.com/fullsend-ai/discovery/query"
)

// wreck is what the errors of an answer with data say is missing from it.
type wreck struct {
	rows      map[int][]*api.GraphQLError
	paths     map[int][]api.Path // what follows the row's index
	elsewhere string             // an error that lies outside the rows
}

// damage sorts errors by the row that they lie in.
func damage(errs []api.GraphQLError, prefix ...string) wreck {
	w := wreck{rows: map[int][]*api.GraphQLError{}, paths: map[int][]api.Path{}}
	for n := range errs {
		g := &errs[n]
		rest, ok := g.Path.Under(prefix...)
		i, rest, indexed := rest.Index()
		if !ok || !indexed {
			w.elsewhere = g.Text()
			continue
		}
		w.rows[i] = append(w.rows[i], g)
		w.paths[i] = append(w.paths[i], rest)
	}
	return w
}

func (w wreck) because(i int) string {
	if len(w.rows[i]) == 0 {
		return ""
	}
	return ": " + w.rows[i][0].Text()
}

// only reports whether row i is missing because nothing (that may be seen) is there.
func (w wreck) notFound(i int) bool {
	return len(w.rows[i]) > 0 && len(w.paths[i][0]) == 0 && w.rows[i][0].NotFound()
}

// partOf are the fields that rest on a part of a row.
func partOf(name string) (fields []query.FieldID, known bool) {
	switch name {
	case "author":
		return []query.FieldID{query.FAuthor, query.FAuthorKind, query.FTitle, query.FBody}, true
	case "editor", "lastEditedAt", "edits", "body":
		return []query.FieldID{query.FBody}, true
	case "renames", "title":
		return []query.FieldID{query.FTitle}, true
	case "milestone":
		return []query.FieldID{query.FMilestone}, true
	case "issueType":
		return []query.FieldID{query.FType}, true
	case "labels", "labelEvents":
		return []query.FieldID{query.FLabel}, true
	case "assignees":
		return []query.FieldID{query.FAssignee}, true
	case "comments":
		return []query.FieldID{query.FComment, query.FLastComment}, true
	case "links":
		return []query.FieldID{query.FLinked}, true
	case "reviews", "dismissals":
		return []query.FieldID{query.FReview, query.FLastComment}, true
	case "requests":
		return []query.FieldID{query.FReviewer}, true
	case "headCommit":
		return []query.FieldID{query.FChecks}, true
	case "closedAt":
		return []query.FieldID{query.FClosed}, true
	case "merged":
		return []query.FieldID{query.FMerged}, true
	case "isDraft":
		return []query.FieldID{query.FDraft}, true
	case "isCrossRepository":
		return []query.FieldID{query.FIsFork}, true
	case "baseRefName":
		return []query.FieldID{query.FBase}, true
	case "headRefName":
		return []query.FieldID{query.FHead}, true
	case "url":
		return nil, true
	}
	return nil, false
}

// apply takes back what rests on a broken part of row i: it is unknown, and says why. lost is set when the part is one that
// the row itself rests on.
func (w wreck) apply(i int, f *query.Facts) (lost string) {
	for n, p := range w.paths[i] {
		why := w.rows[i][n].Text()
		ids, known := partOf(p.Name())
		if !known {
			lost = fmt.Sprintf("%s of a row: %s", p.Name(), why)
		}
		for _, id := range ids {
			f.Set(id, query.Fact{Why: why})
		}
	}
	return lost
}
