// Package e2e runs the real fullsend binary against a real Gitea server and checks exactly who receives what.
//
// It is a module of its own, so that the server's dependencies stay out of the product's. The first run builds the
// server, which takes minutes of CPU; later runs find it in the cache.
package e2e
