// Package api speaks the part of the Forgejo and Gitea HTTP API that the adapter needs, and fails only with errors that
// say what failed, how badly and when to come back.
package api
