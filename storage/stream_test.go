// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// listen starts a listener and returns the organizations that it reports, and the
// error that ends it.
func listen(t *testing.T, s *storage.Store) (woken <-chan uuid.UUID, ended <-chan error, stop context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	news, end := make(chan uuid.UUID, 64), make(chan error, 1)
	go func() { end <- s.ListenEvents(ctx, func(org uuid.UUID) { news <- org }) }()
	t.Cleanup(cancel)
	eventually(t, "the listener listens", func() bool {
		return count(
			t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'",
		) > 0
	})
	return news, end, cancel
}

func TestListenEvents(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)

	t.Run("ReportsTheOrganizationOfAnEvent", func(t *testing.T) { //nolint:paralleltest // one listener at a time
		woken, ended, stop := listen(t, a.store)
		a.resolve(a.open(a.fails("na-east-ewr")).Incident.ID, vigil.ResolvedAutomatically)
		for range 2 {
			select {
			case org := <-woken:
				equal(t, org, a.check.OrgID)
			case err := <-ended:
				t.Fatal(err)
			case <-time.After(10 * time.Second):
				t.Fatal("the event was not reported")
			}
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Run("EndsWithItsConnection", func(t *testing.T) { //nolint:paralleltest // one listener at a time
		_, ended, _ := listen(t, a.store)
		eventually(t, "its connection is cut", func() bool { // the one before may be seen for a moment yet
			count(
				t, a.store,
				"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
			)
			return len(ended) > 0
		})
		if err := <-ended; err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
		equal(t, count(t, a.store, "SELECT 1"), int64(1)) // the pool is whole
	})
}

func TestStreamHeads(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	heads := func() map[uuid.UUID]vigil.Position {
		t.Helper()
		got, err := a.store.StreamHeads(t.Context(), []uuid.UUID{a.check.OrgID, uuid.New()})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	equal(t, len(heads()), 0)
	a.open(a.fails("na-east-ewr"))
	equal(t, heads(), map[uuid.UUID]vigil.Position{a.check.OrgID: a.events()[0].Position})
}
