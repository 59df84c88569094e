// Package github is the adapter of GitHub: github.com, GitHub Enterprise Cloud and Server, for issues and pull requests.
//
// # Why nothing is lost
//
// The search is the repository's own issues or pullRequests connection, not the search API, whose index lags, ends at
// 1,000 results and gives up silently. A connection's cursor holds the sort key of the last row and its id, so a page
// begins behind that key whatever happened in front of it. (The key has a grain of one second; ties go by id.)
//
// Walk changed, issues (changes): ascending by updatedAt from since on, which is inclusive and of whole seconds. A row
// that is touched moves to the end and is met again, perhaps twice; none is passed over but one whose new stamp lies in a
// second that was read before it became visible, and that is what the lag is for. The walk ends at the end, or at rows that
// were touched a lag or more after it began: they are the next window's, so a busy repository cannot keep it going.
//
// Walk changed, pull requests (changes): they have no since, so they come newest change first, until a row lies before the
// window. A row that is touched while the walk is under way jumps to its front, out of sight: it was touched after the
// scan began, and the next window begins at the provider's clock as read before this one.
//
// Walk comments (changes, pointers): the comments that changed since, through REST. Its paging is by offset, so only the
// first page is ever asked for, from a later instant each time. It is read only where a source depends on comments.
//
// Walk all (sweep): ascending by createdAt, which never changes. When every source asks for a state, only rows of those
// states are listed: a row that leaves the filter shifts no other, and one that enters it was touched. When all states
// are listed the walk is dense and goes on with the numbers of the other kind, which come from the same sequence.
//
// Nothing else is filtered. Lists filtered by label were seen stale and empty; a filter with a null member was served
// from an index that was days old; windows carry no state, so that an entity is seen leaving its match.
//
// # What an answer is worth
//
// Errors come with status 200, and null stands for rows that could not be computed. A null row leaves its page short; an
// error inside a row makes what rests on that part unknown; a collection that does not fit is read on, and partial where it
// cannot be; an answer that was too much is asked for again in half the size.
package github
