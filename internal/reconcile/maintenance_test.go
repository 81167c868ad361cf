// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// maintainedStore has a check whose maintenance is over, and results to mark again, for
// every check until they are done. A rule fires in those with an even last byte.
type maintainedStore struct{ brokenStore }

func (s *maintainedStore) EndedHolds(_ context.Context, _ []int, limit int) ([]maintenance.Hold, error) {
	return rowsOf(&s.brokenStore, "hold", limit, func(check uuid.UUID) maintenance.Hold {
		return maintenance.Hold{CheckID: check, Firing: check[15]%2 == 0}
	})
}

func (s *maintainedStore) ReleaseHold(_ context.Context, _ fleet.SweepLease, hold maintenance.Hold) error {
	return s.mark("hold", hold.CheckID)
}

func (s *maintainedStore) PutOffHold(_ context.Context, _ fleet.SweepLease, hold maintenance.Hold) error {
	return s.mark("hold", hold.CheckID)
}

func (s *maintainedStore) DueReclassifications(_ context.Context, _ []int, limit int) ([]vigil.ResultSpan, error) {
	return rowsOf(&s.brokenStore, "span", limit, func(check uuid.UUID) vigil.ResultSpan { return vigil.ResultSpan{CheckID: check} })
}

func (s *maintainedStore) Reclassify(_ context.Context, _ fleet.SweepLease, span vigil.ResultSpan) error {
	return s.mark("span", span.CheckID)
}

// brokenFor is a Temporal whose workflows of one check cannot be woken.
func brokenFor(broken uuid.UUID) *workflows {
	return &workflows{fail: func(_ context.Context, _ string, check uuid.UUID) error {
		if check == broken {
			return errors.New("the workflow is broken")
		}
		return nil
	}}
}

// TestEndOfMaintenance has more checks than a page: all are woken by the first pass after
// the end, once, and one that cannot be woken holds up none.
func TestEndOfMaintenance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &maintainedStore{brokenStore{checks: newChecks(450), only: "hold"}}
		temporal := brokenFor(rows.checks[0])
		sweepFor(t, 1500*time.Millisecond, rows, temporal)
		for _, check := range rows.checks {
			want, other := "refresh", "revive"
			if check[15]%2 == 0 { // a rule fires: its workflow must run
				want, other = other, want
			}
			if n := len(temporal.of(want, check)); n != 1 || len(temporal.of(other, check)) != 0 {
				t.Fatalf("%d calls to %s a check, want 1", n, want)
			}
		}
	})
}

// TestReclassification has more spans than a page, which the first pass marks.
func TestReclassification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &maintainedStore{brokenStore{checks: newChecks(450), only: "span"}}
		sweepFor(t, 1500*time.Millisecond, rows, &workflows{})
		if len(rows.done) != len(rows.checks) {
			t.Errorf("%d of %d spans are marked", len(rows.done), len(rows.checks))
		}
	})
}
