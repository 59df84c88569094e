package forgesim

import (
	"errors"
	"fmt"
)

// Errors of a World; match them with errors.Is.
var (
	ErrNotFound = errors.New("no such thing in the world")
	ErrUsage    = errors.New("wrong use of a verb")
	ErrVerb     = errors.New("unknown verb")
	ErrRefused  = errors.New("the world refuses")
)

func usage(f string, a ...any) error { return fmt.Errorf("%w: "+f, append([]any{ErrUsage}, a...)...) }
func missing(f string, a ...any) error {
	return fmt.Errorf("%w: "+f, append([]any{ErrNotFound}, a...)...)
}
func refused(f string, a ...any) error {
	return fmt.Errorf("%w: "+f, append([]any{ErrRefused}, a...)...)
}
