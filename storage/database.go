// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

const defaultMaxConns = 16

func (s *Store) open(ctx context.Context, dsn string, pooler Pooler, maxConns int) error {
	conns := min(max(maxConns, 0), 1000)
	if conns == 0 {
		conns = defaultMaxConns
	}
	var err error
	if s.connector, err = newConnector(dsn, s.log); err != nil {
		return err
	}
	if err = s.connector.inspect(ctx, pooler); err != nil {
		return err
	}
	// Bun writes values into its SQL, so that a prepared statement would serve one query:
	// each is one round trip without a name.
	if s.pool, err = s.connector.pool(ctx, conns, ordinaryLimits, pgx.QueryExecModeExec); err != nil {
		return err
	}
	if s.probing, err = s.connector.pool(ctx, probingConns, probingLimits, pgx.QueryExecModeCacheStatement); err != nil {
		s.pool.Close()
		return err
	}
	s.leases = &leaseConn{connect: s.connector.connect}
	s.db = bun.NewDB(stdlib.OpenDBFromPool(s.pool), pgdialect.New(), bun.WithDiscardUnknownColumns())
	return nil
}

// close closes all connections. The database cannot be used afterwards.
func (s *Store) close() error {
	err := s.db.Close()
	s.pool.Close()
	s.probing.Close()
	s.leases.close()
	if err != nil {
		return fmt.Errorf("close the database: %w", err)
	}
	return nil
}
