// Package control lets commands ask the process that holds a ledger, over a socket beside it that only its owner may use.
package control
