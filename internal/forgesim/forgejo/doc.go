// Package forgejo is the Forgejo and Gitea face of the simulated forge: the part of their HTTP
// API that a poller reads, and a little that changes the world, over a forgesim.World.
//
// Shapes and habits follow the servers' own source, go-gitea/gitea at v1.24.6 and v1.27.3
// (routers/api/v1, services/convert, modules/structs, models/issues), and what was measured on running
// servers; where Forgejo differs the comment names forgejo. Deliberate gaps: attachments, teams,
// units, pending reviews, time tracking, dependencies and git itself; the ids of commits are invented.
//
// One stage of changes was played to Gitea 1.24.6 and to this face, and some 270 answers compared,
// headers and order of fields included: what differed then is repaired, except for the size and
// language of a repository, its clone address, and mergeable, which git would have to know.
package forgejo
