// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// reported are the events about a check that was not probed, in the order of the stream.
func reported(t *testing.T, s *storage.Store, c vigil.Check) (types []vigil.EventType, ends []string) {
	t.Helper()
	events, err := s.EventsAfter(t.Context(), c.OrgID, vigil.Position{}, time.Time{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.Type.System() { // that the check was paused is another event
			continue
		}
		var body struct {
			Data struct {
				Unobserved struct{ End string }
				Check      struct{ Name string }
			}
		}
		if err := json.Unmarshal(e.Envelope, &body); err != nil || body.Data.Check.Name != c.Name {
			t.Errorf("the event %s, %v", e.Envelope, err)
		}
		types, ends = append(types, e.Type), append(ends, body.Data.Unobserved.End)
	}
	return types, ends
}

func TestUnobservedChecksAreReported(t *testing.T) {
	t.Parallel()
	type world struct {
		s     *storage.Store
		clk   *clock
		c     vigil.Check
		slots []time.Time
	}
	begin := func(t *testing.T, regions ...string) world {
		t.Helper()
		s, clk, c, _ := watchedCheck(t, regions...)
		slots := firstSlots(t, s, c, 60)
		w := newWriter(t, s, storage.WriterOptions{})
		for _, region := range regions {
			write(t, w, ok(c, region, slots[0]))
		}
		return world{s, clk, c, slots}
	}
	// pass does what the sweep does, twice, since a pass may be repeated.
	pass := func(t *testing.T, w world, since time.Time) {
		t.Helper()
		lease := leaseOf(t, w.s, w.c.ID)
		for range 2 {
			ended, err := w.s.ObservedAgain(t.Context(), w.clk.Now(), fleet.EverySweepShard(), 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range ended {
				if _, err := w.s.EndUnobserved(t.Context(), lease, one.CheckID, ""); err != nil {
					t.Fatal(err)
				}
				if _, err := w.s.EndUnobserved(t.Context(), lease, one.CheckID, ""); err != nil {
					t.Fatal(err)
				}
			}
			begun, err := w.s.Unobserved(t.Context(), w.clk.Now(), since, fleet.EverySweepShard(), 10)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range begun {
				if _, err := w.s.BeginUnobserved(t.Context(), lease, one.CheckID, since, ""); err != nil {
					t.Fatal(err)
				}
				if _, err := w.s.BeginUnobserved(t.Context(), lease, one.CheckID, since, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	both := []vigil.EventType{vigil.EventUnobserved, vigil.EventObserved}

	for name, end := range map[string]func(*testing.T, world){
		"result": func(t *testing.T, w world) {
			t.Helper()
			write(t, newWriter(t, w.s, storage.WriterOptions{}), ok(w.c, newark, w.slots[9]))
		},
		"disabled": func(t *testing.T, w world) {
			t.Helper()
			update(t, w.s, w.c, func(c *vigil.Check) { c.Enabled = false })
		},
		"deleted": func(t *testing.T, w world) {
			t.Helper()
			if _, err := w.s.DeleteCheck(t.Context(), w.c.OrgID, w.c.ID, nil); err != nil {
				t.Fatal(err)
			}
		},
		"changed": func(t *testing.T, w world) {
			t.Helper()
			update(t, w.s, w.c, func(c *vigil.Check) { c.Interval = time.Minute })
		},
	} {
		t.Run("UntilEachEnd/"+name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, newark)
			w.clk.Set(w.slots[2])
			pass(t, w, epoch())
			if types, _ := reported(t, w.s, w.c); types != nil {
				t.Errorf("reported %v of a check that is probed", types)
			}
			w.clk.Set(w.slots[9])
			pass(t, w, epoch())
			types, _ := reported(t, w.s, w.c)
			equal(t, types, both[:1])
			end(t, w)
			pass(t, w, epoch())
			types, ends := reported(t, w.s, w.c)
			equal(t, types, both)
			equal(t, ends, []string{"", name})
		})
	}

	t.Run("OnlyWhenNoRegionIsObserved", func(t *testing.T) {
		t.Parallel()
		w := begin(t, newark, frankfurt)
		writer := newWriter(t, w.s, storage.WriterOptions{})
		for _, slot := range w.slots[1:10] {
			write(t, writer, ok(w.c, frankfurt, slot))
		}
		w.clk.Set(w.slots[10])
		pass(t, w, epoch())
		if types, _ := reported(t, w.s, w.c); types != nil {
			t.Errorf("reported %v", types)
		}
		loops, err := w.s.UnobservedLoops(t.Context())
		if err != nil || len(loops) != 1 || loops[newark] != 1 {
			t.Errorf("loops %v, %v", loops, err)
		}
	})

	t.Run("NotAfterThePlatformWasDownUntilItHadTime", func(t *testing.T) {
		t.Parallel()
		w := begin(t, newark)
		w.clk.Set(w.slots[40].Add(10 * time.Second))
		pass(t, w, w.slots[40])
		if types, _ := reported(t, w.s, w.c); types != nil {
			t.Errorf("reported %v 10 s after the start of the platform", types)
		}
		w.clk.Set(w.slots[40].Add(26 * time.Second)) // two intervals and the deadline
		pass(t, w, w.slots[40])
		types, _ := reported(t, w.s, w.c)
		equal(t, types, both[:1])
	})

	t.Run("NotInMaintenance", func(t *testing.T) {
		t.Parallel()
		for _, probing := range []string{"pause", "continue"} {
			w := begin(t, newark)
			maintain(t, w.s, maintenanceDraft{org: w.c.OrgID, all: true, starts: w.slots[1], ends: w.slots[30], probing: probing})
			w.clk.Set(w.slots[20])
			pass(t, w, epoch())
			if types, _ := reported(t, w.s, w.c); types != nil {
				t.Errorf("reported %v in maintenance: %s", types, probing)
			}
			w.clk.Set(w.slots[40])
			pass(t, w, epoch())
			types, _ := reported(t, w.s, w.c)
			equal(t, types, both[:1])
		}
	})

	t.Run("NotUnderAnOldFence", func(t *testing.T) {
		t.Parallel()
		w := begin(t, newark)
		w.clk.Set(w.slots[20])
		old := leaseOf(t, w.s, w.c.ID)
		old.Fence--
		if _, err := w.s.BeginUnobserved(t.Context(), old, w.c.ID, epoch(), ""); err != nil {
			t.Fatal(err)
		}
		if types, _ := reported(t, w.s, w.c); types != nil {
			t.Errorf("reported %v", types)
		}
	})
}
