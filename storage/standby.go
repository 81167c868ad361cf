// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"

	"github.com/vigil-monitor/vigil/storage/pg"
)

type (
	// Reading says where something is read.
	Reading = pg.Reading
	// Reach is how far a standby is.
	Reach = pg.Reach
)

// Standby is a copy of the database that follows it, such as a hot standby of Postgres. Its methods read there; those that
// write fail. It is safe for concurrent use.
type Standby struct {
	*Store

	follower *pg.Standby
}

// OpenStandby opens a copy of the database of primary, which answers. The copy need not: until it does, everything is read from
// the primary. A database that is no copy is an error. dsn and opts are those of Open.
func OpenStandby(ctx context.Context, dsn string, primary *Store, opts Options) (*Standby, error) {
	opts.isCopy = true
	store, err := Open(ctx, dsn, opts)
	if err != nil {
		return nil, err
	}
	follower, err := pg.Follow(ctx, primary.db, store.db)
	if err != nil {
		return nil, errors.Join(err, store.Close()) //nolint:contextcheck // a goodbye has a bound of its own
	}
	return &Standby{Store: store, follower: follower}, nil
}

// Choose decides where to read so that everything that was acknowledged before the call is seen: from the standby once it has
// that, for which it waits up to 50 ms, else from the primary. While the primary does not answer, it is the standby as it is,
// unless that is far behind.
func (s *Standby) Choose(ctx context.Context) Reading { return s.follower.Choose(ctx) }

// Look reports how far the standby is beside the primary, or why one of them does not say.
func (s *Standby) Look(ctx context.Context) (Reach, error) { return s.follower.Look(ctx) }

// Close closes all connections. The standby cannot be used afterwards.
func (s *Standby) Close() error { return errors.Join(s.CloseHomes(), s.follower.Close()) }
