// Package simulated opens the places of the conformance suite on the project's simulated forge, whatever provider's API it
// shows.
package simulated
