// SPDX-License-Identifier: Apache-2.0

package agentlink

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// Protocol is the version of the protocol. The platform refuses another one; a member that one
// side does not know is ignored, so that agent and platform may be of different releases.
const Protocol = 1

// TokenPrefix begins the token of a location.
const TokenPrefix = "vga_"

// Times of the protocol.
const (
	// ReportEvery is the longest time between two reports of an agent.
	ReportEvery = time.Second
	// AgentTimeout is how long after its last report an agent counts as gone: the other agents of
	// its location probe its checks then.
	AgentTimeout = 5 * time.Second
	// SilentAfter is how long a location is without an agent before it is silent.
	SilentAfter = 30 * time.Second
	// Late is how long after its slot and the deadline of its probe a result counts as late: it
	// fills its slot, and opens no incident.
	Late = 20 * time.Second
	// Longest is how old the slot of a result may be.
	Longest = 25 * time.Hour
	// Ahead is how far ahead of the platform's clock the slot of a result may be.
	Ahead = 2 * time.Second
	// ClockCorrection is how far the clock of an agent may be from the platform's before the agent
	// corrects its slots by the difference, until it is half as far. It is less than Ahead: what is
	// probed as early as that is still taken.
	ClockCorrection = time.Second
	// ClockTolerance is how far it may be before the agent says so.
	ClockTolerance = 5 * time.Second
	// TaskWithin is how soon an agent must have taken a task, else the task is refused.
	TaskWithin = 2 * time.Second
)

// Bounds of the protocol.
const (
	// MostResults is how many results a report may have, and MostReport how large it may be, in bytes
	// of JSON. The latter is below what nginx accepts as it is installed.
	MostResults = 500
	MostReport  = 900_000
)

// Paths of the protocol. {session} is the ID of Welcome.
const (
	PathSessions = "/v1/agent/sessions"
	PathStream   = "/v1/agent/sessions/{session}/stream"
	PathResults  = "/v1/agent/sessions/{session}/results"
	PathTask     = "/v1/agent/sessions/{session}/tasks/{task}"
)

// Names of the events of the stream.
const (
	EventDefinitions = "definitions"
	EventTask        = "task"
)

// Hello opens a session: POST PathSessions.
type Hello struct {
	_ struct{} `additionalProperties:"true"`

	Protocol int    `json:"protocol" minimum:"1" doc:"Version of the protocol, 1."`
	Version  string `json:"version" maxLength:"100" doc:"Version of the agent's program."`
	Name     string `json:"name" maxLength:"253" doc:"Name of the agent's machine, for display."`
	// Instance is made again with every start of the program. A second hello of an instance answers
	// with its session.
	Instance uuid.UUID         `json:"instance" doc:"Chosen at random when the program starts."`
	Key      []byte            `json:"key" doc:"Public key to which configs are sealed: X25519, as HPKE encodes it (RFC 9180, section 7.1.1)."`
	Types    []vigil.CheckType `json:"types" maxItems:"100" doc:"Check types that the agent can probe."`
}

// Welcome answers a Hello.
type Welcome struct {
	Session  uuid.UUID `json:"session"`
	Location Place     `json:"location"`
	Time     time.Time `json:"time" doc:"The platform's clock."`
	// Epoch changes when the platform was restored from a backup: results that were stored may be
	// lost then, and an agent sends those again that it still has.
	Epoch int64 `json:"epoch"`
}

// Place is where an agent is.
type Place struct {
	ID   uuid.UUID `json:"id"`
	Key  string    `json:"key" example:"loc-office"`
	Name string    `json:"name" example:"Office"`
}

// Definitions is an event of the stream: what changed of the checks of the location. The id of the
// event is a cursor: a stream that is opened with it as Last-Event-ID goes on from there.
type Definitions struct {
	// Full: a list of all checks begins. It ends with the first event that has a position, and others that the
	// agent knows are to be forgotten then.
	Full   bool        `json:"full"`
	Checks []Check     `json:"checks"`
	Gone   []uuid.UUID `json:"gone" doc:"Checks that do not run in the location any more."`
}

// Check is a check that an agent probes.
type Check struct {
	ID       uuid.UUID       `json:"id"`
	Revision int64           `json:"revision"`
	Type     vigil.CheckType `json:"type"`
	// Sealed is the config in JSON, sealed by Seal with the ID and the revision.
	Sealed     []byte    `json:"sealed"`
	IntervalMS int64     `json:"interval_ms"`
	OffsetMS   int64     `json:"offset_ms"`
	Start      time.Time `json:"start"`
	Anchor     time.Time `json:"anchor"`
	Retry      Retry     `json:"retry"`
	NoEvidence bool      `json:"no_evidence,omitempty"`
}

// Schedule returns the slots of the check.
func (c *Check) Schedule() vigil.Schedule {
	return vigil.Schedule{
		Start: c.Start, Anchor: c.Anchor,
		Interval: time.Duration(c.IntervalMS) * time.Millisecond, Offset: time.Duration(c.OffsetMS) * time.Millisecond,
	}
}

// Retry is vigil.Retry.
type Retry struct {
	Attempts int           `json:"attempts"`
	DelayMS  int64         `json:"delay_ms"`
	On       vigil.RetryOn `json:"on,omitempty"`
}

// RetryOf returns how a definition repeats a failing probe.
func RetryOf(r vigil.Retry) Retry {
	return Retry{Attempts: r.Attempts, DelayMS: r.Delay.Milliseconds(), On: r.On}
}

// Retry returns it as the program has it.
func (r Retry) Retry() vigil.Retry {
	return vigil.Retry{Attempts: r.Attempts, Delay: time.Duration(r.DelayMS) * time.Millisecond, On: r.On}
}

// Task is an event of the stream: somebody waits for one probe of a check. It is answered with
// TaskAnswer at PathTask; what cannot be answered before Deadline is left.
type Task struct {
	ID       uuid.UUID `json:"id"`
	Check    Check     `json:"check"`
	Once     bool      `json:"once" doc:"One attempt, also when the check is retried."`
	Deadline time.Time `json:"deadline" doc:"By the platform's clock."`
}

// TaskAnswer is what the probe of a task saw.
type TaskAnswer struct {
	_ struct{} `additionalProperties:"true"`

	Time        time.Time   `json:"time" doc:"When the probe began."`
	Observation Observation `json:"observation"`
}

// Report is a batch of results: POST PathResults.
type Report struct {
	_ struct{} `additionalProperties:"true"`

	SentAt time.Time `json:"sent_at" doc:"The agent's clock, corrected as it is for slots."`
	// ClockMS is by how much the agent's own clock is ahead of the platform's.
	ClockMS int64    `json:"clock_difference_ms"`
	Spool   Spool    `json:"spool"`
	Checks  int      `json:"checks" doc:"How many checks the agent probes."`
	Results []Result `json:"results" maxItems:"500"`
	// Leaving: the agent stops, and the others of its location are to probe its checks.
	Leaving bool `json:"leaving,omitempty"`
	// Blind: the agent has no line to the internet.
	Blind bool `json:"blind,omitempty"`
}

// Spool is what an agent has not been able to send.
type Spool struct {
	_ struct{} `additionalProperties:"true"`

	Results int64 `json:"results"`
	Bytes   int64 `json:"bytes"`
	// Dropped is how many results gave way since the program started, because the spool was full.
	Dropped int64 `json:"dropped"`
}

// Result is what an agent saw at a slot.
type Result struct {
	_ struct{} `additionalProperties:"true"`

	CheckID     uuid.UUID   `json:"check_id"`
	Revision    int64       `json:"revision" doc:"Of the definition that was probed."`
	Slot        time.Time   `json:"slot"`
	Time        time.Time   `json:"time" doc:"When the probe began, by the agent's clock, corrected as it is for slots."`
	Observation Observation `json:"observation"`
}

// Observation is vigil.Observation as it travels.
type Observation struct {
	_ struct{} `additionalProperties:"true"`

	Success        bool            `json:"success"`
	ResponseTimeMS float64         `json:"response_time_ms"`
	StatusCode     int             `json:"status_code,omitempty"`
	Error          string          `json:"error,omitempty"`
	Metadata       map[string]any  `json:"metadata,omitempty"`
	Evidence       *vigil.Evidence `json:"evidence,omitempty"`
	// Unavailable: the machine of the agent cannot run the check. The slot is missed.
	Unavailable bool `json:"unavailable,omitempty"`
}

// ObservationOf returns an observation as it travels.
func ObservationOf(o vigil.Observation) Observation {
	return Observation{
		Success: o.Success, ResponseTimeMS: float64(o.ResponseTime) / float64(time.Millisecond), StatusCode: o.StatusCode, Error: o.Error,
		Metadata: o.Metadata, Evidence: o.Evidence, Unavailable: o.Unavailable,
	}
}

// Observation returns it as the program has it. Nothing of it is judged.
func (o *Observation) Observation() vigil.Observation {
	return vigil.Observation{
		Success: o.Success, ResponseTime: time.Duration(o.ResponseTimeMS * float64(time.Millisecond)), StatusCode: o.StatusCode,
		Error: o.Error, Metadata: o.Metadata, Evidence: o.Evidence, Unavailable: o.Unavailable,
	}
}

// Receipt answers a report. What is in it as stored or refused is not to be sent again.
type Receipt struct {
	Time    time.Time `json:"time" doc:"The platform's clock."`
	Epoch   int64     `json:"epoch"`
	Stored  int       `json:"stored" doc:"Results that are stored, now or before."`
	Refused []Refusal `json:"refused"`
	// Agents are the sessions of the location that live, sorted, with the one that reports unless it
	// leaves.
	Agents []uuid.UUID `json:"agents"`
}

// Refusal says why a result is not stored.
type Refusal struct {
	Index   int    `json:"index" doc:"Position in the results of the report."`
	Reason  string `json:"reason" enum:"unknown_check,future,too_old,off_schedule,invalid" doc:"Why it is not stored."`
	Message string `json:"message"`
}

// Reasons of a Refusal.
const (
	RefusedUnknown  = "unknown_check" // no check of the location
	RefusedFuture   = "future"
	RefusedOld      = "too_old"
	RefusedSchedule = "off_schedule" // no slot of the definition
	RefusedInvalid  = "invalid"
)
