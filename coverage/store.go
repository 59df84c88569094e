package coverage

import (
	"context"
	"errors"
)

// Store keeps the ledger's bytes: memory, one bbolt file, later etcd. One contract test serves all.
type Store interface {
	// View runs f over one consistent state.
	View(ctx context.Context, f func(Tx) error) error
	// Update runs f; all of it is durable when it returns nil, none of it otherwise. Updates are serial.
	Update(ctx context.Context, f func(Tx) error) error
	Close() error
}

// Tx is one transaction. Keys are ordered bytewise within a bucket; a bucket exists when it is first written. Bytes
// given to or got from a Tx must not be kept or altered.
type Tx interface {
	Get(bucket, key string) []byte // nil when absent
	Put(bucket, key string, value []byte) error
	Delete(bucket, key string) error
	// Ascend calls f for keys >= from, ascending, until f returns false.
	Ascend(bucket, from string, f func(key string, value []byte) bool)
}

// What opening and using a ledger can fail with.
var (
	ErrNewer   = errors.New("ledger was written by a newer version")
	ErrDamaged = errors.New("ledger is damaged")
	ErrHeld    = errors.New("ledger is held by another process")
	ErrClock   = errors.New("the provider's clock is behind what is covered")
	ErrName    = errors.New("the name leads to another container than before")
)
