// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// Gap is a run of Count slots without a result, one Step apart, from First to Last
// inclusive.
type Gap struct {
	First, Last time.Time
	Step        time.Duration
	Count       int64
}

// GapsBetween returns the slots of a schedule in [from, to) as gaps: one for slot 0,
// which is not on the schedule's grid, and one for the slots on the grid. The slots of a timetable
// are a gap where they follow each other at the same distance.
func GapsBetween(s vigil.Schedule, from, to time.Time) []Gap {
	if s.Times != nil {
		return gapsOfTimes(s, from, to)
	}
	var gaps []Gap
	first := s.First()
	if !first.Before(from) && first.Before(to) {
		gaps = append(gaps, Gap{First: first, Last: first, Step: s.Interval, Count: 1})
	}
	low := s.Next(first)
	if low.Before(from) {
		low = s.Next(from.Add(-1))
	}
	if !low.Before(to) {
		return gaps
	}
	steps := int64((to.Sub(low) - 1) / s.Interval)
	return append(gaps, Gap{First: low, Last: low.Add(time.Duration(steps) * s.Interval), Step: s.Interval, Count: steps + 1})
}

func gapsOfTimes(s vigil.Schedule, from, to time.Time) []Gap {
	var gaps []Gap
	for slot := range s.Slots(from, to) {
		if len(gaps) > 0 {
			last := &gaps[len(gaps)-1]
			if step := slot.Sub(last.Last); last.Count == 1 || step == last.Step {
				last.Last, last.Step, last.Count = slot, step, last.Count+1
				continue
			}
		}
		gaps = append(gaps, Gap{First: slot, Last: slot, Step: s.Interval, Count: 1})
	}
	return gaps
}

// Span is the time [from, to).
type Span struct{ From, To time.Time }

// GapsOutside is GapsBetween without the slots in pauses, which are in their order and do
// not overlap.
func GapsOutside(s vigil.Schedule, from, to time.Time, pauses []Span) []Gap {
	var gaps []Gap
	for _, pause := range pauses {
		if pause.From.After(from) {
			gaps = append(gaps, GapsBetween(s, from, timing.Earlier(pause.From, to))...)
		}
		from = timing.Later(from, pause.To)
	}
	if from.Before(to) {
		gaps = append(gaps, GapsBetween(s, from, to)...)
	}
	return gaps
}

// countOutside returns how many slots in [from, to) are outside of pauses.
func countOutside(s vigil.Schedule, from, to time.Time, pauses []Span) int64 {
	n := s.Count(from, to)
	for _, pause := range pauses {
		n -= s.Count(timing.Later(from, pause.From), timing.Earlier(to, pause.To))
	}
	return n
}

// joined sorts spans and joins those that touch or overlap.
func joined(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	var out []Span
	for _, one := range spans {
		if last := len(out) - 1; last >= 0 && !one.From.After(out[last].To) {
			out[last].To = timing.Later(out[last].To, one.To)
			continue
		}
		out = append(out, one)
	}
	return out
}

// TotalCount is the number of slots of several gaps.
func TotalCount(gaps []Gap) int64 {
	var n int64
	for _, g := range gaps {
		n += g.Count
	}
	return n
}

// contains reports whether a slot is one of the gap's slots.
func (g Gap) contains(slot time.Time) bool {
	return !slot.Before(g.First) && !slot.After(g.Last) && slot.Sub(g.First)%g.Step == 0
}

// without returns the rest of a gap when one of its slots gets a result: no, one or two
// gaps.
func (g Gap) without(slot time.Time) []Gap {
	before := int64(slot.Sub(g.First) / g.Step)
	after := g.Count - before - 1
	var rest []Gap
	if before > 0 {
		rest = append(rest, Gap{First: g.First, Last: slot.Add(-g.Step), Step: g.Step, Count: before})
	}
	if after > 0 {
		rest = append(rest, Gap{First: slot.Add(g.Step), Last: g.Last, Step: g.Step, Count: after})
	}
	return rest
}

// CountBetween returns how many slots of a gap are in [from, to).
func (g Gap) CountBetween(from, to time.Time) int64 {
	index := func(t time.Time) int64 { // of the first slot at or after t
		d := t.Sub(g.First)
		if d <= 0 {
			return 0
		}
		return min(int64((d+g.Step-1)/g.Step), g.Count)
	}
	return max(0, index(to)-index(from))
}

// FillSlot removes a slot from the gap that contains it, and returns false when no gap
// does.
func FillSlot(gaps []Gap, slot time.Time) ([]Gap, bool) {
	at := slices.IndexFunc(gaps, func(g Gap) bool { return g.contains(slot) })
	if at < 0 {
		return gaps, false
	}
	return slices.Replace(slices.Clone(gaps), at, at+1, gaps[at].without(slot)...), true
}
