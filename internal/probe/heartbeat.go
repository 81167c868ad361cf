// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

// HeartbeatConfig is the config of heartbeat checks, which vigil.HeartbeatOf reads.
type HeartbeatConfig struct {
	Schedule           HeartbeatSchedule `json:"schedule" title:"Expected runs" form:"address" doc:"When the job is expected to run: every_seconds or cron"`
	GraceSeconds       int               `json:"grace_seconds,omitempty" title:"Grace, in seconds" help:"How much later a ping may come." form:"time,short" doc:"How many seconds later than expected a ping may come, and how long a run may take from its start when max_duration_seconds is left out" minimum:"1" maximum:"2592000" default:"300"`
	MaxDurationSeconds int               `json:"max_duration_seconds,omitempty" title:"Longest run, in seconds" help:"From the start ping on." form:"time,short" doc:"How many seconds a run may take from its start ping. Left out: as long as grace_seconds" minimum:"1" maximum:"604800"`
	RequireStart       bool              `json:"require_start,omitempty" title:"A run must begin with a start ping" form:"more" doc:"Fail when a run ends without a start ping"`
}

// HeartbeatSchedule says when a job is expected to run.
type HeartbeatSchedule struct {
	EverySeconds int    `json:"every_seconds,omitempty" title:"Every, in seconds" help:"A ping is expected in each such time. Or give a cron expression." form:"short" doc:"Seconds between two pings; not together with cron" minimum:"1" maximum:"2592000" example:"3600"`
	Cron         string `json:"cron,omitempty" title:"Cron expression" help:"Minute, hour, day of month, month, day of week." form:"mono" doc:"Cron expression of five fields: minute, hour, day of month, month and day of week; not together with every_seconds" maxLength:"200" example:"0 3 * * *"`
	Timezone     string `json:"timezone,omitempty" title:"Time zone of cron" help:"" doc:"IANA time zone of cron. Default: UTC" maxLength:"64" example:"Europe/Berlin"`
}

// HeartbeatMetadata is the metadata of a result of a heartbeat check.
type HeartbeatMetadata struct {
	ExitCode   *int   `json:"exit_code,omitempty" doc:"Exit code that the job reported"`
	DurationMS *int64 `json:"duration_ms,omitempty" doc:"Milliseconds from the start ping to the end of the run"`
	RID        string `json:"rid,omitempty" doc:"Run that the ping belongs to, as the job named it"`
}

var _ = register(newHeartbeat)

func newHeartbeat(*environment) Prober { return heartbeatProber{} }

type heartbeatProber struct{}

func (heartbeatProber) Type() vigil.CheckType { return vigil.TypeHeartbeat }

func (heartbeatProber) Documents() (config, metadata any) {
	return HeartbeatConfig{}, HeartbeatMetadata{}
}

// Describe says what the type is for.
func (heartbeatProber) Describe() TypeInfo { return TypeInfo{Position: 14, About: "A job pings"} }

func (heartbeatProber) Parse(given json.RawMessage, _ time.Duration) (Probe, error) {
	var read HeartbeatConfig
	if err := config.Decode(given, &read, "check", maxConfigBytes); err != nil {
		return nil, err
	}
	h, err := vigil.HeartbeatOf(given)
	if err != nil {
		return nil, err
	}
	return heartbeatProbe{h}, nil
}

// heartbeatProbe is a heartbeat: its results arrive, and nothing is probed.
type heartbeatProbe struct{ vigil.Heartbeat }

// Deadline is the longest time from a slot until it is decided.
func (p heartbeatProbe) Deadline() time.Duration { return p.Wait() }

// Target is the schedule.
func (p heartbeatProbe) Target() string { return p.Describe() }

// Run probes nothing.
func (heartbeatProbe) Run(context.Context) vigil.Observation {
	return vigil.Observation{Unavailable: true, Error: "a heartbeat is not probed: its job pings"}
}
