// Package app gives the tokens that a GitHub connection is made with: a personal one from outside, or those of an App's
// installation, which it makes and renews.
package app
