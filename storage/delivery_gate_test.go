// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestPlacesOfAFrozenProcess proves that a process that is frozen while it changes the
// places of an organization does not keep the deliveries of others from the database.
func TestPlacesOfAFrozenProcess(t *testing.T) {
	t.Parallel()
	const conns = 8
	c := timingtest.NewClock(epoch())
	s := storagetest.New(t, func(o *storage.Options) { o.Now, o.MaxConns = c.Now, conns })
	victim, other := newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook), newAlertsOn(t, s, c, vigil.NotifyBoth, vigil.ChannelWebhook)
	ids := victim.openOfChecks(2 * conns)
	id := other.open(other.fails(newark)).Incident.ID

	frozen, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Rollback() }()
	// Postgres would end it after some seconds.
	if _, err := frozen.ExecContext(t.Context(), "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
		t.Fatal(err)
	}
	if _, err := frozen.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))",
		"deliveries/"+victim.org.ID.String()); err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	held, cancel := context.WithCancel(t.Context())
	for _, id := range ids {
		work.Go(func() {
			_, err := s.ClaimAttempt(held, id, victim.channels[vigil.ChannelWebhook].ID)
			if err == nil {
				t.Error("a claim of the organization succeeded while its lock was held")
			}
		})
	}
	waits := func() int {
		return victim.count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted " +
			"AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")
	}
	eventually(t, "4 claims wait for the lock", func() bool { return waits() >= 4 })
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	p, err := s.ClaimAttempt(ctx, id, other.channels[vigil.ChannelWebhook].ID)
	if err != nil || p.State != vigil.NextAttemptReady {
		t.Errorf("the claim of another organization is %s, %v", p.State, err)
	}
	if n := waits(); n != 4 {
		t.Errorf("%d connections wait for the lock, want 4", n)
	}
	cancel()
	work.Wait()
	if err := frozen.Rollback(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p, err = s.ClaimAttempt(t.Context(), ids[0], victim.channels[vigil.ChannelWebhook].ID)
	if err != nil || p.State != vigil.NextAttemptReady {
		t.Errorf("after the lock is free, the claim is %s, %v", p.State, err)
	}
}
