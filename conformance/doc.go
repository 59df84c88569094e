// Package conformance tells the author of an adapter whether it loses, invents or misattributes anything: it plays
// readable case files over the real polling cycle and a world that the author lets it change.
package conformance
