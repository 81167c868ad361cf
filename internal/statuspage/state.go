// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// state is what the public sees of a check. The constants are in the order in which
// services are listed.
type state int

const (
	failing state = iota
	slow
	working
	noData
)

// String is the state in JSON, in feeds and in class names.
func (s state) String() string {
	switch s {
	case failing:
		return "failing"
	case slow:
		return "slow"
	case working:
		return "working"
	case noData:
	}
	return "no-data"
}

// service is a check on a page.
type service struct {
	name  string
	state state
	since time.Time // zero: not known
	// failingIn are the regions in which it fails, partial: there are others.
	failingIn []string
	partial   bool
	regions   []string
	checked   []string            // regions with a recent result
	paused    bool                // its check is disabled
	stale     bool                // it was checked, and no region has a recent result
	days      []overview.DayCount // oldest first; the last is today
	bad       []*badDay           // oldest first
}

// decide sets the state of a check, with its open incident or nil. With a rule that
// watches for failures, a check fails while its incident is open: one failed result is no
// news for the public. Without such a rule the newest results decide.
func (s *service) decide(check overview.ReportedCheck, open *overview.PublicIncident) {
	var unhealthy []string
	probed := false
	for _, region := range check.Regions {
		s.regions = append(s.regions, region.Region)
		probed = probed || region.Probed
		if region.Health != vigil.Unknown {
			s.checked = append(s.checked, region.Region)
		}
		if region.Health == vigil.Unhealthy {
			unhealthy = append(unhealthy, region.Region)
		}
	}
	switch {
	case !check.Enabled:
		s.state, s.paused = noData, true
	case open != nil && open.Failing:
		s.state, s.since, s.failingIn = failing, open.StartedAt, unhealthy
		if len(unhealthy) == 0 { // it recovers just now
			s.failingIn = slices.DeleteFunc(slices.Clone(open.Regions), func(key string) bool { return !slices.Contains(s.regions, key) })
		}
	case !check.Watched && len(unhealthy) > 0:
		s.state, s.failingIn = failing, unhealthy
	case open != nil && open.Slow:
		s.state, s.since = slow, open.StartedAt
	case len(s.checked) > 0:
		s.state = working
	default:
		s.state, s.stale = noData, probed
	}
	s.partial = s.state == failing && len(s.failingIn) < len(s.regions)
}

// totals sums the days.
func (s *service) totals() (total, failed int64) {
	for _, day := range s.days {
		total, failed = total+day.Total, failed+day.Failed
	}
	return total, failed
}

// continents names the continents of regions, in the order of vigil.Regions.
func continents(keys []string) []string {
	var names []string
	for _, region := range vigil.Regions() {
		if slices.Contains(keys, region.Key) && !slices.Contains(names, region.Continent) {
			names = append(names, region.Continent)
		}
	}
	return names
}
