// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const office = "loc-office"

// sentStore has what agents sent, in memory: the tests are about times. Its cursors are how many were sent.
type sentStore struct {
	mu     sync.Mutex
	all    []location.Sent
	taken  map[int64]bool
	wanted []location.Wanted
	taker  bool // an agent takes tasks
	served []string
	// held is what the next read of a loop waits for once it has read; full makes the next look find
	// more than it may read.
	held chan struct{}
	full bool
}

// serve sets which regions of the platform agents serve.
func (s *sentStore) serve(regions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = regions
}

// send adds a result that is received now.
func (s *sentStore) send(check uuid.UUID, slot time.Time, seen vigil.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, location.Sent{Number: int64(len(s.all) + 1), Received: time.Now(), Result: vigil.Result{
		ID: vigil.ResultID(check, office, slot), CheckID: check, Region: office, Slot: slot, Time: slot, Observation: seen,
	}})
}

func (s *sentStore) NewSentResults(_ context.Context, cursor string, _ int) ([]location.Sent, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		s.full = false
		return nil, "", nil
	}
	n, _ := strconv.Atoi(cmp.Or(cursor, strconv.Itoa(len(s.all))))
	return slices.Clone(s.all[n:]), strconv.Itoa(len(s.all)), nil
}

func (s *sentStore) SentResults(_ context.Context, check uuid.UUID, region string, limit int) ([]location.Sent, error) {
	s.mu.Lock()
	held := s.held
	s.held = nil
	defer func() {
		s.mu.Unlock()
		if held != nil {
			<-held
		}
	}()
	var found []location.Sent
	for _, one := range s.all {
		if one.CheckID == check && one.Region == region && !s.taken[one.Number] {
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b location.Sent) int { return a.Slot.Compare(b.Slot) })
	return found[:min(len(found), limit)], nil
}

func (s *sentStore) TakeSentResults(_ context.Context, ids []int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.taken[id] = true
	}
	return nil
}

func (s *sentStore) AgentRegions(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.served, nil
}

func (s *sentStore) AddTask(_ context.Context, wanted location.Wanted) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted = append(s.wanted, wanted)
	return nil
}

func (s *sentStore) TaskState(context.Context, uuid.UUID) (bool, *vigil.Result, error) {
	if !s.taker {
		return false, nil, nil
	}
	return true, &vigil.Result{Time: time.Now(), Observation: vigil.Observation{Success: true, ResponseTime: time.Second}}, nil
}

func (s *sentStore) EndTask(context.Context, uuid.UUID) error { return nil }

// sentFixture is a Watcher whose results agents send.
func sentFixture(t *testing.T) (*watchFixture, *sentStore) {
	t.Helper()
	return sentFixtureOf(t, nil)
}

// sentFixtureOf is sentFixture in a process that was given regions to probe, beside those that agents serve.
func sentFixtureOf(t *testing.T, own []string, served ...string) (*watchFixture, *sentStore) {
	t.Helper()
	inbox, store := sentInbox(t, own, served...)
	return newWatchFixture(t, func(o *activities.WatcherOptions) {
		o.Inbox, o.TurnRate, o.QuietWindow = inbox, 0.001, time.Hour
	}), store
}

// sentInbox returns a running inbox and what it reads.
func sentInbox(t *testing.T, own []string, served ...string) (*activities.Inbox, *sentStore) {
	t.Helper()
	store := &sentStore{taken: make(map[int64]bool), served: served}
	inbox := activities.NewInbox(store, slog.New(slog.DiscardHandler))
	if err := inbox.Load(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go inbox.Run(ctx)
	return inbox, store
}

// placed is a check in the office, with one rule.
func placed(condition vigil.Condition) func(*vigil.Definition) {
	return func(def *vigil.Definition) {
		firing(condition)(def)
		def.Check.Regions, def.Starts = []string{office}, map[string]time.Time{office: time.Now()}
	}
}

func sentTurn(def vigil.Definition, state vigil.State, span int) activities.Turn {
	return activities.Turn{CheckID: def.Check.ID, Region: office, Revision: def.Check.Revision, State: state, Span: span}
}

// TestSentResults proves that a turn stores and judges what agents send, probes nothing, and ends with its slots.
func TestSentResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store := sentFixture(t)
		def := w.define(placed(vigil.Condition{FailureThreshold: 2}))
		schedule, _ := def.Schedule(office)
		slot := schedule.First()
		go func() {
			for i := range 7 {
				time.Sleep(time.Until(slot) + 300*time.Millisecond) // sleep: an agent probes
				seen := vigil.Observation{Success: i < 5, ResponseTime: time.Millisecond}
				if !seen.Success {
					seen.Error = "down"
				}
				store.send(def.Check.ID, slot, seen)
				slot = schedule.Next(slot)
			}
		}()
		turn, turns := sentTurn(def, vigil.State{}, 1), 0
		for ; turn.State.Failures < 2; turns++ {
			result := w.must(w.watch(turn))
			turn = sentTurn(def, result.State, result.Span)
		}
		if turn.State.Health != vigil.Unhealthy || len(w.rows) != 7 || len(w.runs) != 0 || turns > 5 {
			t.Errorf("after %d turns %+v, %d results, %d probes", turns, turn.State, len(w.rows), len(w.runs))
		}
		for i, row := range w.written {
			if row.Late || row.Result.Region != office || i > 0 && !row.Result.Slot.After(w.written[i-1].Result.Slot) {
				t.Errorf("result %d: %+v", i, row)
			}
		}
		time.Sleep(3 * time.Second) // sleep: what was taken is deleted
		if left, _ := store.SentResults(t.Context(), def.Check.ID, office, 100); len(left) > 1 {
			t.Errorf("%d are not taken", len(left))
		}
	})
}

// TestLateSentResults proves that results which come long after their slots fill them and open nothing, before
// and after those of the present.
func TestLateSentResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store := sentFixture(t)
		def := w.define(placed(vigil.Condition{FailureThreshold: 1}))
		schedule, _ := def.Schedule(office)
		slots := []time.Time{schedule.First()}
		for range 20 {
			slots = append(slots, schedule.Next(slots[len(slots)-1]))
		}
		up, down := vigil.Observation{Success: true}, vigil.Observation{Error: "down"}
		go func() {
			time.Sleep(time.Until(slots[0]) + time.Second) // sleep: the first slot
			store.send(def.Check.ID, slots[0], up)
			time.Sleep(time.Until(slots[15]) + time.Second) // sleep: the line is cut
			for _, slot := range slots[1:7] {               // the oldest first
				store.send(def.Check.ID, slot, down)
			}
			store.send(def.Check.ID, slots[15], up)
			for _, slot := range slots[7:15] {
				store.send(def.Check.ID, slot, down)
			}
		}()
		turn := sentTurn(def, vigil.State{}, 1)
		for {
			w.mu.Lock()
			stored := len(w.rows)
			w.mu.Unlock()
			if stored == 16 {
				break
			}
			result, err := w.watchUntil(turn, closedAfter(time.Until(slots[18])))
			if err != nil {
				t.Fatal(err)
			}
			turn = sentTurn(def, result.State, result.Span)
		}
		if turn.State.Health != vigil.Healthy || turn.State.Failures != 0 {
			t.Errorf("the past was judged: %+v", turn.State)
		}
		late := 0
		for _, row := range w.written {
			if row.Late {
				late++
			}
		}
		if late < 13 || late > 14 { // the deadline and a minute pass before the newest of them is late, or another was before it
			t.Errorf("%d of %d are late", late, len(w.written))
		}
	})
}

// TestSentResultsDuringARead proves that a result which comes while a turn reads its own, in a burst of which
// each turn must read its part, is not passed over.
func TestSentResultsDuringARead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, store := sentFixture(t)
		def := w.define(placed(vigil.Condition{FailureThreshold: 2}))
		schedule, _ := def.Schedule(office)
		slot, held := schedule.First(), make(chan struct{})
		store.held = held
		go func() {
			time.Sleep(time.Until(slot) + 300*time.Millisecond) // sleep: an agent probes
			store.send(def.Check.ID, slot, vigil.Observation{Success: true})
			store.mu.Lock()
			store.full = true
			store.mu.Unlock()
			time.Sleep(2 * time.Second) // sleep: the looks of this time, while the read goes on
			close(held)
		}()
		if _, err := w.watchUntil(sentTurn(def, vigil.State{}, 1), closedAfter(time.Until(slot)+10*time.Second)); err != nil {
			t.Fatal(err)
		}
		if len(w.rows) != 1 {
			t.Errorf("%d results, want the one that was sent", len(w.rows))
		}
	})
}

// closedAfter returns a channel that is closed after a duration.
func closedAfter(d time.Duration) chan struct{} {
	stop := make(chan struct{})
	time.AfterFunc(d, func() { close(stop) })
	return stop
}

// TestRegionOfAgentsThatIsNew proves that a process which runs the loops of locations says that it does not run
// those of a region that agents serve since its start, once, and no other process says so.
func TestRegionOfAgentsThatIsNew(t *testing.T) {
	t.Parallel()
	for own, want := range map[string]int{vigil.LocationsRegion: 1, "ap-east-hkg": 0} {
		synctest.Test(t, func(t *testing.T) {
			var log logBuffer
			store := &sentStore{served: []string{"eu-west-ams"}}
			inbox := activities.NewInbox(store, slog.New(slog.NewTextHandler(&log, nil)))
			if err := inbox.Load(t.Context(), []string{own, "eu-west-lhr"}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go inbox.Run(ctx)
			store.serve("eu-central-fra", "eu-west-ams", "eu-west-lhr")
			time.Sleep(time.Minute) // sleep: it looks every few seconds
			if all, one := log.count("after a restart"), log.count("region=eu-central-fra"); all != want || one != want {
				t.Errorf("a process with %s says it %d times, of the region %d times", own, all, one)
			}
		})
	}
}

// TestAgentsLeaveARegion proves what a process does in a region of the platform once agents do not serve it any
// more: it probes where it was given the region, within seconds although a turn waits for results, and where it was
// not it probes nothing, however many slots come and turns begin.
func TestAgentsLeaveARegion(t *testing.T) {
	t.Parallel()
	for name, own := range map[string][]string{"own": {region}, "of agents only": {"ap-east-hkg"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, store := sentFixtureOf(t, own, region)
				def := w.define(firing(vigil.Condition{FailureThreshold: 1}))
				turn := turnOf(def, vigil.State{})
				leave := time.Now().Add(5*def.Check.Interval + time.Second)
				left := closedAfter(time.Until(leave))
				go func() {
					<-left
					store.serve()
				}()
				for end := leave.Add(10 * def.Check.Interval); time.Now().Before(end); {
					result := w.must(w.watchUntil(turn, closedAfter(time.Until(end))))
					turn.State, turn.Span = result.State, result.Span
				}
				switch {
				case own[0] != region && len(w.runs) > 0:
					t.Errorf("probed %d times from here for a region that was served by agents only", len(w.runs))
				case own[0] == region && (len(w.runs) < 9 || w.runs[0].Before(leave) || w.runs[0].After(leave.Add(6*time.Second))):
					t.Errorf("agents left at %v, probes at %v", leave, w.runs)
				}
				if _, err := w.test(def, true); (err == nil) != (own[0] == region) {
					t.Errorf("a test by hand: %v", err)
				}
			})
		})
	}
}

// TestSentResultOfALostTurn proves that a result which arrives after Temporal has lost the next turn is stored and judged, although
// its slot is hours away.
func TestSentResultOfALostTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inbox, store := sentInbox(t, nil)
		a := newApart(t, func(o *activities.WatcherOptions) { o.Inbox = inbox })
		a.lost = true
		go func() {
			for timing.Sleep(t.Context(), time.Second) == nil {
				a.lease.Renewed(time.Now(), map[string]int64{vigil.LocationsRegion: 1}, 0)
			}
		}()
		a.lease.Renewed(time.Now(), map[string]int64{vigil.LocationsRegion: 1}, 0)
		def := a.define(func(def *vigil.Definition) {
			placed(vigil.Condition{FailureThreshold: 1})(def)
			def.Check.Interval = 24 * time.Hour
		})
		schedule, _ := def.Schedule(office)
		first := schedule.First()
		store.send(def.Check.ID, first, vigil.Observation{Success: true})
		a.start(sentTurn(def, vigil.State{}, 1), plain)
		if end := <-a.ended; end.err != nil || !end.result.State.Slot.Equal(first) {
			t.Fatalf("the first turn ended with %+v", end)
		}
		time.Sleep(time.Minute) // sleep: in a bubble only
		store.send(def.Check.ID, first.Add(time.Minute), vigil.Observation{Error: "down"})
		time.Sleep(3 * time.Second) // sleep: in a bubble only
		a.watchFixture.mu.Lock()
		defer a.watchFixture.mu.Unlock()
		if len(a.rows) != 2 {
			t.Errorf("%d results, want two: %+v", len(a.rows), a.rows)
		}
	})
}
