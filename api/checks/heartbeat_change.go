// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"cmp"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// kind is the type that a check will have.
func (m *CheckMembers) kind(check *vigil.Check) vigil.CheckType {
	return cmp.Or(m.Type.Value, check.Type)
}

// regionsOf are the regions that a check will have.
func (m *CheckMembers) regionsOf(check *vigil.Check) []string {
	if m.Regions.Given {
		return m.Regions.Value
	}
	return check.Regions
}

// changeHeartbeat applies the members that say what is expected. The interval and the region follow
// from the type and the config; a body that was read and is written back has them, too.
func (c *Checks) changeHeartbeat(check *vigil.Check, before vigil.Check, in *CheckMembers, plan account.Plan) error {
	own := []string{vigil.HeartbeatRegion}
	var wrong []error
	if in.Regions.Given && !slices.Equal(in.Regions.Value, own) && !slices.Equal(in.Regions.Value, before.Regions) {
		wrong = append(wrong, vigil.Invalid("regions", "a heartbeat is not probed from regions; leave the member out"))
	}
	check.Regions, check.Simultaneous = own, true
	if check.Retry.Attempts > 0 {
		wrong = append(wrong, vigil.Invalid(
			"retry.attempts",
			"a heartbeat is not probed, so nothing is repeated; config.grace_seconds says how long a ping may be late",
		))
	}
	if err := rest.Together(append(wrong, c.changeTarget(check, before, in))...); err != nil {
		return err
	}
	h, err := vigil.HeartbeatOf(check.Config)
	if err != nil {
		return err
	}
	interval := h.Interval()
	if given := time.Duration(
		in.IntervalSeconds.Value,
	) * time.Second; in.IntervalSeconds.Given && given != interval &&
		given != before.Interval {
		return vigil.Invalid("interval_seconds", "follows from config.schedule and is %d; leave the member out", int64(interval/time.Second))
	}
	if interval != check.Interval && interval < plan.MinInterval {
		member := "config.schedule.every_seconds"
		if h.Times != nil {
			member = "config.schedule.cron"
		}
		return vigil.Invalid(
			member,
			"must leave at least %d seconds between two runs on the %s tier",
			rest.CeilSeconds(plan.MinInterval),
			plan.Tier,
		)
	}
	check.Interval = interval
	return nil
}

// errNotProbed is the error of a probe by hand of a heartbeat.
func errNotProbed() error {
	return vigil.Invalid("type", "a heartbeat is not probed, so there is nothing to run; its job pings ping_url")
}
