package vigil

import (
	"hash/fnv"
	"time"

	"github.com/google/uuid"
)

// Schedule is the sequence of slots of one check in one region. Slot 0 is
// Start + Offset; slot n is Anchor + n*Interval + Offset for n >= 1. All
// arithmetic is on instants, never on a clock.
type Schedule struct {
	Start    time.Time
	Anchor   time.Time
	Interval time.Duration
	Offset   time.Duration
}

// NewAnchor returns the grid origin of a check that starts at the given
// instant. Where the grid lies follows from the check's id, so that checks
// created together do not probe together; the first slot on it comes half an
// interval to one and a half after start.
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

// First is slot 0.
func (s Schedule) First() time.Time { return s.Start.Add(s.Offset) }

// Next returns the first slot after t.
func (s Schedule) Next(t time.Time) time.Time {
	first := s.First()
	if t.Before(first) {
		return first
	}
	return s.grid(max(s.index(t)+1, s.firstIndex()))
}

// Newest returns the last slot at or before t; false when there is none.
func (s Schedule) Newest(t time.Time) (time.Time, bool) {
	first := s.First()
	if t.Before(first) {
		return time.Time{}, false
	}
	if n := s.index(t); n >= s.firstIndex() {
		return s.grid(n), true
	}
	return first, true
}

// Due returns the slot to run next when last (zero: none) was the newest one
// run: the newest slot that has passed by now, else the first to come. Slots
// between last and the one returned are missed and are never run.
func (s Schedule) Due(last, now time.Time) time.Time {
	if newest, ok := s.Newest(now); ok && newest.After(last) {
		return newest
	}
	if last.After(now) {
		now = last
	}
	return s.Next(now)
}

// Count is the number of slots in [from, to).
func (s Schedule) Count(from, to time.Time) int64 {
	first, n := s.First(), int64(0)
	if !first.Before(from) && first.Before(to) {
		n++
	}
	low := max(s.ceil(from), s.firstIndex())
	return n + max(0, s.ceil(to)-low)
}

// grid returns slot n of the grid, index the newest n at or before t, and ceil
// the oldest at or after it.
func (s Schedule) grid(n int64) time.Time {
	return s.Anchor.Add(s.Offset + time.Duration(n)*s.Interval)
}

func (s Schedule) index(t time.Time) int64 {
	// Sub stops at the ends of its range: the offset goes into the instant,
	// since taking it from the least duration would turn that positive.
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

// firstIndex is the first n of the grid that is a slot: at least 1, and half
// an interval behind slot 0, so that a region that joins late keeps to the grid
// of the others and does not probe twice at once.
func (s Schedule) firstIndex() int64 {
	return max(1, s.ceil(s.First().Add(s.Interval/2)))
}
