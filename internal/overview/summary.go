// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// SummarySlots is how many slots a summary has at most.
const SummarySlots = 60

// CheckSummary is how a check did lately, over all its regions.
type CheckSummary struct {
	CheckID uuid.UUID
	// Start is the oldest of the slots, which are Interval apart. A slot of a staggered
	// check covers those of all its regions.
	Start    time.Time
	Interval time.Duration
	Slots    []SlotSummary // oldest first
	// Results and Successes since the beginning of the hour 24 hours ago.
	Results, Successes int64
	// P95MS is the 95th percentile of the response times of the successful results in the
	// slots, in milliseconds; nil without any.
	P95MS *float64

	State   listing.CheckState
	Regions []RegionSummary // sorted by key
	// Incident is the open one; nil without one.
	Incident *vigil.Incident
	// SlowerThanMS is the lowest response time beyond which an enabled rule fires, in
	// milliseconds; nil without such a rule.
	SlowerThanMS *int64
}

// RegionSummary is what the newest result of a check in one region says.
type RegionSummary struct {
	Region string // key
	Health vigil.Health
	// StatusCode and Error are those of a newest result that failed.
	StatusCode int
	Error      string
}

// SlotSummary sums the results of a slot. A slot that was missed has none.
type SlotSummary struct {
	Results, Failures int
	SumMS             float64 // response times of the successful results
}

// MeanMS returns the mean response time of the successful results, in milliseconds, and
// false without any.
func (s SlotSummary) MeanMS() (float64, bool) {
	if n := s.Results - s.Failures; n > 0 {
		return s.SumMS / float64(n), true
	}
	return 0, false
}

// UptimeDay is the uptime of one day (UTC), over all regions. It has no response times.
type UptimeDay struct {
	Day time.Time // its beginning
	vigil.Uptime
}
