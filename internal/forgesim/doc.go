// Package forgesim is a simulated forge: one world of accounts, repositories, work items and change
// proposals with a virtual clock, scripted changes, faults and counters, which the packages below it
// show through the HTTP APIs of real providers.
//
// It imports nothing else of the project, so that a mistake shared with the engine cannot hide.
// Scripts and the conformance suite change the world through Do and Run; tests read it back as
// plain values through Entities, with who wrote, labelled and may do what, and decide for
// themselves what should match.
//
// # Scripts
//
// One verb a line: the verb, then key=value or key="quoted value"; "#" begins a comment; " ; " parts
// several verbs on one line. Keys in brackets are optional. An entity (on, from) is an alias that
// create was given, "owner/name#7", or "7" in the repository that was made last. A label is a name
// or id:N. Times are RFC 3339 or a day; spans are Go's, or days: 36h, 14d.
//
// # Verbs
//
//	user login [name] [bot] [org] [root]
//	    adds an account: a bot, an organisation, the administrator of the instance
//	rename-user login to
//	    changes a login; the old one redirects
//	delete-user login
//	    deletes an account; what it wrote is left without an author
//	token text user [scopes]
//	    makes a credential of an account, with all scopes or those listed
//	revoke-token text
//	    ends a credential
//	repo repo [private]
//	    makes a repository owner/name, from then on the home of bare numbers
//	rename-repo repo to
//	    renames within the owner; the old name redirects
//	transfer repo to
//	    gives a repository to another owner; id and roles stay
//	recreate-repo repo
//	    puts a new, empty repository under a name that is or was taken
//	delete-repo repo
//	    deletes a repository
//	hide-repo [repo] [off]
//	    makes a repository private, or public again
//	set-role [repo] user role
//	    sets none, read, triage, write, maintain, admin or owner
//	create-label [repo] label [color] [org]
//	    adds to the catalogue of the repository or of its organisation; names may repeat
//	rename-label [repo] label to
//	    renames; a label is a name or id:N
//	delete-label [repo] label
//	    deletes a label, also from every entity
//	create-milestone [repo] milestone [due]
//	    adds a milestone
//	rename-milestone [repo] milestone to
//	    renames
//	close-milestone [repo] milestone
//	    closes; entities keep it
//	delete-milestone [repo] milestone
//	    deletes, also from every entity
//	create as title [repo] [kind] [body] [labels] [assignees] [milestone] [due] [draft] [base] [head] [head-repo] [name]
//	    opens an issue, or with kind=change_proposal a pull request; name is an alias for later lines
//	edit on as [title] [body] [base] [draft] [locked] [due]
//	    edits what is given; due=none takes it away
//	delete on
//	    deletes an entity for good
//	label on as label
//	    applies a label
//	unlabel on as label
//	    takes a label off
//	assign on as user
//	    adds an assignee
//	unassign on as user
//	    takes an assignee off
//	milestone on as [milestone]
//	    sets the milestone; without one takes it off
//	close on as
//	    closes
//	reopen on as
//	    opens again
//	merge on as
//	    merges a change proposal
//	push on as [sha]
//	    moves the head of a change proposal
//	status on as context state
//	    reports a check on the head commit: success, failure, pending, error or warning
//	mention on as from
//	    lets another entity refer to this one
//	type on as [type]
//	    sets the issue type; without one takes it off
//	link on as to [off]
//	    lets a change proposal close this work item when it is merged, or no longer
//	move on as to [name]
//	    transfers a work item to another repository, where it gets a new number and id
//	react on as
//	    adds a reaction
//	set-updated on at
//	    writes the update time itself, also backwards, where the provider allows it
//	comment on as body [name]
//	    adds a comment; name is an alias for later lines
//	edit-comment comment as body
//	    gives a comment, by alias or id, another text
//	delete-comment comment
//	    deletes a comment
//	request-review on as user
//	    asks for a review
//	review on as state [body]
//	    reviews the head: approved, changes_requested or commented
//	dismiss-review on as user [body]
//	    dismisses somebody's newest verdict
//	code-comment on as body
//	    comments on a line of the change
//	advance by
//	    lets time pass; by=-5m steps the clock back
//	set-clock at
//	    sets the clock
//	fault kind [route] [skip] [count] [status] [retry-after] [by] [n]
//	    switches a fault on
//	clear-faults [kind]
//	    switches the faults of a kind off, or everything with all pending after
//	after route do [n]
//	    does a line of script right after the n-th request to a route from now on
//	seed n [seed]
//	    fills the world with a plausible project of n entities, see World.Seed
//
// # Faults
//
// A fault touches the requests of a route: a glob over the route's name ("issues.*"), a class
// ("search", "read", "role", "identity", "server"), or a path glob that starts with "/". It leaves the
// first skip of them alone and then touches count of them, or all.
//
//	status        answers status=, with retry-after= if given
//	html          answers a login or waiting page with 200
//	empty         answers nothing with 200
//	null-body     answers null with 200
//	invalid-json  answers half of a JSON array with 200
//	stall         never answers
//	reset         drops the connection before an answer; a net/http client whose connection was
//	              not fresh asks again by itself, and is counted again
//	cut           drops the connection in the middle of the body
//	slow          lets by= pass before it answers: on the world's clock when that is virtual
//	anonymous     answers as if no token had come
//	index-lag     listings answer as of by= ago
//	replica-lag   single reads answer as of by= ago
//	clock-skew    the Date header is off by by=
//	no-date       there is no Date header
//	null-rows     the first n= rows of a list are null
//	drop-rows     the last n= rows of a list are missing
//	repeat-row    the last row of a list comes twice
//	total         X-Total-Count, or totalCount of GraphQL, is off by n=
//	no-total      there is none of either
//	no-link       there is no Link header
//
// Lags are measured in time that has passed, so that a clock that steps back (advance by=-5m)
// hides nothing. States of an entity older than six hours are forgotten, and a longer lag shows
// the oldest that is left. The names of labels, milestones, accounts and repositories, and roles, are
// always those of now.
//
// What moves "updated" is a Profile's Moves: the provider's habit, not the world's.
package forgesim
