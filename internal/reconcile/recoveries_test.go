// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package reconcile_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/reconcile"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// TestRecoveryWithoutWorkflowGoesOn tests that the sweep starts the workflow of a recovery that
// runs and has none, as after a loss of Temporal's store.
func TestRecoveryWithoutWorkflowGoesOn(t *testing.T) {
	t.Parallel()
	p := workerstest.Start(t, "na-east-ewr")
	channel := p.Rule.Channels[0]
	// Its event is not kept, so that nothing has to be sent.
	_, err := p.Store.DB().
		ExecContext(t.Context(), `INSERT INTO deliveries (id, org_id, event_id, event_type, incident_id, check_id, channel_id,
			channel_type, channel_name, status, created_at, updated_at, finished_at, swept_at, policy)
		VALUES (?, ?, ?, 'incident.triggered', ?, ?, ?, 'webhook', 'hook', 'exhausted', now(), now(), now(), now(), '{}')`,
			uuid.New(), p.Org.ID, uuid.New(), uuid.New(), p.Check.ID, channel)
	p.OK(err)
	recovery, err := p.Store.BeginRecovery(t.Context(), channelhealth.Recovery{
		OrgID: p.Org.ID, ChannelID: channel, Since: time.Now().Add(-time.Hour), Until: time.Now().Add(time.Hour),
		Statuses: []vigil.DeliveryStatus{vigil.DeliveryExhausted},
	})
	p.OK(err)
	if recovery.Total != 1 || recovery.State != channelhealth.RecoveryRunning {
		t.Fatalf("began %+v", recovery)
	}

	store := &staleStore{Store: p.Store}
	later := func() time.Time { return time.Now().Add(2 * time.Minute) } // no workflow has worked on it for long
	quiet := slog.New(slog.DiscardHandler)
	sweep := reconcile.New(reconcile.Options{
		Process: "test", Away: dispatch.Away, Loops: dispatch.NewLoops(p.Temporal, p.Store, quiet), Store: store, Housekeeping: store,
		Incidents: p.Incidents, IncidentStore: p.Store, Now: later, Log: quiet,
	})
	sweep.Start(t.Context())
	defer func() { p.OK(sweep.Stop()) }()
	timingtest.Eventually(t, time.Minute, "the recovery has ended", func() bool {
		got, err := p.Store.Recovery(t.Context(), p.Org.ID, channel, recovery.ID)
		return err == nil && got.State == channelhealth.RecoveryDone && got.Skipped == 1
	})
}
