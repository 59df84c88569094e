// Package live opens the places of the conformance suite on a running Gitea or Forgejo, through its API. It is for servers
// that one may fill with accounts and repositories and throw away.
package live
