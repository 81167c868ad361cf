// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

// beating is a job in steady intervals beside a platform that is away again and again.
type beating struct {
	heartbeat vigil.Heartbeat
	start     time.Time // of the first slot
	pings     []vigil.Ping
	spans     []vigil.PingSpan
}

// drawBeating draws a job that pings until an instant, zero for one that goes on, and when the platform is away: often
// for short times that are about an interval apart.
func drawBeating(t *rapid.T, ends time.Duration) beating {
	seconds := func(what string, low, high int) time.Duration {
		return time.Duration(rapid.IntRange(low, max(low, high)).Draw(t, what)) * time.Second
	}
	every := seconds("every", 5, 60)
	grace := seconds("grace", 1, rapid.SampledFrom([]int{int(every.Seconds()) / 5, 2 * int(every.Seconds())}).Draw(t, "most grace"))
	config := fmt.Sprintf(`{"schedule": {"every_seconds": %d}, "grace_seconds": %d}`, int(every.Seconds()), int(grace.Seconds()))
	h, err := vigil.HeartbeatOf(json.RawMessage(config))
	if err != nil {
		t.Fatal(err)
	}
	b := beating{heartbeat: h, start: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)}
	for at := seconds("first outage", 0, 30); len(b.spans) < 8; {
		from := b.start.Add(at)
		at += seconds("away", 1, rapid.SampledFrom([]int{5, int(every.Seconds()), 150}).Draw(t, "longest"))
		b.spans = append(b.spans, vigil.PingSpan{From: from, To: b.start.Add(at)})
		at += seconds("back", 1, rapid.SampledFrom([]int{10, int(every.Seconds()), 150}).Draw(t, "longest between"))
	}
	late := time.Duration(0)
	for at := seconds("phase", -60, 0); at < horizon+5*time.Minute; {
		if late = rapid.SampledFrom([]time.Duration{0, 0, grace / 3}).Draw(t, "late"); ends != 0 && at > ends {
			break
		}
		b.receive(b.start.Add(at + late))
		at += every
	}
	return b
}

// horizon is how long a job is looked at.
const horizon = 25 * time.Minute

// receive receives a ping unless the platform is away.
func (b *beating) receive(at time.Time) {
	if !slices.ContainsFunc(b.spans, func(s vigil.PingSpan) bool { return !at.Before(s.From) && at.Before(s.To) }) {
		b.pings = append(b.pings, vigil.Ping{ID: int64(len(b.pings)), Kind: vigil.PingSuccess, At: at})
	}
}

// fails returns the deadline of the first slot that fails, decided as turns do: from what is known at each instant.
func (b *beating) fails() (time.Time, bool) {
	seen, health := b.start.Add(-1), vigil.Unknown
	for slot := b.start; slot.Before(b.start.Add(horizon)); slot = slot.Add(b.heartbeat.Every) {
		for answered := slot; ; {
			for _, span := range b.spans {
				if !answered.Before(span.From) && answered.Before(span.To) {
					answered = span.To
				}
			}
			f := vigil.ArrivalFacts{
				Heartbeat: b.heartbeat, Slot: slot, Next: slot.Add(b.heartbeat.Every), Health: health, Seen: seen, Answered: answered,
			}
			for _, p := range b.pings {
				if !p.At.After(answered) && !p.At.Before(slot.Add(-b.heartbeat.Look())) {
					f.Pings = append(f.Pings, p)
				}
			}
			for _, span := range b.spans {
				if !span.To.After(answered) {
					f.Spans = append(f.Spans, span)
				}
			}
			next := vigil.NextArrival(&f)
			if next.Kind == vigil.ArrivalWait {
				answered = next.At
				continue
			}
			if next.Kind != vigil.ArrivalMissed {
				health = vigil.HealthOf(next.Observation.Success)
			}
			if next.Kind != vigil.ArrivalMissed && !next.Observation.Success {
				return next.At, true
			}
			if next.Kind == vigil.ArrivalExtra {
				seen = next.At
				continue
			}
			seen = slot
			break
		}
	}
	return time.Time{}, false
}

// TestOutagesAreNoFailures proves for any times in which the platform is away that a job which goes on is never down, also
// where it loses pings in several of them.
func TestOutagesAreNoFailures(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := drawBeating(t, 0)
		if at, failed := b.fails(); failed {
			t.Fatalf("it is down at %v\nevery %v, grace %v\npings %v\naway %v", at, b.heartbeat.Every, b.heartbeat.Grace, instants(b.pings), b.spans)
		}
	})
}

// TestOutagesHideNoFailure proves that a job which has ended is down: after one interval and the grace, counted from its next ping
// or from the end of an outage in which that may have been lost.
func TestOutagesHideNoFailure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ended := time.Duration(rapid.IntRange(1, 300).Draw(t, "ends")) * time.Second
		b := drawBeating(t, ended)
		wait := b.heartbeat.Every + b.heartbeat.Grace
		latest := b.start.Add(ended + b.heartbeat.Grace/3 + b.heartbeat.Every)
		for _, span := range b.spans {
			if !span.From.After(latest.Add(wait)) && span.To.After(latest) {
				latest = span.To
			}
		}
		if at, failed := b.fails(); !failed || at.After(latest.Add(wait)) {
			t.Fatalf("it is down at %v (%v), not until %v\nevery %v, grace %v\npings %v\naway %v", at, failed, latest.Add(wait),
				b.heartbeat.Every, b.heartbeat.Grace, instants(b.pings), b.spans)
		}
	})
}

func instants(pings []vigil.Ping) (at []time.Time) {
	for _, p := range pings {
		at = append(at, p.At)
	}
	return at
}
