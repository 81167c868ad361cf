// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

// epoch is an instant like any other that tests count from.
func epoch() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// every30s starts at 12:00:10 on a grid that passes through 12:00:00.
func every30s() vigil.Schedule {
	return vigil.Schedule{Start: epoch().Add(10 * time.Second), Anchor: epoch(), Interval: 30 * time.Second}
}

func TestSchedule(t *testing.T) {
	t.Parallel()
	s := every30s()
	at := func(seconds float64) time.Time { return epoch().Add(time.Duration(seconds * float64(time.Second))) }

	t.Run("FirstSlotsAreSlotZeroAndThenTheGrid", func(t *testing.T) {
		t.Parallel()
		// 12:00:30 is 20 s after slot 0, more than half an interval.
		slot := time.Time{}
		for _, want := range []float64{10, 30, 60, 90} {
			if slot = s.Next(slot); !slot.Equal(at(want)) {
				t.Errorf("got slot %v, want %v", slot, at(want))
			}
		}
	})

	t.Run("GridSlotLessThanHalfAnIntervalAfterSlotZeroIsLeftOut", func(t *testing.T) {
		t.Parallel()
		late := s
		late.Start = at(16) // 14 s before the next grid slot
		if got := late.Next(late.First()); !got.Equal(at(60)) {
			t.Errorf("second slot is %v, want %v", got, at(60))
		}
	})

	t.Run("RegionThatJoinsLateKeepsToTheGrid", func(t *testing.T) {
		t.Parallel()
		joined := s
		joined.Start = at(1000)
		if got := joined.Next(at(1000)); !got.Equal(at(1020)) {
			t.Errorf("second slot is %v, want %v", got, at(1020))
		}
	})

	t.Run("NewestIsNoneBeforeSlotZero", func(t *testing.T) {
		t.Parallel()
		if slot, ok := s.Newest(at(9.999)); ok {
			t.Errorf("got slot %v before the first", slot)
		}
		for now, want := range map[float64]float64{10: 10, 29.999: 10, 30: 30, 3600.5: 3600} {
			if slot, ok := s.Newest(at(now)); !ok || !slot.Equal(at(want)) {
				t.Errorf("at %v s the newest slot is %v, want %v", now, slot, at(want))
			}
		}
	})

	t.Run("CountLeavesOutItsEnd", func(t *testing.T) {
		t.Parallel()
		tests := []struct {
			from, to float64
			want     int64
		}{
			{0, 10, 0},
			{0, 10.001, 1},
			{10, 30, 1},
			{10.001, 30, 0},
			{10.001, 60, 1},
			{30, 90, 2},
			{90, 30, 0},
			{0, 3600, 120},
		}
		for _, tt := range tests {
			if got := s.Count(at(tt.from), at(tt.to)); got != tt.want {
				t.Errorf("Count(%v, %v) is %d, want %d", tt.from, tt.to, got, tt.want)
			}
		}
	})

	t.Run("CountFromTheZeroTimeIsFromTheStart", func(t *testing.T) {
		t.Parallel()
		staggered := s
		staggered.Offset = 7 * time.Second
		if got := staggered.Count(time.Time{}, at(100)); got != 4 {
			t.Errorf("got %d slots, want 4 (at 17, 37, 67 and 97 s)", got)
		}
	})
}

func TestScheduleDue(t *testing.T) {
	t.Parallel()
	s := every30s()
	tests := []struct {
		fact             string
		last, now, wants float64 // seconds after the epoch; last 0: none
	}{
		{"SlotZeroBeforeItsInstant", 0, 5, 10},
		{"SlotZeroAtItsInstant", 0, 10, 10},
		{"SlotZeroWhileNothingNewerPassed", 0, 29, 10},
		{"NextSlotAfterTheLast", 30, 31, 60},
		{"NewestMissedSlotAtOnce", 30, 3601, 3600},
		{"NewestMissedSlotWithoutAnyLast", 0, 3601, 3600},
		{"ClockThatWentBackRepeatsNothing", 90, 45, 120},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			last := time.Time{}
			if tt.last > 0 {
				last = epoch().Add(time.Duration(tt.last * float64(time.Second)))
			}
			now := epoch().Add(time.Duration(tt.now * float64(time.Second)))
			want := epoch().Add(time.Duration(tt.wants * float64(time.Second)))
			if got := s.Due(last, now); !got.Equal(want) {
				t.Errorf("Due is %v, want %v", got, want)
			}
		})
	}
}

// drawSchedule makes any schedule that a check can have: intervals of a second
// to a day, a start before or after the anchor, staggered or not.
func drawSchedule(t *rapid.T) vigil.Schedule {
	interval := time.Duration(rapid.IntRange(1, 86_400).Draw(t, "interval_seconds")) * time.Second
	regions := rapid.IntRange(1, 33).Draw(t, "regions")
	region := rapid.IntRange(0, regions-1).Draw(t, "region")
	behind := time.Duration(rapid.Int64Range(int64(-2*interval), int64(1000*interval)).Draw(t, "start_behind_anchor"))
	anchor := epoch().Add(time.Duration(rapid.Int64Range(0, int64(interval)).Draw(t, "anchor")))
	return vigil.Schedule{
		Start: anchor.Add(behind), Anchor: anchor, Interval: interval,
		Offset: (interval * time.Duration(region) / time.Duration(regions)).Truncate(time.Millisecond),
	}
}

// drawInstant makes an instant around the first slots, or exactly on one.
func drawInstant(t *rapid.T, s vigil.Schedule, name string) time.Time {
	at := s.First().Add(time.Duration(rapid.Int64Range(int64(-3*s.Interval), int64(40*s.Interval)).Draw(t, name)))
	if rapid.Bool().Draw(t, name+"_on_a_slot") {
		return s.Next(at)
	}
	return at
}

func TestScheduleProperties(t *testing.T) {
	t.Parallel()

	t.Run("NextIsALaterSlotAndNoneLiesBetween", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s := drawSchedule(t)
			at := drawInstant(t, s, "at")
			next := s.Next(at)
			if !next.After(at) {
				t.Fatalf("Next(%v) is %v", at, next)
			}
			if slot, ok := s.Newest(next); !ok || !slot.Equal(next) {
				t.Fatalf("%v is no slot: the newest one by then is %v", next, slot)
			}
			if slot, ok := s.Newest(next.Add(-1)); ok && slot.After(at) {
				t.Fatalf("slot %v lies between %v and Next, %v", slot, at, next)
			}
		})
	})

	t.Run("NewestIsNotLaterAndNextIs", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s := drawSchedule(t)
			at := drawInstant(t, s, "at")
			newest, ok := s.Newest(at)
			if ok != !at.Before(s.First()) {
				t.Fatalf("Newest(%v) is %t with the first slot at %v", at, ok, s.First())
			}
			if ok && (newest.After(at) || !s.Next(newest).After(at)) {
				t.Fatalf("Newest(%v) is %v, the slot after it %v", at, newest, s.Next(newest))
			}
		})
	})

	t.Run("CountIsWhatNextEnumerates", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s := drawSchedule(t)
			from, to := drawInstant(t, s, "from"), drawInstant(t, s, "to")
			want := int64(0)
			for slot := s.Next(from.Add(-1)); slot.Before(to); slot = s.Next(slot) {
				want++
			}
			if got := s.Count(from, to); got != want {
				t.Fatalf("Count(%v, %v) is %d, want %d", from, to, got, want)
			}
		})
	})

	t.Run("DueIsNewerThanTheLastAndSkipsOnlyWhatPassed", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s := drawSchedule(t)
			last, now := drawInstant(t, s, "last"), drawInstant(t, s, "now")
			due := s.Due(last, now)
			if !due.After(last) {
				t.Fatalf("Due(%v, %v) is %v", last, now, due)
			}
			if slot, ok := s.Newest(due); !ok || !slot.Equal(due) {
				t.Fatalf("Due(%v, %v), %v, is no slot", last, now, due)
			}
			if next := s.Next(last); due.After(next) && due.After(now) {
				t.Fatalf("Due(%v, %v) is %v and passes over %v, which has not passed", last, now, due, next)
			}
		})
	})

	t.Run("SecondSlotComesHalfAnIntervalToOneAndAHalfLater", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s := drawSchedule(t)
			if s.Start.Before(s.Anchor) {
				s.Start = s.Anchor
			}
			wait := s.Next(s.First()).Sub(s.First())
			if wait < s.Interval/2 || wait > 3*s.Interval/2 {
				t.Fatalf("second slot comes %v after slot 0, interval %v", wait, s.Interval)
			}
		})
	})

	t.Run("RegionsOfACheckShareTheGridShiftedByTheirOffset", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			s := drawSchedule(t)
			slot := s.Next(s.First())
			if rest := slot.Sub(s.Anchor.Add(s.Offset)) % s.Interval; rest != 0 {
				t.Fatalf("slot %v lies %v off the grid", slot, rest)
			}
		})
	})
}

func TestNewAnchor(t *testing.T) {
	t.Parallel()

	t.Run("SecondSlotComesHalfAnIntervalToOneAndAHalfAfterTheStart", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			id := uuid.NewSHA1(uuid.Nil, []byte(rapid.String().Draw(t, "id")))
			start := epoch().Add(time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(t, "start")))
			interval := time.Duration(rapid.IntRange(1, 86_400).Draw(t, "interval_seconds")) * time.Second
			s := vigil.Schedule{Start: start, Anchor: vigil.NewAnchor(id, start, interval), Interval: interval}
			wait := s.Next(s.First()).Sub(s.First())
			if wait < interval/2 || wait > 3*interval/2 {
				t.Fatalf("second slot comes %v after slot 0, interval %v", wait, interval)
			}
		})
	})

	t.Run("SameCheckKeepsItsPlaceInTheInterval", func(t *testing.T) {
		t.Parallel()
		id, interval := uuid.NewSHA1(uuid.Nil, []byte("check")), time.Minute
		first := vigil.NewAnchor(id, epoch(), interval)
		later := vigil.NewAnchor(id, epoch().Add(12345678*time.Millisecond), interval)
		if later.Sub(first)%interval != 0 {
			t.Errorf("anchors %v and %v lie on different grids", first, later)
		}
	})

	t.Run("ChecksCreatedTogetherSpreadOverTheInterval", func(t *testing.T) {
		t.Parallel()
		const checks, buckets = 12_000, 60
		var counts [buckets]int
		for n := range uint64(checks) {
			var id uuid.UUID // ids that differ in their last bytes only: the hardest to spread
			binary.BigEndian.PutUint64(id[8:], n)
			anchor := vigil.NewAnchor(id, epoch(), time.Minute)
			counts[anchor.UnixMilli()%60_000/1000]++
		}
		for second, n := range counts {
			if n < checks/buckets/2 || n > checks/buckets*2 {
				t.Errorf("%d of %d checks fall into second %d, about %d expected", n, checks, second, checks/buckets)
			}
		}
	})
}

// For any stored row, a schedule neither panics nor goes backwards: the
// fuzzer looks for overflow far from the anchor.
func FuzzSchedule(f *testing.F) {
	f.Add(int64(0), int64(1000), int64(0), int64(0), int64(0))
	f.Add(int64(-62135596800), int64(86_400_000), int64(86_399_999), int64(1), int64(-62135596800))
	f.Add(int64(4_000_000_000), int64(1), int64(0), int64(-5_000_000_000), int64(4_100_000_000))
	f.Fuzz(func(t *testing.T, start, interval, offset, anchor, at int64) {
		bound := func(seconds int64) time.Time {
			return epoch().Add(time.Duration(seconds%(100*365*86_400)) * time.Second)
		}
		if interval < 1 || interval > 1000*86_400_000 || offset < 0 || offset >= interval {
			t.Skip("no row holds such an interval")
		}
		s := vigil.Schedule{
			Start: bound(start), Anchor: bound(anchor),
			Interval: time.Duration(interval) * time.Millisecond, Offset: time.Duration(offset) * time.Millisecond,
		}
		for _, now := range []time.Time{bound(at), {}} {
			next := s.Next(now)
			if !next.After(now) {
				t.Errorf("Next(%v) is %v", now, next)
			}
			if due := s.Due(next, now); !due.After(next) {
				t.Errorf("Due(%v, %v) is %v", next, now, due)
			}
			want := int64(0) // none lies before next, unless now is one itself
			if newest, ok := s.Newest(now); ok && newest.Equal(now) {
				want = 1
			}
			if n := s.Count(now, next); n != want {
				t.Errorf("%d slots in [%v, %v), want %d", n, now, next, want)
			}
		}
	})
}
