// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// full is the time between two full loads of a catalogue.
const full = 5 * time.Minute

// polled lists the polls as "2s since 1s" and the full loads as "5m0s full". Both times
// are relative to began.
func (w *watchFixture) polled(began time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list []string
	for _, p := range w.polls {
		text := p.at.Sub(began).String()
		if p.since.IsZero() {
			text += " full"
		} else {
			text += " since " + p.since.Sub(began).String()
		}
		list = append(list, text)
	}
	return list
}

// wantPolls compares all polls, or with part = {skip, count} some of them.
func (w *watchFixture) wantPolls(began time.Time, want []string, part ...int) {
	w.Helper()
	synctest.Wait()
	got := w.polled(began)
	if len(part) == 2 {
		if len(got) < part[0]+part[1] {
			w.Fatalf("%d polls: %v", len(got), got)
		}
		got = got[part[0] : part[0]+part[1]]
	}
	if !slices.Equal(got, want) {
		w.Errorf("polls %v, want %v", got, want)
	}
}

// TestCatalogueRefresh tests when a catalogue polls, and for which changes.
func TestCatalogueRefresh(t *testing.T) {
	t.Parallel()

	down := errors.New("postgres is down")

	t.Run("AsksForChangesSinceThePollBefore", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			began := time.Now()
			time.Sleep(3500 * time.Millisecond)
			w.wantPolls(began, []string{"1s since 0s", "2s since 1s", "3s since 2s"})
		})
	})

	t.Run("AsksAgainFromTheLastPollThatSucceeded", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			began := time.Now()
			time.Sleep(2500 * time.Millisecond)
			w.set(func() { w.readErr = down })
			time.Sleep(3 * time.Second)
			w.set(func() { w.readErr = nil })
			time.Sleep(2 * time.Second)
			w.wantPolls(began, []string{"1s since 0s", "2s since 1s", "3s since 2s", "4s since 2s", "5s since 2s", "6s since 2s", "7s since 6s"})
			line := "msg=\"catalogue not refreshed, using the last definitions\" error=\"postgres is down\""
			if n := w.log.count(line); n != 3 {
				t.Errorf("%d warnings, want one for each of the 3 failed polls", n)
			}
		})
	})

	t.Run("LoadsAllDefinitionsEveryFiveMinutes", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			began := time.Now()
			time.Sleep(2*full + 1500*time.Millisecond)
			w.wantPolls(began, []string{"4m59s since 4m58s", "5m0s full", "5m0s since 5m0s", "5m1s since 5m0s"}, 298, 4)
			w.wantPolls(began, []string{"9m59s since 9m58s", "10m0s full", "10m0s since 10m0s", "10m1s since 10m0s"}, 599, 4)
		})
	})
}

// TestCatalogueFullLoad tests when a catalogue loads all definitions.
func TestCatalogueFullLoad(t *testing.T) {
	t.Parallel()
	down := errors.New("postgres is down")

	t.Run("GoesOnToPollAfterAFailedFullLoad", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newWatchFixture(t)
			began := time.Now()
			time.Sleep(full - 500*time.Millisecond)
			w.set(func() { w.readErr = down })
			time.Sleep(3 * time.Second)
			w.set(func() { w.readErr = nil })
			time.Sleep(2 * time.Second)
			w.wantPolls(began, []string{
				"5m0s full", "5m0s since 4m59s", "5m1s since 4m59s", "5m2s since 4m59s", "5m3s since 4m59s", "5m4s since 5m3s",
			}, 299, 6)
			time.Sleep(27 * time.Second)
			w.wantPolls(began, []string{"5m29s since 5m28s", "5m30s full", "5m30s since 5m30s", "5m31s since 5m30s"}, 329, 4)
			time.Sleep(full)
			w.wantPolls(began, []string{"10m29s since 10m28s", "10m30s full"}, 630, 2)
			if n := w.log.count("catalogue not refreshed"); n != 3 {
				t.Errorf("%d warnings, want 3", n)
			}
		})
	})

	t.Run("LoadsAllDefinitionsOnceTheyCanBeRead", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			w.set(func() { w.readErr = down })
			began := time.Now()
			go w.catalogue.Run(t.Context())
			time.Sleep(3500 * time.Millisecond)
			w.set(func() { w.readErr = nil })
			time.Sleep(2 * time.Second)
			w.wantPolls(began, []string{"1s full", "2s full", "3s full", "4s full", "5s since 4s"})
		})
	})

	t.Run("EndsWithItsContextAndWithoutAWarning", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			ctx, cancel := context.WithCancel(t.Context())
			w.set(func() { w.hangs = true })
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				w.catalogue.Run(ctx)
			}()
			time.Sleep(1500 * time.Millisecond)
			cancel()
			<-ended
			if n := w.log.count("\n"); n != 0 {
				t.Errorf("%d lines in the log", n)
			}
		})
	})
}

// TestCatalogueLoad tests which entries a full load keeps and drops.
func TestCatalogueLoad(t *testing.T) {
	t.Parallel()
	down := errors.New("postgres is down")

	t.Run("KeepsItsDefinitionsWhenAFullLoadFails", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			w.define(nil)
			if err := w.catalogue.Load(t.Context()); err != nil || w.catalogue.Len() != 1 {
				t.Fatalf("%d checks after %v", w.catalogue.Len(), err)
			}
			w.readErr = down
			if err := w.catalogue.Load(t.Context()); !errors.Is(err, down) || w.catalogue.Len() != 1 {
				t.Errorf("%d checks after %v", w.catalogue.Len(), err)
			}
		})
	})

	t.Run("DropsOnlyChecksThatAFullLoadDoesNotContain", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := newIdleFixture(t)
			kept, removed := w.define(nil), w.define(nil)
			if err := w.catalogue.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			turn, waiting := w.started(kept), w.started(removed)
			ended := make(chan error, 1)
			go func() {
				_, err := w.watch(waiting)
				ended <- err
			}()
			synctest.Wait()
			began := time.Now()
			w.set(func() { delete(w.defs, removed.Check.ID) })
			if err := w.catalogue.Load(t.Context()); err != nil || w.catalogue.Len() != 1 {
				t.Errorf("%d checks after %v", w.catalogue.Len(), err)
			}
			if err := <-ended; err != nil || time.Since(began) > 0 {
				t.Errorf("the turn of the removed check ended %v late with %v", time.Since(began), err)
			}
			w.must(w.watch(turn))
			if w.parses != 2 || w.reads != 1 {
				t.Errorf("%d definitions parsed and %d read one by one, want 2 and 1", w.parses, w.reads)
			}
		})
	})
}
