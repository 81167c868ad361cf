// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"hash/fnv"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Schedule is the sequence of slots of a check in a region. Slot 0 is
// Start + Offset; slot n is Anchor + n*Interval + Offset for n >= 1. With Times the slots are
// the instants of that timetable from Start on, and Interval is the shortest time between two of
// them. It reads no clock.
type Schedule struct {
	Start    time.Time
	Anchor   time.Time
	Interval time.Duration
	Offset   time.Duration
	Times    *Timetable // nil: the grid
}

// NewAnchor returns the grid origin of a check that starts at start. The phase of the
// grid depends on the check's ID, so checks that are created together do not probe
// together. The first slot on the grid is 0.5 to 1.5 intervals after start.
func NewAnchor(id uuid.UUID, start time.Time, interval time.Duration) time.Time {
	h := fnv.New64a()
	h.Write(id[:])
	step := interval.Milliseconds()
	phase := int64(h.Sum64() % uint64(step)) //nolint:gosec // below step, which fits
	low := start.Add(-interval / 2).UnixMilli()
	anchor := low - low%step + phase
	if anchor < low {
		anchor += step
	}
	return time.UnixMilli(anchor).UTC()
}

// First returns slot 0.
func (s Schedule) First() time.Time {
	if s.Times != nil {
		return s.Times.Next(s.Start.Add(-1))
	}
	return s.Start.Add(s.Offset)
}

// Next returns the first slot after t.
func (s Schedule) Next(t time.Time) time.Time {
	first := s.First()
	if t.Before(first) {
		return first
	}
	if s.Times != nil {
		return s.Times.Next(t)
	}
	return s.grid(max(s.index(t)+1, s.firstIndex()))
}

// Newest returns the last slot at or before t, or false when there is none.
func (s Schedule) Newest(t time.Time) (time.Time, bool) {
	first := s.First()
	if t.Before(first) {
		return time.Time{}, false
	}
	if s.Times != nil {
		return s.Times.Newest(t)
	}
	if n := s.index(t); n >= s.firstIndex() {
		return s.grid(n), true
	}
	return first, true
}

// Due returns the slot to run after last (zero: none has run): the newest slot at or
// before now, else the next one. Slots between last and the result are missed and
// never run.
func (s Schedule) Due(last, now time.Time) time.Time {
	if newest, ok := s.Newest(now); ok && newest.After(last) {
		return newest
	}
	if last.After(now) {
		now = last
	}
	return s.Next(now)
}

// Count returns the number of slots in [from, to).
func (s Schedule) Count(from, to time.Time) int64 {
	first, n := s.First(), int64(0)
	if s.Times != nil {
		for range s.Slots(from, to) {
			n++
		}
		return n
	}
	if !first.Before(from) && first.Before(to) {
		n++
	}
	low := max(s.ceil(from), s.firstIndex())
	return n + max(0, s.ceil(to)-low)
}

// Slots are the slots in [from, to), in their order.
func (s Schedule) Slots(from, to time.Time) iter.Seq[time.Time] {
	return func(yield func(time.Time) bool) {
		for at := s.Next(from.Add(-1)); at.Before(to); at = s.Next(at) {
			if !yield(at) {
				return
			}
		}
	}
}

// grid returns slot n of the grid, index the largest n with a slot at or before t, and
// ceil the smallest n with a slot at or after t.
func (s Schedule) grid(n int64) time.Time {
	return s.Anchor.Add(s.Offset + time.Duration(n)*s.Interval)
}

func (s Schedule) index(t time.Time) int64 {
	// Sub saturates. Adding the offset to the instant avoids an overflow of the
	// smallest duration.
	d := t.Sub(s.Anchor.Add(s.Offset))
	n := int64(d / s.Interval)
	if d < 0 && d%s.Interval != 0 {
		n--
	}
	return n
}

func (s Schedule) ceil(t time.Time) int64 {
	n := s.index(t)
	if s.grid(n).Before(t) {
		n++
	}
	return n
}

// firstIndex returns the first n of the grid that is a slot: at least 1, and at least
// half an interval after slot 0, so that a region that is added later shares the
// grid and does not probe twice within a short time.
func (s Schedule) firstIndex() int64 {
	return max(1, s.ceil(s.First().Add(s.Interval/2)))
}
