// Package dispatch writes decisions down as dispatch/v1 records and hands them to output drivers.
package dispatch
