// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// TypeHeartbeat is the type of checks that are not probed: a job pings the platform, and a ping that
// does not come is a failed result.
const TypeHeartbeat CheckType = "heartbeat"

// HeartbeatRegion is the only region of heartbeats. It is no place that other checks can be in.
const HeartbeatRegion = "heartbeat"

// Limits of a heartbeat, in seconds.
const (
	maxHeartbeatSeconds   = 30 * 24 * 60 * 60 // of every_seconds and grace_seconds
	maxRunSeconds         = 7 * 24 * 60 * 60  // of max_duration_seconds
	defaultHeartbeatGrace = 300
	maxHeartbeatInterval  = maxHeartbeatSeconds * time.Second
)

// Heartbeat is the config of a heartbeat: when a job is expected to run, and how long it may take.
type Heartbeat struct {
	// Every is the time between two runs; 0 with Times.
	Every time.Duration
	// Times are when the job starts; nil with Every.
	Times *Timetable
	// Cron and Timezone are those of Times; empty with Every.
	Cron, Timezone string
	// Grace is how much later a ping may come.
	Grace time.Duration
	// MaxDuration is how long a run may take from its start; 0: no limit but Grace.
	MaxDuration time.Duration
	// RequireStart: the end of a run without a start is a failure.
	RequireStart bool
}

// heartbeatConfig is a config of a heartbeat as it is written.
type heartbeatConfig struct {
	Schedule struct {
		EverySeconds float64 `json:"every_seconds"` // 120, 120.0 and 1.2e2 are the same
		Cron         string  `json:"cron"`
		Timezone     string  `json:"timezone"`
	} `json:"schedule"`
	Grace        *float64 `json:"grace_seconds"`
	MaxDuration  float64  `json:"max_duration_seconds"`
	RequireStart bool     `json:"require_start"`
}

// whole reports whether a number of seconds is one from low to high.
func whole(seconds float64, low, high int) bool {
	return seconds == math.Trunc(seconds) && seconds >= float64(low) && seconds <= float64(high)
}

// HeartbeatOf reads the config of a heartbeat. An error is CodeInvalid and names the member, such
// as config.schedule.cron.
func HeartbeatOf(config json.RawMessage) (Heartbeat, error) {
	var in heartbeatConfig
	if err := json.Unmarshal(config, &in); err != nil {
		return Heartbeat{}, Invalid("config", "must be the config of a heartbeat, with schedule, grace_seconds and so on")
	}
	if in.Grace == nil {
		in.Grace = new(float64(defaultHeartbeatGrace))
	}
	h := Heartbeat{
		Grace: time.Duration(*in.Grace) * time.Second, MaxDuration: time.Duration(in.MaxDuration) * time.Second, RequireStart: in.RequireStart,
	}
	switch {
	case !whole(*in.Grace, 1, maxHeartbeatSeconds):
		return h, Invalid("config.grace_seconds", "must be between 1 and %d", maxHeartbeatSeconds)
	case !whole(in.MaxDuration, 0, maxRunSeconds):
		return h, Invalid("config.max_duration_seconds", "must be between 1 and %d, or left out for no limit", maxRunSeconds)
	case in.Schedule.Cron != "" && in.Schedule.EverySeconds != 0:
		return h, Invalid("config.schedule.cron", "cannot be used together with every_seconds; leave one of them out")
	case in.Schedule.Cron == "" && in.Schedule.Timezone != "":
		return h, Invalid("config.schedule.timezone", "needs cron; every_seconds has no time zone")
	case in.Schedule.Cron == "" && !whole(in.Schedule.EverySeconds, 1, maxHeartbeatSeconds):
		return h, Invalid("config.schedule.every_seconds", "must be between 1 and %d, or cron must say when the job runs", maxHeartbeatSeconds)
	case in.Schedule.Cron == "":
		h.Every = time.Duration(in.Schedule.EverySeconds) * time.Second
		return h, nil
	}
	h.Cron, h.Timezone = in.Schedule.Cron, in.Schedule.Timezone
	var err error
	if h.Times, err = NewTimetable(h.Cron, h.Timezone); err != nil {
		return h, Beneath("config.schedule", err)
	}
	return h, nil
}

// Interval returns the shortest time between two expected runs, at most 30 days.
func (h *Heartbeat) Interval() time.Duration {
	if h.Times == nil {
		return h.Every
	}
	return h.Times.Shortest(maxHeartbeatInterval)
}

// Describe returns the schedule for people.
func (h *Heartbeat) Describe() string {
	switch {
	case h.Times == nil:
		return "every " + strconv.FormatInt(int64(h.Every/time.Second), 10) + " s"
	case h.Timezone == "":
		return h.Cron
	}
	return h.Cron + " " + h.Timezone
}

// Wait returns the longest time from a slot until it is decided.
func (h *Heartbeat) Wait() time.Duration { return h.Every + h.Grace + max(h.MaxDuration, h.Grace) }

// PingKind says what a ping reports.
type PingKind string

// Kinds of pings.
const (
	PingStart   PingKind = "start"
	PingSuccess PingKind = "success"
	PingFail    PingKind = "fail"
	PingLog     PingKind = "log"
)

// Ping is what a job reported.
type Ping struct {
	ID      int64 // grows with the order in which pings are stored
	CheckID uuid.UUID
	Kind    PingKind
	// ExitCode of a command, nil where the ping has none; other than 0 it is a failure.
	ExitCode *int
	// Run joins the start and the end of a run; zero: the ping does not say of which run it is.
	Run uuid.UUID
	// At is when the platform received it, by the clock of the database.
	At time.Time
	// Body is what came along, without secrets. It may be cut: Bytes is how long it was.
	Body  string
	Bytes int64
}

// ends reports whether the ping says that a run is over.
func (p *Ping) ends() bool { return p.Kind == PingSuccess || p.Kind == PingFail }

// PingSpan is the time [From, To), in which no ping could be received.
type PingSpan struct{ From, To time.Time }

// PingNews are the pings that came since the last look.
type PingNews struct {
	Pings []Ping // in the order of their receipt
	// Cursor of the next look; empty: it begins again.
	Cursor string
	// Answered is until when pings were answered and are known: those before it are committed.
	Answered time.Time
	// Spans in which they were not, when SpansUntil is not what it was: the end of the last one, in
	// microseconds since 1970.
	Spans      []PingSpan
	SpansUntil int64
}
