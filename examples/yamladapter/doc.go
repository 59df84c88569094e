// Package yamladapter is a complete small adapter: issues are files of YAML in a folder. It is there to be read, by whoever
// writes an adapter (docs/adapters.md walks through it), and to try queries offline (see the command in match).
//
// # The folder
//
//	people.yaml               who is who: me, and people by stable id
//	acme/widgets/
//	    container.yaml        the container's stable id, and the roles in it
//	    12.yaml               issue 12
//
// # Why nothing is lost
//
// An entity's change clock is its file's modification time; whoever changes anything about an issue writes its file. A
// file system shows a change at once, so the lag is only the grain of the coarsest clock that people copy files with.
//
// Walk changed (changes): the files modified at or after since, in ascending order of their number. A number never
// changes, so pages are keyed on it: what vanishes or comes between two pages moves nothing else. A file that is written
// behind the reader was written after the scan began, and belongs to the next window.
//
// Walk all (sweep): every file, by number, likewise.
//
// Nothing is filtered: the files have to be opened anyway.
package yamladapter
