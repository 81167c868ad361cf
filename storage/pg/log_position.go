// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// serverID identifies the database that a connection leads to.
type serverID struct {
	// database is the same for a database and its copies: the system identifier of the cluster, and its name there.
	database string
	// started is when the server was started, with microseconds: another one of the same cluster has another time.
	started string
}

const selectServer = `(SELECT system_identifier::text FROM pg_control_system()) || '/' || current_database(),
	extract(epoch FROM pg_postmaster_start_time())::text`

// logPosition is a place in the log of a primary.
type logPosition struct {
	serverID

	lsn      string // log sequence number in the form of Postgres, such as 16/B374D848
	timeline int64  // a promotion begins the next one
}

// readPosition reads a place behind everything that a primary has acknowledged. A server that takes no writes is an error. What
// a transaction wrote that did not wait for the disk, by its own choice, may be behind the place.
func readPosition(ctx context.Context, conn *pgx.Conn, mode pgx.QueryExecMode) (at logPosition, err error) {
	err = conn.QueryRow(ctx, `SELECT `+selectServer+`, CASE current_setting('synchronous_commit')
			WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END::text,
		('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint`, mode).
		Scan(&at.database, &at.started, &at.lsn, &at.timeline)
	return at, err
}

// Reach is how far a copy of a database is.
type Reach struct {
	// Reached: it has everything before the place that was asked for.
	Reached bool
	// AsOf is when the newest transaction that it has was committed, by the clock of the primary; zero where it has seen none
	// since its start. For a copy that was made the primary it is the present.
	AsOf time.Time
}

// readReach reads how far a copy is beside a place in the log of its primary. A server that takes writes has come there only if
// it is the primary itself: another one may have gone on by itself. So may a copy of an older timeline.
// follows says that it takes none.
func readReach(
	ctx context.Context, conn *pgx.Conn, mode pgx.QueryExecMode, at logPosition,
) (from serverID, reach Reach, follows bool, err error) {
	var asOf *time.Time
	err = conn.QueryRow(ctx, `SELECT `+selectServer+`,
			CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() >= $1::text::pg_lsn AND $2::bigint <= greatest(
				(SELECT timeline_id FROM pg_control_checkpoint()), (SELECT min_recovery_end_timeline FROM pg_control_recovery()))
			ELSE extract(epoch FROM pg_postmaster_start_time())::text = $3::text END,
			CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() ELSE clock_timestamp() END, pg_is_in_recovery()`,
		mode, at.lsn, at.timeline, at.started).Scan(&from.database, &from.started, &reach.Reached, &asOf, &follows)
	if asOf != nil {
		reach.AsOf = *asOf
	}
	return from, reach, follows, err
}
