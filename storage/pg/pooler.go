// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"
)

// Pooler says whether a proxy that shares connections between transactions, such as
// PgBouncer with pool_mode = transaction, is in front of Postgres. Behind one, nothing may
// be bound to a connection: no named prepared statements, no session settings, no LISTEN
// and no advisory locks of a session.
type Pooler string

// The poolers. The empty Pooler is PoolerAuto.
const (
	PoolerAuto        Pooler = "auto"        // looked for when the store opens
	PoolerNone        Pooler = "none"        // connections lead to Postgres itself
	PoolerTransaction Pooler = "transaction" // a proxy shares connections between transactions
)

// UnmarshalText accepts the names of the poolers.
func (p *Pooler) UnmarshalText(text []byte) error {
	switch pooler := Pooler(text); pooler {
	case PoolerAuto, PoolerNone, PoolerTransaction:
		*p = pooler
		return nil
	default:
		return fmt.Errorf("is %q; it must be auto, none or transaction", text)
	}
}

// minServerVersion is the oldest Postgres that the schema supports, as
// server_version_num.
const minServerVersion = 150_000

// inspect opens a first connection. It returns an error when the server does not answer, is
// too old or has a schema from before the baseline, and finds out what the other connections can use.
func (c *connector) inspect(ctx context.Context, pooler Pooler) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	defer func() {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(clean) // what it was opened for is known
	}()
	var version, backend int
	err = conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, pg_backend_pid()").Scan(&version, &backend)
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	if version < minServerVersion {
		return fmt.Errorf("the database is Postgres %d; version 15 or newer is needed", version/10_000)
	}
	if err := refuseBeforeBaseline(ctx, conn); err != nil {
		return err
	}
	// A proxy gives its clients process ids of its own, since a request to cancel a query
	// must reach it and not the server.
	c.pooled = pooler == PoolerTransaction || pooler != PoolerNone && uint32(backend) != conn.PgConn().PID() //nolint:gosec // a process id
	for name, value := range clientCheck() {
		_, err := conn.Exec(ctx, "SELECT set_config($1, $2, true)", name, value) // an error where the server's system cannot do it
		c.checksClient = err == nil
	}
	return nil
}

// Pooled reports whether a transaction-pooling proxy is in front of Postgres.
func (d *DB) Pooled() bool { return d.connector.pooled }
