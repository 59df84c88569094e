// Package gitlab is the adapter of GitLab, for issues and merge requests of one project.
//
// # Why nothing is lost
//
// Every walk reads in ascending order of one instant and goes on from the last instant seen, never from a page number: the
// next request asks for rows at or behind that instant and takes the first page. A row that changes moves to the end,
// where it is met again; a row that vanishes takes nothing with it, since no place was counted. Rows are seen again, never
// skipped.
//
// Walk issues or merge_requests (changes): updated_at ascending, every state, updated_after = since, inclusive. Issues are
// asked for with keyset pagination, which GitLab 18.3 and later offer for this order: the server's cursor then does the same
// and also keeps apart rows of one instant. Whether it did is read off the answer (a keyset answer has no X-Page); an
// answer by pages, and merge requests always, are read on from the last updated_at.
//
// Walk all_issues or all_merge_requests (sweep, dense): the same over created_at, which nobody can change afterwards. Numbers
// (iid) are given in order, without holes but for deletions, to issues and merge requests apart, so whatever a turn did not
// meet is asked for by number.
//
// Many rows of one instant: where a full page does not get beyond its instant, the pages behind it are read by number with that
// instant held fast, each so that it begins at or before the last row seen. A page is used only when its first row is one of those
// and has not been touched since, for then nothing lies between; else the reader steps back. Within an instant rows can only leave (they are touched,
// and met again later) or be appended.
//
// The end is a page that announces no next one and is not full. A page that is not full although a next one is announced lacks
// rows: the reader then goes on from the last row that it saw. A count that promises more than came leaves the page short.
//
// with_labels_details is always asked for: it gives labels their ids, and the list of merge requests is otherwise served from a
// cache for hours. Single reads do not know it, so that entities are read as rows of the list, too, by number. Nothing else is
// filtered, see whyLocal.
package gitlab
