package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/fullsend-ai/discovery/coverage"
)

// Driver is one way out. Start hands records over and returns a receipt for every record whose fate it knows; a record
// without a receipt stays in the outbox and is offered again. Receipts and an error may come together.
type Driver interface {
	Name() string
	Start(ctx context.Context, rs []Record) ([]coverage.Receipt, error)
}

// JSON is the name of the driver that only writes records down.
const JSON = "json"

// Complete is what records say when the specification is complete.
const Complete = "v1"

// Declared is what this version says of its specification, and the one place that opens or closes the gate of ADR 0149:
// SPEC declares entity-source/v1 and authorization/v2 complete. A version that changes either beyond what it allows goes
// back to Draft.
const Declared = Complete

// What the gate refuses with.
var (
	ErrDraft  = errors.New("output driver is closed while the specification is a draft")
	ErrKilled = errors.New("kill switch is on: nothing is dispatched")
)

// Allowed reports whether a driver may start anything: none does under the kill switch, and while the specification is
// a draft only json does.
func Allowed(driver, spec string, killed bool) error {
	switch {
	case killed:
		return ErrKilled
	case spec != Complete && driver != JSON:
		return fmt.Errorf("%w: %s needs a complete entity-source/v1 and authorization/v2, this is %s; use %s",
			ErrDraft, driver, spec, JSON)
	}
	return nil
}

// Gate puts a driver behind Allowed. What is refused stays in the outbox.
func Gate(d Driver, spec string, killed bool) Driver {
	if err := Allowed(d.Name(), spec, killed); err != nil {
		return closed{d.Name(), err}
	}
	return d
}

type closed struct {
	name string
	err  error
}

func (c closed) Name() string { return c.name }

func (c closed) Start(context.Context, []Record) ([]coverage.Receipt, error) { return nil, c.err }
