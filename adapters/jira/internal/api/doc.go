// Package api sends requests to Jira through go-atlassian, and judges the answers itself: what the library makes of them
// (one error value for 403, 410 and 429, a nil answer when the network failed, pages that fail whole) does not get past it.
package api
