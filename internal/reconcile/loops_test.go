// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// newLoops is a store of loops that never ran, and of one that runs an older revision.
type newLoops struct {
	emptyStore
	temporal *workflows
	checks   []uuid.UUID
	region   string
	edited   uuid.UUID
	begins   bool // whether the first turn of a loop begins once Temporal has accepted it
	late     bool // the region is overloaded
	creating bool // more are created all the time
	editing  bool // the revision that runs is edited all the time
	since    time.Time
}

func (s *newLoops) OverloadedRegions(context.Context, time.Duration) (map[string]time.Duration, error) {
	if !s.late {
		return nil, nil //nolint:nilnil // none
	}
	return map[string]time.Duration{vigil.WorkerRegion(s.region): 2 * time.Second}, nil
}

func (s *newLoops) Lagging(_ context.Context, _ []int, limit int) ([]vigil.Loop, error) {
	var loops []vigil.Loop
	for _, check := range s.checks {
		if len(s.temporal.of("apply", check)) == 0 && len(loops) < limit {
			loops = append(loops, vigil.Loop{CheckID: check, Region: s.region, Desired: 1})
		}
	}
	if s.editing || len(s.temporal.of("apply", s.edited)) == 0 {
		loops = append(loops, vigil.Loop{CheckID: s.edited, Region: s.region, Desired: 2, Applied: 1})
	}
	return loops, nil
}

func (s *newLoops) Starting(context.Context, []int) (map[string]int, error) {
	if s.begins {
		return nil, nil //nolint:nilnil // none
	}
	return map[string]int{vigil.WorkerRegion(s.region): s.applied()}, nil
}

func (s *newLoops) WaitingToStart(_ context.Context, _ []int, after time.Time) (int, time.Time, error) {
	if !s.creating {
		return 0, s.since, nil
	}
	return int(time.Since(after) / time.Second * 100), s.since, nil
}

// applied returns how many of the new loops Temporal has accepted.
func (s *newLoops) applied() int {
	n := 0
	for _, check := range s.checks {
		n += len(s.temporal.of("apply", check))
	}
	return n
}

// TestStartsOfLoops tests how many new loops are started in the first seconds.
func TestStartsOfLoops(t *testing.T) {
	t.Parallel()
	const checks = 1500
	for name, c := range map[string]struct {
		region      string
		begins      bool
		late        bool
		creating    bool
		ago         time.Duration // since the oldest was created
		least, most int           // after five seconds
	}{
		"AsFastAsTheyBegin":              {region: region, begins: true, least: checks, most: checks},
		"FewWhileTheirTurnsDoNotBegin":   {region: region, least: 128 + 3*16, most: 128 + 5*16},
		"FewInAnOverloadedRegion":        {region: region, begins: true, late: true, least: 4 * 2, most: 6 * 2},
		"FewWhileManyAreCreated":         {region: region, begins: true, creating: true, least: 4 * 2, most: 6 * 2},
		"AllWhenThereIsNoEndOfIt":        {region: region, begins: true, creating: true, ago: time.Minute, least: checks, most: checks},
		"FewOfLocationsTillTurnsBegin":   {region: office, least: 128 + 3*16, most: 128 + 5*16},
		"FewOfOverloadedLocations":       {region: office, begins: true, late: true, least: 4 * 2, most: 6 * 2},
		"AllOfARegionThatHasNoWorkerYet": {region: "us-east-ewr", least: checks, most: checks},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				temporal := &workflows{}
				store := &newLoops{
					temporal: temporal, checks: newChecks(checks), region: c.region, edited: uuid.New(), begins: c.begins, late: c.late,
					creating: c.creating, since: time.Now().Add(-c.ago),
				}
				sweepFor(t, 5*time.Second, store, temporal)
				if n := store.applied(); n < c.least || n > c.most {
					t.Errorf("%d loops were started in 5 s, want %d to %d", n, c.least, c.most)
				}
				if len(temporal.of("apply", store.edited)) != 1 {
					t.Error("the revision of a loop that runs was not applied")
				}
			})
		})
	}
}

// TestEditsDuringStarts tests that new loops, whose starts take seconds, do not keep the
// revisions of others waiting.
func TestEditsDuringStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		temporal := &workflows{fail: func(context.Context, string, uuid.UUID) error {
			time.Sleep(50 * time.Millisecond)
			return nil
		}}
		store := &newLoops{temporal: temporal, checks: newChecks(1500), region: region, edited: uuid.New(), begins: true, editing: true}
		sweepFor(t, 4500*time.Millisecond, store, temporal)
		if n := store.applied(); n == 0 || n == len(store.checks) {
			t.Fatalf("%d loops were started, want the starts to take longer", n)
		}
		if n := len(temporal.of("apply", store.edited)); n < 4 || n > 6 {
			t.Errorf("a loop that is edited all the time got %d revisions in 4.5 s, want one each second", n)
		}
	})
}
