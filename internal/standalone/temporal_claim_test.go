// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// TestTemporalClaim proves that no second server claims the database of a running one,
// even when Postgres restarts, and that one of two competing servers fails.
func TestTemporalClaim(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in short mode: it starts several Temporal servers")
	}
	t.Parallel()
	pg := startPostgres(t, openDir(t, t.TempDir()))
	opts := options(pg, &lines{})
	if err := standalone.EnsureDatabases(t.Context(), opts.DSN); err != nil {
		t.Fatal(err)
	}
	server, err := standalone.StartTemporal(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Stop(t.Context()) }()

	store, _ := standalone.TemporalDatabases("vigil")
	const locks = `FROM pg_locks WHERE locktype = 'advisory'`
	if err := syscall.Kill(pg.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	awaitQuery(t, pg.DSN(store), `SELECT 1 / count(*) `+locks) // taken again
	_, err = standalone.StartTemporal(t.Context(), opts)
	wantSentence(t, err, "another vigil", "vigil_temporal")

	// Another one that waits for the claim has it as soon as it is lost.
	another, err := pgx.Connect(t.Context(), pg.DSN(store))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = another.Close(t.Context()) }()
	locked := make(chan error, 1)
	key := query1(t, pg.DSN(store), `SELECT ((classid::bigint << 32) | objid::bigint)::text `+locks)
	go func() {
		_, err := another.Exec(t.Context(), `SELECT pg_advisory_lock(`+key+`)`)
		locked <- err
	}()
	awaitQuery(t, pg.DSN(store), `SELECT 1 / count(*) `+locks+` AND NOT granted`)
	exec1(t, pg.DSN(store), `SELECT pg_terminate_backend(pid) `+locks+` AND granted`)
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-server.Failed():
		wantSentence(t, err, "another vigil", "vigil_temporal")
	case <-time.After(30 * time.Second):
		t.Error("two servers have the database")
	}
}
