// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

func epochOf(t *testing.T, s *storage.Store) fleet.Epoch {
	t.Helper()
	e, err := s.Epoch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEpoch(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	lease := renewSweep(t, s, "test", sweepLength)[fleet.CommonShard]
	old := fleet.SweepLease{Shard: lease.Shard, Fence: lease.Fence - 1}
	first := epochOf(t, s)
	if first.Number != 1 || first.Floor != 0 || !first.Due {
		t.Errorf("the epoch is %+v at first", first)
	}
	announce := func(lease fleet.SweepLease, from fleet.Epoch, floor int64, want bool) {
		t.Helper()
		if got, err := s.AnnounceEpoch(t.Context(), lease, from, floor); err != nil || got != want {
			t.Errorf("changed %v (%v), want %v", got, err, want)
		}
	}
	confirm := func(lease fleet.SweepLease, number, floor int64) {
		t.Helper()
		if err := s.ConfirmEpoch(t.Context(), lease, number); err != nil {
			t.Fatal(err)
		}
		if got := epochOf(t, s); got.Number != 2 || got.Floor != floor || got.Due {
			t.Errorf("the epoch is %+v, want floor %d", got, floor)
		}
	}
	announce(old, first, 1, false)
	announce(lease, first, 1, true)
	announce(lease, first, 1, false) // another process was faster
	confirm(old, 2, 1)
	confirm(lease, 1, 1) // that one is over
	confirm(lease, 2, 2)
	if found, err := s.FoundRestore(t.Context(), old, epochOf(t, s), 9, fleet.DatabaseOlder); err != nil || found {
		t.Errorf("found %v (%v) under an old fence", found, err)
	}
}
