package forgejo

import (
	"net/http"

	sim "github.com/fullsend-ai/discovery/internal/forgesim"
)

// routes is every operation of the face. The first that matches is taken, so that
// "issues/comments" stands before "issues/{n}".
func routes() []route {
	const repo = "repos/{owner}/{repo}"
	get, post, patch, del := http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete
	return []route{
		{get, "version", "version", sim.ClassServer, "", (*call).version},
		{get, "settings/api", "settings.api", sim.ClassServer, "", (*call).settings},
		{get, "user", "user.self", sim.ClassIdentity, "user", (*call).self},
		{get, "users/search", "users.search", sim.ClassRole, "user", (*call).searchUsers},
		{get, "users/{login}", "user.get", sim.ClassIdentity, "user", (*call).user},
		{get, repo, "repo.get", sim.ClassIdentity, "repository", (*call).getRepo},
		{get, "repositories/{id}", "repo.byid", sim.ClassIdentity, "repository", (*call).getRepoByID},
		{get, repo + "/collaborators/{login}/permission", "permission", sim.ClassRole, "repository", (*call).permission},

		{get, repo + "/issues", "issues.list", sim.ClassSearch, "issue", (*call).listIssues},
		{get, repo + "/issues/comments", "comments.list", sim.ClassSearch, "issue", (*call).listRepoComments},
		{get, repo + "/pulls", "pulls.list", sim.ClassSearch, "repository", (*call).listPulls},

		{get, repo + "/issues/comments/{id}", "comment.get", sim.ClassRead, "issue", (*call).getComment},
		{get, repo + "/issues/{n}", "issue.get", sim.ClassRead, "issue", (*call).getIssue},
		{get, repo + "/issues/{n}/comments", "issue.comments", sim.ClassRead, "issue", (*call).issueComments},
		{get, repo + "/issues/{n}/timeline", "issue.timeline", sim.ClassRead, "issue", (*call).timeline},
		{get, repo + "/issues/{n}/labels", "issue.labels", sim.ClassRead, "issue", (*call).issueLabels},
		{get, repo + "/pulls/{n}", "pull.get", sim.ClassRead, "repository", (*call).getPull},
		{get, repo + "/pulls/{n}/reviews", "pull.reviews", sim.ClassRead, "repository", (*call).reviews},
		{get, repo + "/labels", "labels.list", sim.ClassRead, "issue", (*call).repoLabels},
		{get, repo + "/milestones", "milestones.list", sim.ClassRead, "issue", (*call).milestones},
		{get, repo + "/commits/{ref}/status", "commit.status", sim.ClassRead, "repository", (*call).combinedStatus},
		{get, repo + "/commits/{ref}/statuses", "commit.statuses", sim.ClassRead, "repository", (*call).statuses},
		{get, repo + "/statuses/{ref}", "commit.statuses", sim.ClassRead, "repository", (*call).statuses},

		{post, repo + "/issues", "issue.create", sim.ClassWrite, "issue", (*call).createIssue},
		{patch, repo + "/issues/{n}", "issue.edit", sim.ClassWrite, "issue", (*call).editIssue},
		{del, repo + "/issues/{n}", "issue.delete", sim.ClassWrite, "issue", (*call).deleteIssue},
		{post, repo + "/issues/{n}/labels", "issue.label", sim.ClassWrite, "issue", (*call).addLabels},
		{del, repo + "/issues/{n}/labels/{id}", "issue.unlabel", sim.ClassWrite, "issue", (*call).removeLabel},
		{post, repo + "/issues/{n}/comments", "comment.create", sim.ClassWrite, "issue", (*call).createComment},
		{patch, repo + "/issues/comments/{id}", "comment.edit", sim.ClassWrite, "issue", (*call).editComment},
		{del, repo + "/issues/comments/{id}", "comment.delete", sim.ClassWrite, "issue", (*call).deleteComment},
	}
}
