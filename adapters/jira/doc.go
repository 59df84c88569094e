// Package jira is the adapter of Jira Cloud and Jira Data Center, for issues. It has no change proposals.
//
// # Why nothing is lost
//
// Every listing carries the project's numeric id as a conjunct of its own and is sorted by the id, which within one
// project is the order of numbers and never changes; each row's own project is verified.
//
// Walk changed (changes): project and change clock alone, so that an issue is seen leaving its match. The bound is given
// twice, joined by or: as milliseconds, which know no zone but are documented nowhere, and as minutes before now, rounded
// up, which is documented. A literal like "2026-01-31 09:00" is read in the account's zone and has no seconds, and is never
// used here. A row that is touched while the walk is under way stays in the set, in its place. A row that enters it behind
// the reader was touched after the scan began and belongs to the next window, which begins at the provider's clock as read
// before this one. Cloud's index is eventually consistent, by seconds or minutes: that is what the lag is for.
//
// Walk all (sweep): the compiled search. Its filters may change under the reader. On Data Center, whose paging is an
// offset, each page begins one row before the end of the last one, and the reader steps back until it meets that row's place
// again; so rows that leave the set shift nothing past it. On Cloud the place is an opaque token; nothing is documented of
// it but that it ends with the last page and lives for seven days. A page may be short or empty before that, a repeated
// token ends the walk as an error, and at the end of a sweep the number of rows is held against approximate-count, as an
// alarm: windows, which carry no filter, find what changed, and the next turn what a turn lost.
//
// # What an answer is worth
//
// An expired token is answered with 200 and nothing in it. So every answer must come for the account that was verified
// (X-AAccountId, x-seraph-loginreason), and each cycle asks who it is. Warnings in an answer mean that it may be cut: the
// page is short. One value that does not exist makes the whole search fail: names are resolved to ids first, the text of
// the combined search is validated, and when it is refused, each source alone; what is refused is named, the rest goes on.
package jira
