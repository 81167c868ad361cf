// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestCatalogueChanges tests how a catalogue handles changed definitions.
func TestCatalogueChanges(t *testing.T) {
	t.Parallel()

	t.Run("KeepsANewerDefinitionWhenAnOlderOneIsRead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			older := w.define(nil)
			newer := w.revise(older, func(d *vigil.Definition) { d.Check.Interval = 2 * time.Minute })
			turn := w.started(newer)
			ended := make(chan activities.TurnResult, 1)
			go func() { ended <- w.must(w.watch(turn)) }()
			synctest.Wait()
			w.set(func() { w.defs[older.Check.ID] = older })
			if err := w.catalogue.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			turn.Revision = 9 // the store has only the older one
			result := <-ended
			if result.Revision != 2 || result.End != vigil.TurnCovered {
				t.Errorf("revision %d, end %s", result.Revision, result.End)
			}
			turn.State = result.State
			if result = w.must(w.watch(turn)); result.Revision != 2 || w.parses != 1 || w.catalogue.Len() != 1 {
				t.Errorf("revision %d after %d parsed, %d known", result.Revision, w.parses, w.catalogue.Len())
			}
		})
	})

	t.Run("ReadsADefinitionOnlyWhenItsOwnIsOlder", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			def := w.define(nil)
			turn := w.started(def)
			turn = turnOf(def, w.must(w.watch(turn)).State)
			if w.reads != 1 || w.parses != 1 {
				t.Fatalf("%d read, %d parsed for one revision", w.reads, w.parses)
			}
			newer := w.revise(def, func(*vigil.Definition) {})
			turn = turnOf(newer, turn.State)
			if result := w.must(w.watch(turn)); result.Revision != 2 || w.reads != 2 || w.parses != 2 {
				t.Errorf("revision %d after %d read, %d parsed", result.Revision, w.reads, w.parses)
			}
			turn.Revision = 1
			if result := w.must(w.watch(turn)); result.Revision != 2 || w.reads != 2 {
				t.Errorf("revision %d after %d read", result.Revision, w.reads)
			}
		})
	})
}

// TestCatalogueTombstones tests how a catalogue handles tombstones.
func TestCatalogueTombstones(t *testing.T) {
	t.Parallel()

	t.Run("EndsTheTurnsOfAllChecksThatOnePollFindsDeleted", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			stays := w.define(nil)
			ended := make(chan activities.TurnResult, 3)
			var removed []vigil.Definition
			for range 3 {
				def := w.define(nil)
				removed = append(removed, def)
				turn := w.started(def)
				go func() { ended <- w.must(w.watch(turn)) }()
			}
			w.started(stays)
			synctest.Wait()
			w.set(func() { // neither a check nor a region of this worker
				w.gone = []vigil.Tombstone{{CheckID: uuid.New(), Region: region}, {CheckID: stays.Check.ID, Region: "elsewhere"}}
				w.reads = 0
			})
			began := time.Now()
			w.remove(removed...)
			for range 3 {
				if result := <-ended; result.End != vigil.TurnGone || time.Since(began) > time.Second {
					t.Errorf("end %s after %v", result.End, time.Since(began))
				}
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if w.catalogue.Len() != 1 || w.reads != 6 {
				t.Errorf("%d known after %d readings, want 1 after one for each tombstone and turn", w.catalogue.Len(), w.reads)
			}
		})
	})

	t.Run("KeepsACheckThatLosesOneRegion", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			w.set(func() { w.noChanges = true })
			def := w.define(func(d *vigil.Definition) { d.Starts["other"] = time.Now() })
			turn := w.started(def)
			time.AfterFunc(5*time.Second, func() {
				w.revise(def, func(d *vigil.Definition) { d.Starts = map[string]time.Time{"other": time.Now()} })
				w.set(func() { w.gone = []vigil.Tombstone{{CheckID: def.Check.ID, Region: region}} })
			})
			began := time.Now()
			result := w.must(w.watch(turn))
			if result.End != vigil.TurnGone || result.Revision != 2 || time.Since(began) > 6*time.Second {
				t.Errorf("end %s with revision %d after %v", result.End, result.Revision, time.Since(began))
			}
			if w.catalogue.Len() != 1 {
				t.Errorf("%d known", w.catalogue.Len())
			}
		})
	})
}

// TestCatalogueTombstoneReads tests how a catalogue reads the check of a tombstone.
func TestCatalogueTombstoneReads(t *testing.T) {
	t.Parallel()

	t.Run("RepeatsAPollWhoseTombstoneCannotBeRead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			w.started(def)
			time.Sleep(2500 * time.Millisecond)
			w.set(func() { w.oneErr = errors.New("postgres is down") })
			w.remove(def)
			time.Sleep(2 * time.Second)
			if n := w.log.count("catalogue not refreshed"); n != 2 || w.catalogue.Len() != 1 {
				t.Errorf("%d warnings with %d known, want 2 and 1", n, w.catalogue.Len())
			}
			w.set(func() { w.oneErr = nil })
			time.Sleep(time.Second)
			synctest.Wait()
			if last := w.polls[4]; w.catalogue.Len() != 0 || last.since != w.polls[2].since {
				t.Errorf("%d known after a poll since %v, want none since %v", w.catalogue.Len(), last.since, w.polls[2].since)
			}
		})
	})

	t.Run("KeepsADefinitionThatArrivesWhileItsTombstoneIsRead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			def := w.define(nil)
			turn := w.started(def)
			w.set(func() { w.noChanges = true })
			once := true
			w.onRead = func() {
				if !once {
					return
				}
				once = false
				w.revise(def, func(*vigil.Definition) {})
				if err := w.catalogue.Load(t.Context()); err != nil {
					t.Error(err)
				}
				w.set(func() { delete(w.defs, def.Check.ID) })
			}
			w.remove(def)
			time.Sleep(1500 * time.Millisecond)
			if once || w.catalogue.Len() != 1 {
				t.Errorf("%d known, the tombstone unread: %v", w.catalogue.Len(), once)
			}
			stop := make(chan struct{})
			close(stop)
			if result := w.must(w.watchUntil(turn, stop)); result.End != vigil.TurnHandOver || result.Revision != 2 {
				t.Errorf("end %s with revision %d", result.End, result.Revision)
			}
		})
	})
}

// remove deletes checks, each with a tombstone.
func (w *watchFixture) remove(defs ...vigil.Definition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, def := range defs {
		delete(w.defs, def.Check.ID)
		w.gone = append(w.gone, vigil.Tombstone{CheckID: def.Check.ID, Region: region})
	}
}
