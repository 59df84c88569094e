// Package lint checks a .fullsend folder as a whole and reports in the formats of terminals, editors and code hosts.
package lint
