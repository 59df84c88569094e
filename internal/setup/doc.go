// Package setup builds what a command needs from a .fullsend folder: adapters, credentials, and one poll target per
// configured container and kind.
package setup
