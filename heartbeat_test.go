// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// TestHeartbeatConfig proves that a config is read with its defaults, and that a mistake is named.
func TestHeartbeatConfig(t *testing.T) {
	t.Parallel()
	h, err := vigil.HeartbeatOf(json.RawMessage(`{"schedule": {"every_seconds": 60}}`))
	if err != nil || h.Every != time.Minute || h.Grace != 5*time.Minute || h.Interval() != time.Minute || h.Describe() != "every 60 s" {
		t.Errorf("%+v, %v", h, err)
	}
	h, err = vigil.HeartbeatOf(json.RawMessage(`{"schedule": {"cron": "0 3 * * 1-5", "timezone": "Europe/Berlin"}, "grace_seconds": 60}`))
	if err != nil || h.Interval() != 24*time.Hour || h.Describe() != "0 3 * * 1-5 Europe/Berlin" {
		t.Errorf("%v, %v", h.Interval(), err)
	}
	for text, member := range map[string]string{
		`{"schedule": {}}`: "config.schedule.every_seconds",
		`{"schedule": {"every_seconds": 60, "cron": "* * * * *"}}`:          "config.schedule.cron",
		`{"schedule": {"every_seconds": 60, "timezone": "UTC"}}`:            "config.schedule.timezone",
		`{"schedule": {"cron": "* * * *"}}`:                                 "config.schedule.cron",
		`{"schedule": {"cron": "0 0 31 2 *"}}`:                              "config.schedule.cron",
		`{"schedule": {"cron": "* * * * *", "timezone": "Mars/Olympus"}}`:   "config.schedule.timezone",
		`{"schedule": {"every_seconds": 60}, "grace_seconds": 0}`:           "config.grace_seconds",
		`{"schedule": {"every_seconds": 60}, "max_duration_seconds": -1}`:   "config.max_duration_seconds",
		`{"schedule": {"every_seconds": 60}, "grace_seconds": 2592001}`:     "config.grace_seconds",
		`{"schedule": {"every_seconds": 2592001}}`:                          "config.schedule.every_seconds",
		`{"schedule": {"cron": "61 * * * *", "timezone": "Europe/Berlin"}}`: "config.schedule.cron",
	} {
		_, err := vigil.HeartbeatOf(json.RawMessage(text))
		if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(err.Error(), member+": ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestTimetable proves that each local time is once, when clocks are put forward and back.
func TestTimetable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cron, zone, from string
		want             []string // in UTC
	}{
		// 02:30 is not on the 29th.
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T00:00:00Z", []string{"03-28T01:30", "03-29T01:00", "03-30T00:30"}},
		// 02:30 is twice on the 25th.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T00:00:00Z", []string{"10-24T00:30", "10-25T00:30", "10-26T01:30"}},
		{"*/30 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", []string{"03-29T01:00", "03-30T00:00", "03-30T00:30"}}, // both in the gap
		{"0 * * * *", "America/New_York", "2026-11-01T04:30:00Z", []string{"11-01T05:00", "11-01T07:00", "11-01T08:00"}},
		{"0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", []string{"02-29T00:00"}},
		{"0 0 1 * 1", "UTC", "2026-06-01T00:00:00Z", []string{"06-01T00:00", "06-08T00:00"}}, // one kind of days is enough
	} {
		times, err := vigil.NewTimetable(c.cron, c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at := instant(t, c.from).Add(-1)
		for _, want := range c.want {
			next := times.Next(at)
			if got := next.UTC().Format("01-02T15:04"); got != want {
				t.Errorf("%s %s after %s: %s, want %s", c.cron, c.zone, at, got, want)
			}
			for _, later := range []time.Duration{0, 1, time.Second} {
				if newest, ok := times.Newest(next.Add(later)); !ok || !newest.Equal(next) {
					t.Errorf("%s %s: the newest at %s + %v is %s", c.cron, c.zone, next, later, newest)
				}
			}
			if before, ok := times.Newest(next.Add(-1)); !ok || !before.Before(next) || !times.Next(before).Equal(next) {
				t.Errorf("%s %s: %s comes before %s", c.cron, c.zone, before, next)
			}
			at = next
		}
	}
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestTimetableSlots proves that a schedule with a timetable counts and steps as one on a grid does.
func TestTimetableSlots(t *testing.T) {
	t.Parallel()
	check := vigil.Check{
		Type: vigil.TypeHeartbeat, Interval: 24 * time.Hour, Simultaneous: true,
		Config: json.RawMessage(`{"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}}`),
	}
	start := instant(t, "2026-03-27T12:00:00Z")
	s := check.Schedule(vigil.HeartbeatRegion, start)
	if got, want := s.First(), instant(t, "2026-03-28T02:00:00Z"); !got.Equal(want) {
		t.Errorf("first %v, want %v", got, want)
	}
	if _, ok := s.Newest(start); ok {
		t.Error("a slot before the first one")
	}
	if got, want := s.Next(s.First()), instant(t, "2026-03-29T01:00:00Z"); !got.Equal(want) {
		t.Errorf("next %v, want %v", got, want)
	}
	if n := s.Count(start, start.AddDate(0, 0, 10)); n != 10 {
		t.Errorf("%d slots in 10 days", n)
	}
}

// beats builds facts of a heartbeat. Times are seconds after the slot.
type beats struct {
	t    *testing.T
	slot time.Time
	f    vigil.ArrivalFacts
}

func newBeats(t *testing.T, config string) *beats {
	t.Helper()
	h, err := vigil.HeartbeatOf(json.RawMessage(config))
	if err != nil {
		t.Fatal(err)
	}
	b := &beats{t: t, slot: instant(t, "2026-06-01T12:00:00Z")}
	next := b.slot.Add(h.Every)
	if h.Times != nil {
		next = h.Times.Next(b.slot)
	}
	b.f = vigil.ArrivalFacts{Heartbeat: h, Slot: b.slot, Next: next}
	return b
}

func (b *beats) at(seconds float64) time.Time {
	return b.slot.Add(time.Duration(seconds * float64(time.Second)))
}

func (b *beats) ping(seconds float64, kind vigil.PingKind, change ...func(*vigil.Ping)) *beats {
	p := vigil.Ping{ID: int64(len(b.f.Pings) + 1), Kind: kind, At: b.at(seconds)}
	for _, do := range change {
		do(&p)
	}
	b.f.Pings = append(b.f.Pings, p)
	return b
}

func (b *beats) silent(from, to float64) *beats {
	b.f.Spans = append(b.f.Spans, vigil.PingSpan{From: b.at(from), To: b.at(to)})
	return b
}

// decide is what happens when pings were answered until an instant.
func (b *beats) decide(answered float64) vigil.Arrival {
	b.f.Answered = b.at(answered)
	return vigil.NextArrival(&b.f)
}

// wants fails the test when the decision is another one. at is in seconds.
func (b *beats) wants(answered float64, kind vigil.ArrivalKind, at float64, success bool, reason string) {
	b.t.Helper()
	got := b.decide(answered)
	if got.Kind != kind || !got.At.Equal(b.at(at)) || got.Observation.Success != success || !strings.Contains(got.Observation.Error, reason) {
		b.t.Errorf("at %v: %+v at %v, want %v at %v (%v, %q)", answered, got, got.At.Sub(b.slot).Seconds(), kind, at, success, reason)
	}
}

const (
	everyMinute = `{"schedule": {"every_seconds": 60}, "grace_seconds": 10}`
	known       = 0.000001
)

// TestArrivals proves what decides a slot.
func TestArrivals(t *testing.T) {
	t.Parallel()
	exit := func(code int) func(*vigil.Ping) { return func(p *vigil.Ping) { p.ExitCode = &code } }
	run := func(n byte) func(*vigil.Ping) { return func(p *vigil.Ping) { p.Run = uuid.UUID{n} } }
	// A slot that has not begun, and one without a ping.
	newBeats(t, everyMinute).wants(-5, vigil.ArrivalWait, 0, false, "")
	newBeats(t, everyMinute).wants(70+known-0.001, vigil.ArrivalWait, 70+known, false, "")
	newBeats(t, everyMinute).wants(70+known, vigil.ArrivalResult, 70, false, "expected by 2026-06-01 12:01:00 UTC")
	// Its pings, also at the deadline.
	newBeats(t, everyMinute).ping(20, vigil.PingSuccess).wants(20, vigil.ArrivalResult, 20, true, "")
	newBeats(t, everyMinute).ping(70, vigil.PingSuccess).wants(100, vigil.ArrivalResult, 70, true, "")
	newBeats(t, everyMinute).ping(70.001, vigil.PingSuccess).wants(100, vigil.ArrivalResult, 70, false, "no ping came")
	newBeats(t, everyMinute).ping(20, vigil.PingFail).wants(20, vigil.ArrivalResult, 20, false, "reported a failure")
	newBeats(t, everyMinute).ping(20, vigil.PingFail, exit(3)).wants(20, vigil.ArrivalResult, 20, false, "exit code 3")
	newBeats(t, everyMinute).ping(20, vigil.PingLog).wants(21, vigil.ArrivalWait, 70+known, false, "")
	// Runs with a start.
	const long = `{"schedule": {"every_seconds": 60}, "grace_seconds": 10, "max_duration_seconds": 30, "require_start": true}`
	newBeats(t, long).ping(5, vigil.PingStart).wants(6, vigil.ArrivalWait, 35+known, false, "")
	newBeats(t, long).ping(5, vigil.PingStart).wants(36, vigil.ArrivalResult, 35, false, "did not end within 30 s")
	newBeats(t, long).ping(5, vigil.PingSuccess).wants(6, vigil.ArrivalResult, 5, false, "without a start")
	newBeats(t, long).ping(50, vigil.PingStart).ping(75, vigil.PingSuccess).wants(75, vigil.ArrivalResult, 75, true, "")
	newBeats(t, long).ping(-10, vigil.PingStart).ping(15, vigil.PingSuccess).wants(15, vigil.ArrivalResult, 15, true, "")
	took := newBeats(t, long).ping(1, vigil.PingStart, run(1)).ping(2, vigil.PingStart, run(2)).ping(12, vigil.PingSuccess, run(1)).decide(12)
	if took.Observation.ResponseTime != 11*time.Second || !took.Observation.Success {
		t.Errorf("%+v", took)
	}
	newBeats(t, everyMinute).ping(65, vigil.PingStart).ping(74, vigil.PingSuccess).wants(74, vigil.ArrivalResult, 74, true, "")
}

// TestArrivalsOfTimes proves the same for a timetable.
func TestArrivalsOfTimes(t *testing.T) {
	t.Parallel()
	const noon = `{"schedule": {"cron": "0 12 * * *"}, "grace_seconds": 600}`
	newBeats(t, noon).ping(-90, vigil.PingSuccess).wants(1000, vigil.ArrivalResult, 600, false, "expected by 2026-06-01 12:00:00 UTC")
	newBeats(t, noon).ping(-20, vigil.PingSuccess).wants(0, vigil.ArrivalResult, -20, true, "")
	newBeats(t, noon).ping(300, vigil.PingSuccess).wants(300, vigil.ArrivalResult, 300, true, "")
	// A ping beyond the slots says something else than the newest result.
	late := newBeats(t, noon).ping(-40000, vigil.PingSuccess)
	late.f.Seen, late.f.Health = late.at(-86400), vigil.Unhealthy
	late.wants(-39999, vigil.ArrivalExtra, -40000, true, "")
	late.f.Health = vigil.Healthy
	late.wants(-39999, vigil.ArrivalWait, 0, false, "")
	late.ping(-30000, vigil.PingFail).wants(-29999, vigil.ArrivalExtra, -30000, false, "reported")
	late.f.Seen, late.f.Health = late.at(-30000), vigil.Unhealthy
	late.wants(-29999, vigil.ArrivalWait, 0, false, "")
}

// TestArrivalsOfOutages proves that nothing is judged by the time in which nothing was received.
func TestArrivalsOfOutages(t *testing.T) {
	t.Parallel()
	// A ping may have been lost: the job is asked for its next one.
	newBeats(t, everyMinute).silent(30, 35).wants(100, vigil.ArrivalWait, 105+known, false, "")
	newBeats(t, everyMinute).silent(30, 35).wants(106, vigil.ArrivalResult, 105, false, "expected by 2026-06-01 12:01:35")
	newBeats(t, everyMinute).silent(30, 35).ping(95, vigil.PingSuccess).wants(100, vigil.ArrivalResult, 95, true, "")
	// The ping before says that it was not.
	newBeats(t, everyMinute).ping(-5, vigil.PingSuccess).silent(20, 25).wants(71, vigil.ArrivalResult, 70, false, "no ping came")
	newBeats(t, everyMinute).ping(-5, vigil.PingSuccess).silent(50, 56).wants(71, vigil.ArrivalWait, 126+known, false, "")
	// A deadline in a span is asked again, with the grace.
	newBeats(t, everyMinute).ping(-50, vigil.PingSuccess).silent(65, 75).wants(76, vigil.ArrivalWait, 85+known, false, "")
	// No ping of a whole slot could be received: the one after it is asked.
	newBeats(t, everyMinute).silent(-100, 500).wants(600, vigil.ArrivalMissed, -100, false, "")
	newBeats(t, everyMinute).silent(20, 500).ping(10, vigil.PingSuccess).wants(600, vigil.ArrivalResult, 10, true, "")
	// The newest slot of a timetable is asked from the first answer on.
	const noon = `{"schedule": {"cron": "0 12 * * *"}, "grace_seconds": 600}`
	newBeats(t, noon).silent(-100, 5000).wants(5001, vigil.ArrivalWait, 5600+known, false, "")
	newBeats(t, noon).silent(-100, 5000).ping(5400, vigil.PingSuccess).wants(5401, vigil.ArrivalResult, 5400, true, "")
	newBeats(t, noon).silent(-100, 90000).wants(90001, vigil.ArrivalMissed, -100, false, "")
}
