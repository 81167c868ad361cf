// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// A slot of a heartbeat is decided by the first of these:
//
//   - the end of a run that was received from the slot on, until its deadline: it is that ping's
//     success or failure. With Times a ping may come earliest before the slot;
//   - its deadline, after which it has failed;
//   - a span in which the platform received nothing, when it reaches from the deadline to the slot
//     after this one: then none could come, and the slot is missed.
//
// The slot of a job that runs in steady intervals is where the time begins in which it must ping
// once. So the phase of the job does not matter, nor that it drifts, and a late ping may be the one
// of two slots. A job with a timetable starts at the slot.

// earliestPing is how long before the time of a timetable a ping may come: clocks differ.
const earliestPing = time.Minute

// ArrivalFacts is what is known when a turn of a heartbeat decides.
type ArrivalFacts struct {
	Heartbeat Heartbeat
	// Slot is the next one without a result, Next the one after it.
	Slot, Next time.Time
	// Health is that of the newest result, and Seen its time, or when the heartbeat began: up to it pings
	// have been looked at.
	Health Health
	Seen   time.Time
	// Pings of the check in the order of their receipt, from Heartbeat.Look before Slot on.
	Pings []Ping
	// Spans in which nothing was received, in their order.
	Spans []PingSpan
	// Answered is until when pings were answered and are known: one before it is in Pings, or did not come.
	Answered time.Time
}

// ArrivalKind is what a turn of a heartbeat does next.
type ArrivalKind int

// What a turn does next.
const (
	ArrivalWait   ArrivalKind = iota // for a ping, or until Arrival.At
	ArrivalResult                    // the slot has this result
	ArrivalMissed                    // no ping of the slot could be received
	ArrivalExtra                     // a ping beyond the slots has another result than the newest
)

// Arrival is what a turn does next.
type Arrival struct {
	Kind ArrivalKind
	// At is when it happened, or for ArrivalWait when to decide again although no ping came.
	At          time.Time
	Observation Observation
	// Ping that it follows from; nil for none.
	Ping *Ping
}

// Look is how long before a slot pings matter for it.
func (h *Heartbeat) Look() time.Duration { return max(h.Every, h.MaxDuration, h.Grace, earliestPing) }

// NextArrival decides. It is a pure function of the rows, so another worker that has the same rows
// decides the same.
func NextArrival(f *ArrivalFacts) Arrival {
	h := &f.Heartbeat
	begin := f.Slot
	if h.Times != nil {
		begin = begin.Add(-min(earliestPing, f.Next.Sub(f.Slot)/2))
	}
	if extra := f.extra(begin); extra != nil {
		return *extra
	}
	if f.Answered.Before(f.Slot) {
		return Arrival{At: f.Slot}
	}
	w := f.window()
	for i := range f.Pings {
		p := &f.Pings[i]
		switch {
		case p.At.After(w.deadline):
			return f.late(w)
		case p.Kind == PingStart:
			w.start(h, p, begin)
		case p.ends() && !p.At.Before(begin):
			return Arrival{Kind: ArrivalResult, At: p.At, Observation: h.outcome(p, f.Pings[:i]), Ping: p}
		case p.ends():
			w.started = time.Time{}
		}
	}
	return f.late(w)
}

// extra returns the first ping that is for no slot and says something else than the newest result.
func (f *ArrivalFacts) extra(begin time.Time) *Arrival {
	if f.Seen.IsZero() {
		return nil
	}
	for i := range f.Pings {
		p := &f.Pings[i]
		if !p.At.Before(f.Slot) {
			return nil
		}
		if !p.ends() || !p.At.After(f.Seen) {
			continue
		}
		seen := f.Heartbeat.outcome(p, f.Pings[:i])
		// What decides the slot when it begins need not be said twice.
		if HealthOf(seen.Success) != f.Health && (p.At.Before(begin) || f.Answered.Before(f.Slot)) {
			return &Arrival{Kind: ArrivalExtra, At: p.At, Observation: seen, Ping: p}
		}
	}
	return nil
}

// slotWindow is until when a slot waits.
type slotWindow struct {
	expected time.Time // the latest time without Grace
	deadline time.Time
	started  time.Time // of the run that goes on; zero: none does
	limit    time.Duration
	missed   bool // the platform received nothing until the next slot
}

// window returns the window of a slot before its pings are looked at. When the platform received
// nothing for a part of it, the run is expected again: from the first instant at which it received
// pings again.
func (f *ArrivalFacts) window() slotWindow {
	h := &f.Heartbeat
	w := slotWindow{expected: f.Slot.Add(h.Every)}
	w.deadline = w.expected.Add(h.Grace)
	first := w.deadline
	for _, span := range f.Spans {
		if !span.To.After(f.Slot) || span.From.After(w.deadline) {
			continue
		}
		lost := f.mayHaveLost(span)
		if lost && !span.From.After(first) && span.To.After(first) && !span.To.Before(f.Next) {
			// The slots after this one are asked.
			w.deadline, w.missed = span.From, true
			return w
		}
		expected := span.To
		if lost {
			expected = expected.Add(h.Every) // the job pings next after one more interval
		}
		if again := expected.Add(h.Grace); (lost || span.To.After(w.deadline)) && again.After(w.deadline) {
			w.expected, w.deadline = expected, again
		}
	}
	return w
}

// mayHaveLost reports whether a ping that the slot waits for may have been sent in a span in which it
// was not received.
func (f *ArrivalFacts) mayHaveLost(span PingSpan) bool {
	if f.Heartbeat.Times != nil {
		return true
	}
	for i := len(f.Pings) - 1; i >= 0; i-- {
		if p := &f.Pings[i]; p.At.Before(f.Slot) && p.Kind != PingLog {
			return f.mayHaveLostAfter(p.At, span)
		}
	}
	return true
}

// mayHaveLostAfter is mayHaveLost of a job in steady intervals whose last ping is known: it says when the next
// one is due, and where that may be lost in a span as well, those after it.
func (f *ArrivalFacts) mayHaveLostAfter(ping time.Time, span PingSpan) bool {
	h := &f.Heartbeat
	near := func(s PingSpan, due time.Time) bool {
		return s.From.Before(due.Add(h.Grace)) && s.To.After(due.Add(-h.Grace))
	}
	for due := ping.Add(h.Every); ; {
		if near(span, due) {
			return true
		}
		before := slices.IndexFunc(f.Spans, func(s PingSpan) bool { return near(s, due) })
		if before < 0 || !due.Add(-h.Grace).Before(span.To) {
			return false // it was received, or did not come
		}
		due = due.Add(max(1, f.Spans[before].To.Sub(due)/h.Every) * h.Every)
	}
}

// start notes that a run has begun: it has its own deadline.
func (w *slotWindow) start(h *Heartbeat, p *Ping, begin time.Time) {
	limit := h.MaxDuration
	if limit == 0 {
		limit = h.Grace
	}
	end := p.At.Add(limit)
	if w.missed || !end.After(begin) {
		return // a run that did not end in time belongs to a slot before
	}
	w.started, w.limit = p.At, limit
	if h.MaxDuration > 0 && !p.At.Before(begin) || end.After(w.deadline) {
		w.deadline = end
	}
}

// late is what happens without a ping until the deadline.
func (f *ArrivalFacts) late(w slotWindow) Arrival {
	if over := w.deadline.Add(time.Microsecond); f.Answered.Before(over) { // Postgres counts in microseconds
		return Arrival{At: over}
	}
	if w.missed {
		return Arrival{Kind: ArrivalMissed, At: w.deadline}
	}
	reason := fmt.Sprintf("no ping came: it was expected by %s, and until %s with the grace of %s",
		inUTC(w.expected), inUTC(w.deadline), inSeconds(f.Heartbeat.Grace))
	if !w.started.IsZero() {
		reason = fmt.Sprintf("the run that started at %s did not end within %s", inUTC(w.started), inSeconds(w.limit))
	}
	return Arrival{Kind: ArrivalResult, At: w.deadline, Observation: Observation{Error: reason}}
}

func inUTC(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05 UTC") }

// outcome is what the end of a run says, with the pings before it.
func (h *Heartbeat) outcome(end *Ping, before []Ping) Observation {
	took, started := durationOf(end, before)
	seen := Observation{ResponseTime: took, Metadata: map[string]any{}}
	if end.ExitCode != nil {
		seen.Metadata["exit_code"] = float64(*end.ExitCode)
	}
	if end.Run != uuid.Nil {
		seen.Metadata["rid"] = end.Run.String()
	}
	if started {
		seen.Metadata["duration_ms"] = float64(took.Milliseconds())
	}
	switch {
	case end.Kind == PingFail && end.ExitCode != nil:
		seen.Error = fmt.Sprintf("the job ended with exit code %d", *end.ExitCode)
	case end.Kind == PingFail:
		seen.Error = "the job reported a failure"
	case h.RequireStart && !started:
		seen.Error = "the job ended without a start"
	case h.MaxDuration > 0 && took > h.MaxDuration:
		seen.Error = fmt.Sprintf("the run took %s, longer than %s", inSeconds(took), inSeconds(h.MaxDuration))
	default:
		seen.Success = true
	}
	if len(seen.Metadata) == 0 {
		seen.Metadata = nil
	}
	return seen
}

// durationOf returns the time from the start of a run to its end; started is false when its start
// is not known. The start is the newest one with the same run.
func durationOf(end *Ping, before []Ping) (took time.Duration, started bool) {
	for i := len(before) - 1; i >= 0; i-- {
		p := &before[i]
		if p.Run != end.Run {
			continue
		}
		switch {
		case p.Kind == PingStart:
			return end.At.Sub(p.At), true
		case p.ends():
			return 0, false
		}
	}
	return 0, false
}
