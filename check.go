// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// CheckType is a way to probe a target (spec section 2, Check).
type CheckType string

// Check types.
const (
	TypeHTTP       CheckType = "http"
	TypeHTTPS      CheckType = "https"
	TypeTCP        CheckType = "tcp"
	TypePing       CheckType = "ping"
	TypeDNS        CheckType = "dns"
	TypeSSL        CheckType = "ssl"
	TypeMultistep  CheckType = "multistep"
	TypeThroughput CheckType = "throughput"
	TypeSMTPIMAP   CheckType = "smtp-imap"
	TypeHTTP3      CheckType = "http3"
	TypeGRPC       CheckType = "grpc"
	TypeWebSocket  CheckType = "websocket"
	TypeDomain     CheckType = "domain"
)

// TypeDrill is the type of the hidden check of a drill: its probe fails or succeeds as its
// config says, and reaches nothing. The API neither documents nor accepts it.
const TypeDrill CheckType = "drill"

// Health is the health of a check by its latest result (spec section 3).
type Health string

// Health states. A check is unknown before its first result.
const (
	Healthy   Health = "healthy"
	Unhealthy Health = "unhealthy"
	Unknown   Health = "unknown"
)

// HealthOf returns the health after a result.
func HealthOf(success bool) Health {
	if success {
		return Healthy
	}
	return Unhealthy
}

// Check defines what to probe, how often and from which regions.
type Check struct {
	ID     uuid.UUID
	OrgID  uuid.UUID
	Name   string
	Type   CheckType
	Config json.RawMessage // JSON object by type, secrets in clear text
	// Target of the config, for display: a host, with a port where there is one,
	// without credentials and query.
	Target string
	// Interval between two slots of a region; a multiple of one second.
	Interval time.Duration
	// Regions are region keys, not aliases, in the order of the request.
	Regions []string
	Enabled bool
	// Simultaneous regions probe at the same instants; otherwise they are staggered
	// evenly across the interval.
	Simultaneous bool
	// Retry is what happens before a failure is stored.
	Retry Retry `json:",omitzero"`
	// NoEvidence: failed results keep no evidence.
	NoEvidence bool   `json:",omitempty"`
	Labels     Labels `json:",omitempty"`
	// DrillID is that of the drill whose hidden check this is; zero for every other check.
	DrillID uuid.UUID `json:",omitzero"`
	// Anchor is the origin of the slot grid that all regions share.
	Anchor time.Time
	// Revision increases by one with every change of the check or its rules.
	Revision int64
	// Version increases by one with every change of the check itself; the API shows it as
	// the revision. At least 1 in storage.
	Version int64 `json:",omitempty"`
	// ManagedBy is what manages the check; nil: nothing does.
	ManagedBy *ManagedBy `json:"-"`
	// AppliedVersion is the version that apply stored last; 0: none. A later Version was
	// made by somebody else.
	AppliedVersion int64 `json:"-"`
	Health         Health
	LastChecked    *time.Time // nil before the first result
	ExpiresAt      *time.Time // nil: permanent
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// Offset returns the delay of a region's slots to the grid: zero for simultaneous
// regions and for one that the check does not have, else i*Interval/n.
func (c *Check) Offset(region string) time.Duration {
	if c.Simultaneous || len(c.Regions) == 0 {
		return 0
	}
	for i, key := range c.Regions {
		if key == region {
			return (c.Interval * time.Duration(i) / time.Duration(len(c.Regions))).Truncate(time.Millisecond)
		}
	}
	return 0
}

// Schedule returns the slots of a region whose first slot is due at start.
func (c *Check) Schedule(region string, start time.Time) Schedule {
	s := Schedule{Start: start, Anchor: c.Anchor, Interval: c.Interval, Offset: c.Offset(region)}
	if c.Type == TypeHeartbeat {
		if h, err := HeartbeatOf(c.Config); err == nil { // it was judged before it was stored
			s.Times = h.Times
		}
	}
	return s
}

// SameTimes reports whether two checks have their slots at the times of the same timetable, or
// both on a grid.
func (c *Check) SameTimes(other *Check) bool {
	cron, zone := c.Timetable()
	otherCron, otherZone := other.Timetable()
	return cron == otherCron && zone == otherZone
}

// Timetable returns the cron expression and the time zone of a heartbeat that has
// them, else empty texts.
func (c *Check) Timetable() (cron, zone string) {
	if c.Type != TypeHeartbeat {
		return "", ""
	}
	h, _ := HeartbeatOf(c.Config)
	return h.Cron, h.Timezone
}

// HourlyCost returns the executions per hour that count against the plan:
// (3600 / interval_seconds) x number of regions (spec section 8); 0 when disabled.
func (c *Check) HourlyCost() float64 {
	if !c.Enabled || c.Interval <= 0 {
		return 0
	}
	return float64(time.Hour) / float64(c.Interval) * float64(len(c.Regions))
}

// DefaultThroughputBytes is how many bytes a throughput check moves when its config does
// not say how many.
const DefaultThroughputBytes = 10 << 20

// HourlyBytes returns the bytes per hour that the throughput measurements of the check
// may move, in all regions and with every retry; 0 when disabled and for a check that
// measures none.
func (c *Check) HourlyBytes() float64 {
	type measurement struct {
		MaxBytes *float64 `json:"max_bytes"`
	}
	var config struct {
		measurement

		Steps []struct {
			Type   CheckType   `json:"type"`
			Config measurement `json:"config"`
		} `json:"steps"`
	}
	if c.Type != TypeThroughput && c.Type != TypeMultistep || json.Unmarshal(c.Config, &config) != nil {
		return 0
	}
	bytesOf := func(m measurement) float64 {
		if m.MaxBytes == nil {
			return DefaultThroughputBytes
		}
		return *m.MaxBytes
	}
	probes := c.HourlyCost() * float64(1+c.Retry.Attempts)
	if c.Type == TypeThroughput {
		return probes * bytesOf(config.measurement)
	}
	sum := 0.0
	for _, step := range config.Steps {
		if step.Type == TypeThroughput {
			sum += bytesOf(step.Config)
		}
	}
	return probes * sum
}

// Definition is a check as workers run it, with its rules and secrets in clear text.
type Definition struct {
	Check  Check
	Starts map[string]time.Time // start of the schedule, by region key
	// StatesFrom has the regions whose state is older than their schedule: an edit of the
	// interval begins another schedule, and the results before it count.
	StatesFrom map[string]time.Time
	// Rules of the check, disabled ones included.
	Rules []Rule
	// Restored is the epoch that began when a store was last restored from a backup, 0 for none
	// while the check existed.
	Restored int64
}

// StateFrom returns the slot from which on results count for the state of a region: since the
// check was last enabled there, or got its type.
func (d *Definition) StateFrom(region string) time.Time {
	if from, ok := d.StatesFrom[region]; ok {
		return from
	}
	return d.Starts[region]
}

// Schedule returns the slots of a region, or false when the check is disabled or does
// not have the region.
func (d *Definition) Schedule(region string) (Schedule, bool) {
	start, ok := d.Starts[region]
	if !ok || !d.Check.Enabled {
		return Schedule{}, false
	}
	return d.Check.Schedule(region, start), true
}
