// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
)

// gap is a run of Count slots without a result, one Step apart, from First to Last
// inclusive.
type gap struct {
	First, Last time.Time
	Step        time.Duration
	Count       int64
}

// gapsBetween returns the slots of a schedule in [from, to) as gaps: one for slot 0,
// which is not on the schedule's grid, and one for the slots on the grid.
func gapsBetween(s vigil.Schedule, from, to time.Time) []gap {
	var gaps []gap
	first := s.First()
	if !first.Before(from) && first.Before(to) {
		gaps = append(gaps, gap{First: first, Last: first, Step: s.Interval, Count: 1})
	}
	low := s.Next(first)
	if low.Before(from) {
		low = s.Next(from.Add(-1))
	}
	if !low.Before(to) {
		return gaps
	}
	steps := int64((to.Sub(low) - 1) / s.Interval)
	return append(gaps, gap{First: low, Last: low.Add(time.Duration(steps) * s.Interval), Step: s.Interval, Count: steps + 1})
}

// span is the time [from, to).
type span struct{ from, to time.Time }

// gapsOutside is gapsBetween without the slots in pauses, which are in their order and do
// not overlap.
func gapsOutside(s vigil.Schedule, from, to time.Time, pauses []span) []gap {
	var gaps []gap
	for _, pause := range pauses {
		if pause.from.After(from) {
			gaps = append(gaps, gapsBetween(s, from, earlier(pause.from, to))...)
		}
		from = later(from, pause.to)
	}
	if from.Before(to) {
		gaps = append(gaps, gapsBetween(s, from, to)...)
	}
	return gaps
}

// countOutside returns how many slots in [from, to) are outside of pauses.
func countOutside(s vigil.Schedule, from, to time.Time, pauses []span) int64 {
	n := s.Count(from, to)
	for _, pause := range pauses {
		n -= s.Count(later(from, pause.from), earlier(to, pause.to))
	}
	return n
}

// joined sorts spans and joins those that touch or overlap.
func joined(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var out []span
	for _, one := range spans {
		if last := len(out) - 1; last >= 0 && !one.from.After(out[last].to) {
			out[last].to = later(out[last].to, one.to)
			continue
		}
		out = append(out, one)
	}
	return out
}

// totalCount is the number of slots of several gaps.
func totalCount(gaps []gap) int64 {
	var n int64
	for _, g := range gaps {
		n += g.Count
	}
	return n
}

// contains reports whether a slot is one of the gap's slots.
func (g gap) contains(slot time.Time) bool {
	return !slot.Before(g.First) && !slot.After(g.Last) && slot.Sub(g.First)%g.Step == 0
}

// without returns the rest of a gap when one of its slots gets a result: no, one or two
// gaps.
func (g gap) without(slot time.Time) []gap {
	before := int64(slot.Sub(g.First) / g.Step)
	after := g.Count - before - 1
	var rest []gap
	if before > 0 {
		rest = append(rest, gap{First: g.First, Last: slot.Add(-g.Step), Step: g.Step, Count: before})
	}
	if after > 0 {
		rest = append(rest, gap{First: slot.Add(g.Step), Last: g.Last, Step: g.Step, Count: after})
	}
	return rest
}

// countBetween returns how many slots of a gap are in [from, to).
func (g gap) countBetween(from, to time.Time) int64 {
	index := func(t time.Time) int64 { // of the first slot at or after t
		d := t.Sub(g.First)
		if d <= 0 {
			return 0
		}
		return min(int64((d+g.Step-1)/g.Step), g.Count)
	}
	return max(0, index(to)-index(from))
}

// fillSlot removes a slot from the gap that contains it, and returns false when no gap
// does.
func fillSlot(gaps []gap, slot time.Time) ([]gap, bool) {
	at := slices.IndexFunc(gaps, func(g gap) bool { return g.contains(slot) })
	if at < 0 {
		return gaps, false
	}
	return slices.Replace(slices.Clone(gaps), at, at+1, gaps[at].without(slot)...), true
}
