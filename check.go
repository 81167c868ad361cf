package vigil

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// CheckType names a way to probe a target (spec section 2, Check).
type CheckType string

// The check types of the spec.
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
)

// Health is what the latest result says of a check (spec section 3).
type Health string

// The health states. A check is unknown before its first result.
const (
	Healthy   Health = "healthy"
	Unhealthy Health = "unhealthy"
	Unknown   Health = "unknown"
)

// HealthOf returns the health that a result's success stands for.
func HealthOf(success bool) Health {
	if success {
		return Healthy
	}
	return Unhealthy
}

// Check is a definition: what to probe, how often and from where.
type Check struct {
	ID     uuid.UUID
	OrgID  uuid.UUID
	Name   string
	Type   CheckType
	Config json.RawMessage // an object of the type's members, secrets in clear
	// Target is what the config points at, for people: a host, perhaps with
	// a port, never with credentials or a query.
	Target string
	// Interval between two slots of a region, in whole seconds.
	Interval time.Duration
	// Regions are region keys, never aliases, in the order given.
	Regions []string
	Enabled bool
	// Simultaneous: all regions probe at the same instants; otherwise they
	// are staggered evenly across the interval.
	Simultaneous bool
	// Anchor is the origin of the slot grid that all regions share.
	Anchor time.Time
	// Revision grows by one with every change; loops compare it.
	Revision    int64
	Health      Health
	LastChecked *time.Time // nil before the first result
	ExpiresAt   *time.Time // nil: permanent
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Offset is the time by which the slots of a region lie behind the grid:
// zero when the regions probe at once, i*interval/n when they are staggered.
// A region that the check does not have gets zero.
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

// Schedule returns the slots of one region, whose slot 0 is start.
func (c *Check) Schedule(region string, start time.Time) Schedule {
	return Schedule{Start: start, Anchor: c.Anchor, Interval: c.Interval, Offset: c.Offset(region)}
}

// HourlyCost is what an enabled check takes of its organization's hourly
// budget: (3600 / interval_seconds) x number of regions (spec section 8).
func (c *Check) HourlyCost() float64 {
	if !c.Enabled || c.Interval <= 0 {
		return 0
	}
	return float64(time.Hour) / float64(c.Interval) * float64(len(c.Regions))
}

// Definition is what a worker needs to run a check: the check with its secrets
// in clear, and slot 0 of each of its regions.
type Definition struct {
	Check  Check
	Starts map[string]time.Time // by region key
	// Rules of the check, disabled ones included.
	Rules []Rule
}

// Schedule returns the slots of the definition in a region; false when the
// check is disabled or does not have that region.
func (d *Definition) Schedule(region string) (Schedule, bool) {
	start, ok := d.Starts[region]
	if !ok || !d.Check.Enabled {
		return Schedule{}, false
	}
	return d.Check.Schedule(region, start), true
}
