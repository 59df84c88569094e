package app

import "context"

// Static is a token from outside. It is asked for at each use, so that a replaced one is taken up.
type Static func(context.Context) (string, error)

// Token implements the client's credential.
func (s Static) Token(ctx context.Context) (string, error) { return s(ctx) }

// Refused does nothing: whoever gives the token has to replace it.
func (s Static) Refused(string) {}
