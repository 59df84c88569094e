// Package api speaks the part of GitLab's REST API that the adapter needs. It is the only place that knows the client
// library, whose types end here, and fails only with errors that say what failed, how badly and when to come back.
package api
