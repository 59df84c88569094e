// Package github is the GitHub face of the simulated forge: the part of its GraphQL API that a poller reads, executed over
// a forgesim.World, and the REST calls beside it.
//
// Queries are validated against GitHub's own published schema where it was fetched (make schema; see Schema) and refused
// as GitHub refuses them; a field that validates and that the face has no value for fails loudly, with status 500. The shapes of
// answers follow that schema and docs.github.com; habits that are not in any schema are Quirks, each with its source.
// Deliberate gaps: search, Projects, discussions, permissions by scope, and git itself.
package github
