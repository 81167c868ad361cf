// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"time"

	"github.com/vigil-monitor/vigil/internal/project"
)

// external adds a heartbeat for an endpoint whose results are pushed to Gatus. Gatus looks for one at
// the end of each heartbeat.interval.
func (g *gatusImport) external(v *value, index int) {
	draft := &Resource{Kind: project.KindCheck, result: g.Result}
	m := newMembers(v, "", draft.Lose)
	origin := gatusOrigin(m, "external endpoint", index)
	every, reason := gatusHeartbeat(m, draft)
	if reason != "" {
		g.Miss(project.KindCheck, origin, "%s", reason)
		return
	}
	name, group := m.marked("name"), m.marked("group")
	check := g.Add(project.KindCheck, origin, keyName(group, name))
	check.Losses, m.lose = draft.Losses, check.Lose
	check.Set("name", g.name(name, origin))
	check.setHeartbeat(every, minGrace)
	if enabled := m.truth("enabled"); enabled != nil && !*enabled {
		check.Set("enabled", false)
	}
	g.labels(check, group, nil)
	g.alerts(check, m.list("alerts"), group)
	for _, window := range m.list("maintenance-windows") {
		g.endpointMaintenance(check, window)
	}
	m.take("token")
	check.losePingAddress("token", "success=false of Gatus is /fail behind it")
	m.finish()
}

// gatusHeartbeat returns in which time Gatus expects a result, or why there is none.
func gatusHeartbeat(m *members, draft *Resource) (every time.Duration, reason string) {
	before := len(draft.Losses)
	if heartbeat := m.inner("heartbeat"); heartbeat != nil {
		every, _ = heartbeat.duration("interval")
		if len(draft.Losses) == before {
			heartbeat.finish()
		}
	}
	switch {
	case every > 0:
		return every, ""
	case len(draft.Losses) > before:
		lost := draft.Losses[before]
		return 0, lost.What + ": " + lost.Reason
	}
	return 0, "without heartbeat.interval Gatus expects no result at any time, and a heartbeat of Vigil needs a schedule"
}
