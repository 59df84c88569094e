package github

import (
	"slices"
	"testing"

	"github.com/shurcooL/githubv4"
	"github.com/stretchr/testify/require"

	"github.com/fullsend-ai/discovery/query"
	"github.com/fullsend-ai/discovery/query/querytest"
)

// SPEC GH-6: for any sources, whatever may match or be undecided is in a state that the sweep asks for. The provider's side
// is written out here: MERGED is no part of CLOSED, and windows carry no state.
func TestSearchIsAdmissible(t *testing.T) {
	for _, kind := range []query.Kind{query.WorkItem, query.ChangeProposal} {
		t.Run(string(kind), func(t *testing.T) {
			tally := querytest.Admissible(t, querytest.Provider{
				Catalogue: Adapter{}.Catalogue(kind),
				Claims:    Adapter{}.Claims(kind),
				Returns: func(s *query.Search, w query.WalkKind, f *query.Facts) bool {
					return w == query.Changes || lists(kind, statesOf(kind, s), f)
				},
			})
			require.Positive(t, tally.Owed)
			if tally.Cases > 200_000 { // fewer may all be weakened to nothing
				require.Positive(t, tally.Filtered, "some search must have filtered something")
			}
		})
	}
}

// lists is what the provider gives for the states as they are sent.
func lists(kind query.Kind, s stateSet, f *query.Facts) bool {
	isOpen := f.Get(query.FState).Values[0].Str == "open"
	isMerged := kind == query.ChangeProposal && f.Get(query.FMerged).Values[0].Bool
	switch {
	case isOpen && isMerged:
		return true // no such pull request
	case kind == query.WorkItem && isOpen:
		return slices.Contains(s.issues(), githubv4.IssueStateOpen)
	case kind == query.WorkItem:
		return slices.Contains(s.issues(), githubv4.IssueStateClosed)
	case isOpen:
		return slices.Contains(s.pulls(), githubv4.PullRequestStateOpen)
	case isMerged:
		return slices.Contains(s.pulls(), githubv4.PullRequestStateMerged)
	}
	return slices.Contains(s.pulls(), githubv4.PullRequestStateClosed)
}
