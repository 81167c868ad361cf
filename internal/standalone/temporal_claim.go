// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	claimTimeout = 5 * time.Second // for a predecessor to end
	claimRetry   = 50 * time.Millisecond
	// reclaimPause is the pause between attempts to reach a Postgres that is away.
	reclaimPause = 500 * time.Millisecond
)

// claim locks the database for this server while the connection lives: two servers
// that each consider themselves the only host would compete for every workflow. The
// lock of a killed predecessor is released once Postgres notices.
func claim(ctx context.Context, dsn, database string) (*pgx.Conn, error) {
	parsed, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	parsed.Database = database
	conn, err := pgx.ConnectConfig(ctx, parsed)
	if err != nil {
		return nil, unreachable(parsed, err)
	}
	if err := lockDatabase(ctx, conn, database); err != nil {
		closeConn(ctx, conn)
		return nil, err
	}
	return conn, nil
}

func lockDatabase(ctx context.Context, conn *pgx.Conn, database string) error {
	// Postgres drops the connection of a dead host while the next one waits.
	_, err := conn.Exec(ctx, `SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 2`)
	if err != nil {
		return fmt.Errorf("the database %q cannot be claimed: %w", database, err)
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte("vigil embedded temporal server"))
	wait, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	tick := time.NewTicker(claimRetry)
	defer tick.Stop()
	for {
		var locked bool
		err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, int64(sum.Sum64())).Scan(&locked) //nolint:gosec // any 64 bits will do
		if err != nil {
			return fmt.Errorf("the database %q cannot be claimed: %w", database, err)
		}
		if locked {
			return nil
		}
		select {
		case <-tick.C:
		case <-wait.Done():
			return claimedError{database}
		}
	}
}

// claimedError reports that another server has claimed the database.
type claimedError struct{ database string }

func (e claimedError) Error() string {
	return fmt.Sprintf(
		"another vigil runs its Temporal server on the database %q: "+
			"stop that one, or give this one a database of its own with DATABASE_URL, or set TEMPORAL_ADDRESS to share its server",
		strings.TrimSpace(e.database),
	)
}

// keepClaim holds a claim until ctx ends. The claim is lost when Postgres restarts or
// the connection breaks; it is then renewed. If another server was faster, this one
// fails as it would at its start.
func (t *Temporal) keepClaim(ctx context.Context, conn *pgx.Conn, dsn, database string) {
	defer close(t.released)
	for {
		for err := error(nil); err == nil; { // there are no notifications: only the end of the connection ends the wait
			_, err = conn.WaitForNotification(ctx)
		}
		closeConn(ctx, conn)
		if ctx.Err() == nil {
			t.log.to.WarnContext(ctx, "the claim of the database was lost and is renewed", "database", database)
		}
		var err error
		if conn, err = reclaim(ctx, dsn, database); err != nil {
			if ctx.Err() == nil {
				t.log.failure.report(err)
			}
			return
		}
	}
}

// closeConn closes a connection, whose server may be gone.
func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// reclaim claims the database once Postgres answers. It fails when another server has
// claimed it, or when ctx ends.
func reclaim(ctx context.Context, dsn, database string) (*pgx.Conn, error) {
	for {
		conn, err := claim(ctx, dsn, database)
		if _, taken := errors.AsType[claimedError](err); err == nil || taken {
			return conn, err
		}
		if err := timing.Sleep(ctx, reclaimPause); err != nil {
			return nil, err
		}
	}
}
