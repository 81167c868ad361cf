// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"time"

	"github.com/vigil-monitor/vigil"
)

// Limits of the grace of a heartbeat.
const (
	minGrace = time.Second
	maxGrace = 30 * 24 * time.Hour
)

// setHeartbeat makes a check a heartbeat that expects a ping in each interval, and its end a grace later.
func (c *Resource) setHeartbeat(every, grace time.Duration) {
	c.setHeartbeatTimes(Object{{"every_seconds", int(c.fitInterval(every) / time.Second)}}, grace)
}

// setHeartbeatTimes makes a check a heartbeat with a schedule of its config.
func (c *Resource) setHeartbeatTimes(schedule Object, grace time.Duration) {
	used := min(max(grace.Truncate(time.Second), minGrace), maxGrace)
	if used != grace {
		c.Lose("grace: "+grace.String(), "a ping may come %s later: a grace has whole seconds from %s to %s",
			seconds(used), seconds(minGrace), seconds(maxGrace))
	}
	c.Set("type", string(vigil.TypeHeartbeat))
	c.Set("config", Object{{"schedule", schedule}, {"grace_seconds", int(used / time.Second)}})
}

// losePingAddress notes that the job has to ping another address, which is made when the check is.
// The member of the source that had it is named without its value, which is a credential; failed says
// how the job reports a failure.
func (c *Resource) losePingAddress(member, failed string) {
	c.Lose(member, "its job has to ping another address: after `vigil apply`, `vigil check get %s/KEY --jq .ping_url` shows it; %s",
		c.result.Project, failed)
}
