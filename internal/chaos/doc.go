// Package chaos plays random stories against the whole poller: a simulated forge that lags, lies and fails, a process that
// dies at any write or request, plans that change, and an evaluation of its own of what should have come out.
//
// A story is text, one step a line: the verbs of the simulated forge, and the verbs of Steps for the poller. A seed always
// makes the same story, and a story always plays the same way: one thread, a virtual clock, requests in one fixed order.
package chaos
