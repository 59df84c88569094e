// Package forgejo is the adapter of Forgejo and Gitea, for issues and pull requests.
//
// # Why nothing is lost
//
// The servers know one order for issues, creation descending and then id descending, and one way of paging, an offset.
// Comments come in ascending order, otherwise the same. Neither key of the order ever changes, so rows never trade
// places; but rows can come and go in front of the reader, and an offset then lands elsewhere. Each page is therefore
// asked for so that it begins at or before the last row seen, and it is used only when it shows a row of that place or
// an earlier one: every row behind that place that exists at that moment is then in the page or behind it. Where a page
// begins behind the place, rows have vanished, and the reader steps back until it does not. The row itself need not be
// met again: it may be the one that was deleted. What was seen again is not handed on twice. The listing ends with a
// page that is not full; the announced count only tells an end from a page that the server cut.
//
// Walk issues (changes): one kind, every state, a fixed since, which is inclusive and of whole seconds. In that list
// a row can only appear, by being touched, or vanish by deletion (on Forgejo also by a clock that is set back). A row
// that appears behind the reader's back was touched after the scan began, and belongs to the next window, which begins at
// the provider's clock as read before this one.
//
// Walk comments (changes, pointers): the comments that changed since. An edited comment does not move its entity's clock;
// this feed is the only trace. It points at entities; deleted comments leave no trace at all.
//
// Walk all (sweep, dense): both kinds, every state, no since. Numbers are given once, in order, and shared by the kinds,
// so what is met neither as an item nor as one of the other kind is deleted or was missed, and is asked for by number.
//
// Nothing else is filtered: state, assignee and milestone change while pages are read, which an offset does not survive;
// filters by label or milestone name ignore names they do not know.
package forgejo
