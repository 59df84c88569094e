// Package gitea builds, starts and drives a real, pinned Gitea server for the end-to-end tests: loopback, SQLite, a
// throw-away directory, no network.
package gitea
