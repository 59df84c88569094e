// Package api carries GraphQL and REST requests to GitHub and fails only with errors that say what failed, how badly and
// when to come back.
package api
