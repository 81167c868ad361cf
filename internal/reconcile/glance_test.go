// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// restingStore counts what is asked while there is nothing to do. From an instant on a loop lags and a check is held.
type restingStore struct {
	emptyStore
	from time.Time // zero: there is never work
	hang bool      // no look is answered before its context ends

	mu    sync.Mutex
	looks []time.Time
	asked map[string][]time.Time // passes that have looked for their rows
}

func (s *restingStore) SweepWork(ctx context.Context, now time.Time) (fleet.Work, error) {
	s.mu.Lock()
	s.looks = append(s.looks, time.Now())
	s.mu.Unlock()
	if s.hang {
		<-ctx.Done()
		return fleet.Work{}, errAway
	}
	some := !s.from.IsZero() && !time.Now().Before(s.from)
	return fleet.Work{Lagging: some, Holds: some}, nil
}

func (s *restingStore) ask(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = make(map[string][]time.Time)
	}
	s.asked[what] = append(s.asked[what], time.Now())
}

func (s *restingStore) Lagging(context.Context, []int, int) ([]vigil.Loop, error) {
	s.ask("loops")
	return nil, nil
}

func (s *restingStore) EndedHolds(context.Context, []int, int) ([]maintenance.Hold, error) {
	s.ask("holds")
	return nil, nil
}

func (s *restingStore) Tombstones(context.Context, []int, int) ([]vigil.Tombstone, error) {
	s.ask("tombstones")
	return nil, nil
}

// TestPassesShareTheirLooks holds that a sweep without work asks twice a second in all, that no pass without work asks for its
// rows, and that the first work after a rest is seen as soon as by a pass that always asks.
func TestPassesShareTheirLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		rows := &restingStore{from: began.Add(20*time.Second + time.Millisecond)}
		sweepFor(t, 30*time.Second, rows, &workflows{})
		if n := len(rows.looks); n < 58 || n > 60 {
			t.Errorf("%d looks in 30 s", n)
		}
		for what, within := range map[string]time.Duration{"loops": time.Second, "holds": time.Second / 2} {
			asked := rows.asked[what]
			if len(asked) == 0 {
				t.Errorf("no pass has asked for %s", what)
				continue
			}
			if first := asked[0].Sub(rows.from); first < 0 || first > within {
				t.Errorf("%s were asked for %v after there were some", what, first)
			}
			if n, want := len(asked), int(10*time.Second/within); n < want-1 || n > want {
				t.Errorf("%s were asked for %d times in 10 s", what, n)
			}
		}
		if asked := rows.asked["tombstones"]; len(asked) > 0 {
			t.Errorf("tombstones were asked for %d times, and there are none", len(asked))
		}
	})
}

// TestPassesDoNotWaitForALookOneAfterTheOther holds that a database that hangs takes the time of one look from all of them.
func TestPassesDoNotWaitForALookOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := &restingStore{hang: true}
		sweepFor(t, 65*time.Second, rows, &workflows{})
		if n := len(rows.looks); n != 3 { // 30 s each
			t.Errorf("%d looks in 65 s", n)
		}
		if gap := slices.MaxFunc(rows.looks[1:], func(a, b time.Time) int { return a.Compare(b) }).Sub(rows.looks[0]); gap > 62*time.Second {
			t.Errorf("the last look is %v after the first", gap)
		}
	})
}
