// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// TestOverloadedRegions tests which regions count as overloaded.
func TestOverloadedRegions(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	late := fleet.Load{Lateness: 1500 * time.Millisecond, Overloaded: true}
	for _, w := range []struct {
		name    string
		regions []string
		load    fleet.Load
	}{
		{"a", []string{newark, frankfurt}, late},
		{"b", []string{newark}, fleet.Load{Lateness: 3 * time.Second}},
		{"c", []string{frankfurt}, fleet.Load{}},
		{"d", []string{frankfurt}, fleet.Load{}},
		{"e", []string{singapore}, fleet.Load{Lateness: 2 * time.Second}},
	} {
		if _, err := s.RenewLease(t.Context(), fleet.Renewal{Worker: w.name, Regions: w.regions}); err != nil {
			t.Fatal(err)
		}
		if err := s.ReportLoad(t.Context(), w.name, w.load); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.RenewLease(t.Context(), fleet.Renewal{Worker: "a", Regions: []string{newark, frankfurt}}); err != nil {
		t.Fatal(err)
	}
	overloaded := func(want map[string]time.Duration) {
		t.Helper()
		got, err := s.OverloadedRegions(t.Context(), time.Minute)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("overloaded: %v, %v; want %v", got, err, want)
		}
	}
	overloaded(map[string]time.Duration{newark: 3 * time.Second}) // one of two workers; in Frankfurt one of three
	if err := s.ReportLoad(t.Context(), "e", late); err != nil {
		t.Fatal(err)
	}
	overloaded(map[string]time.Duration{newark: 3 * time.Second, singapore: late.Lateness})
	_, err := s.RenewLease(t.Context(), fleet.Renewal{Worker: "e", Regions: []string{singapore}, ClockDifference: 2 * fleet.ClockLimit})
	if err != nil {
		t.Fatal(err)
	}
	overloaded(map[string]time.Duration{newark: 3 * time.Second}) // a worker whose clock is wrong does not probe
	if _, err := s.DB().ExecContext(t.Context(),
		"UPDATE worker_leases SET renewed_at = renewed_at - interval '2 minutes' WHERE worker = 'a'"); err != nil {
		t.Fatal(err)
	}
	overloaded(map[string]time.Duration{}) // a lease that is not renewed says nothing
}

// TestBeginTest tests how many tests of an organization run at the same time.
func TestBeginTest(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, other := uuid.New(), uuid.New()
	begin := func(org, id uuid.UUID, longest time.Duration) bool {
		admitted, err := s.BeginTest(t.Context(), org, id, newark, 5, longest)
		if err != nil {
			t.Error(err)
		}
		return admitted
	}
	var group sync.WaitGroup
	var admitted atomic.Int64
	var mu sync.Mutex
	var ids []uuid.UUID
	for range 12 {
		group.Go(func() {
			id := uuid.New()
			if begin(org, id, time.Minute) {
				admitted.Add(1)
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if admitted.Load() != 5 {
		t.Fatalf("%d of 12 tests at once were admitted, want 5", admitted.Load())
	}
	if !begin(other, uuid.New(), time.Minute) {
		t.Error("the tests of one organization count for another")
	}
	if err := s.EndTest(t.Context(), org, ids[0]); err != nil {
		t.Fatal(err)
	}
	if !begin(org, uuid.New(), -time.Second) || !begin(org, uuid.New(), time.Minute) || begin(org, uuid.New(), time.Minute) {
		t.Error("after one ended, and one whose time is over, one more is admitted each")
	}
}
