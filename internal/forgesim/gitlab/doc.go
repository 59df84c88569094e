// Package gitlab is the GitLab face of the simulated forge: the part of its REST API that a poller reads, over a
// forgesim.World.
//
// Shapes and habits follow GitLab's own source and documentation (gitlabhq/gitlabhq: lib/api, lib/api/entities, app/finders,
// app/policies, doc/api); every habit that differs by version, by load or by report is a Quirk with its source. Deliberate gaps:
// groups and their labels (a label of the owner stands for one), epics, weights, iterations, time tracking, git itself, and every
// route that writes. A draft's note is missing, and so are notes about milestones, which are resource events.
package gitlab
