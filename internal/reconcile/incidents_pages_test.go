// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// TestManyStalled has more incidents and deliveries than a page: the first pass wakes all of them, once, and one that cannot
// be woken holds up none.
func TestManyStalled(t *testing.T) {
	t.Parallel()
	for kind, what := range map[string]string{"incident": "revive", "delivery": "send"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rows := &brokenStore{checks: newChecks(450), only: kind}
				temporal := brokenFor(rows.checks[0])
				sweepFor(t, 4*time.Second, rows, temporal)
				for _, check := range rows.checks {
					if n := len(temporal.of(what, check)); n != 1 {
						t.Fatalf("%d calls to %s a check, want 1", n, what)
					}
				}
			})
		})
	}
}

// unmarkedStore reads the same incidents again, as where the clock of the process is behind the loss of Temporal's store.
type unmarkedStore struct{ brokenStore }

func (*unmarkedStore) MarkIncidentSwept(context.Context, fleet.SweepLease, uuid.UUID, time.Time) error {
	return nil
}

// TestStalledThatStay wakes what is read again once in a pass.
func TestStalledThatStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &unmarkedStore{brokenStore{checks: newChecks(450), only: "incident"}}
		temporal := &workflows{}
		sweepFor(t, 4*time.Second, rows, temporal)
		if n := len(temporal.of("revive", rows.checks[0])); n != 1 {
			t.Errorf("%d calls in a pass, want 1", n)
		}
	})
}

// TestPagesEndBeforeThePass has more deliveries than a pass can start in its time: it ends before its limit, and the next one
// goes on.
func TestPagesEndBeforeThePass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &brokenStore{checks: newChecks(2000), only: "delivery"}
		temporal := &workflows{fail: func(ctx context.Context, _ string, _ uuid.UUID) error {
			time.Sleep(200 * time.Millisecond) // sleep: in a bubble only
			return ctx.Err()
		}}
		sweepFor(t, 2*time.Minute, rows, temporal) // 8 at a time take 50 s, beside the waits for the next passes
		for _, check := range rows.checks {
			if n := len(temporal.of("send", check)); n != 1 {
				t.Fatalf("%d calls to send one, want 1", n)
			}
		}
	})
}
