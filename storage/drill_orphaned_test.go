// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/storage"
)

// TestDrillOfDeletedOrganization deletes the organization after each transaction of a drill: what its
// workflow and the sweep call ends without an error, the end of an opening that has arrived is sent,
// and nothing of the drill is left.
func TestDrillOfDeletedOrganization(t *testing.T) {
	t.Parallel()
	for name, killed := range killedDrills() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := killed.start(t)
			if _, _, err := r.store.DeleteOrganization(t.Context(), r.org.ID, r.org.Name, account.Credential{}); err != nil {
				t.Fatal(err)
			}
			arrived := r.count("SELECT count(*) FROM deliveries WHERE event_type = 'incident.triggered' AND status = 'delivered'")
			purge := func(after time.Duration) {
				t.Helper()
				if err := r.store.PurgeOrganizations(t.Context(), r.clock.Now().Add(after)); err != nil {
					t.Fatal(err)
				}
			}
			purge(time.Second)
			const ends = "SELECT count(*) FROM deliveries WHERE event_type = 'incident.resolved' AND status IN ('pending', 'delivered')"
			if n := r.count(ends); n < arrived {
				t.Errorf("%d openings arrived, and %d ends are sent", arrived, n)
			}
			r.workflowEnds()
			r.clock.Set(r.drill.AskedAt.Add(drills.MaxTime))
			r.sweepCloses()
			execute(t, r.store, "UPDATE loop_tombstones SET done_at = now()")
			purge(storage.EndsOfDeletedOrganization)
			if n := r.count("SELECT count(*) FROM drills") + r.count("SELECT count(*) FROM organizations"); n != 0 {
				t.Errorf("%d rows are left", n)
			}
			r.workflowEnds()
			r.stalled("after all is deleted,", false, false)
		})
	}
}

// gone reports whether an error says that the drill, or what it needs, is not there any more, which
// the activities take as its end.
func gone(err error) bool {
	code := vigil.ErrorCode(err)
	return err == nil || code == vigil.CodeNotFound || code == vigil.CodeInvalid
}

// workflowEnds makes the calls of the workflow of a drill whose organization is deleted.
func (r *drillRun) workflowEnds() {
	r.Helper()
	if _, err := r.store.StageDrill(r.Context(), r.drill.ID); !gone(err) {
		r.Errorf("stage: %v", err)
	}
	if _, err := r.store.HealDrill(r.Context(), r.drill.ID); !gone(err) {
		r.Errorf("heal: %v", err)
	}
	if _, err := r.store.FollowDrill(r.Context(), r.drill.ID); !gone(err) {
		r.Errorf("follow: %v", err)
	}
}

// sweepCloses closes a drill that should have ended as the sweep does, and holds that it finds it once.
func (r *drillRun) sweepCloses() {
	r.Helper()
	found, err := r.store.StalledDrills(r.Context(), 10)
	if err != nil {
		r.Fatal(err)
	}
	for _, one := range found {
		if _, _, err := r.store.CloseDrill(r.Context(), one.ID, "v1", func([]byte) (string, error) { return "", nil }); !gone(err) {
			r.Errorf("close: %v", err)
		}
	}
	r.stalled("closed,", false, false)
}

// TestChannelOfDrillDeleted deletes the channel after each transaction of a drill: with force it always
// can be, the drill ends, and the schedule that names the channel says at its time that it is gone.
func TestChannelOfDrillDeleted(t *testing.T) {
	t.Parallel()
	for name, killed := range killedDrills() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := killed.start(t)
			channel := r.channels[vigil.ChannelWebhook].ID
			schedule := scheduled(r.alerts)
			if _, err := r.store.DeleteChannel(t.Context(), r.org.ID, channel, true, nil); err != nil {
				t.Fatal(err)
			}
			r.workflowEnds()
			r.clock.Set(r.drill.AskedAt.Add(drills.MaxTime))
			r.sweepCloses()
			kept, err := r.store.Drill(t.Context(), r.org.ID, r.drill.ID)
			if err != nil || kept.State != drills.Closed || kept.Receipt.Verdict == drills.Canceled {
				t.Errorf("the drill is %+v, %v", kept, err)
			}
			if n := r.count("SELECT count(*) FROM deliveries WHERE status = 'pending'"); n != 0 {
				t.Errorf("%d messages wait for a channel that is gone", n)
			}
			r.clock.Set(*schedule.NextAt)
			if drill := r.runSchedule(schedule.ID); drill == nil || drill.Request.Refused == "" {
				t.Errorf("the drill of the schedule is %+v", drill)
			}
		})
	}
}
