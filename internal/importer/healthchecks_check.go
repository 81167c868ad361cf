// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// check adds a heartbeat for a check of Healthchecks.
func (h *healthchecksImport) check(v *value, index int) {
	draft := &Resource{Kind: project.KindCheck, result: h.Result}
	m := newMembers(v, "", draft.Lose)
	name := oneLine(m.marked("name"))
	origin := name
	if origin == "" {
		origin = fmt.Sprintf("check %d", index+1)
	}
	if v.kind != mapKind {
		h.Miss(project.KindCheck, origin, "it is no object")
		return
	}
	every, times, reason := h.schedule(m)
	grace, graceReason := healthchecksSeconds(m, "grace")
	if reason == "" {
		reason = graceReason
	}
	if reason != "" {
		h.Miss(project.KindCheck, origin, "%s", reason)
		return
	}
	key := origin
	if slug := oneLine(m.marked("slug")); slug != "" {
		key = slug
	}
	check := h.Add(project.KindCheck, origin, key)
	check.Losses, m.lose = draft.Losses, check.Lose
	check.Set("name", Literal(Name(name, origin)))
	if times == nil {
		check.setHeartbeat(every, grace)
	} else {
		check.setHeartbeatTimes(times, grace)
	}
	for tag := range strings.FieldsSeq(m.marked("tags")) {
		check.SetLabel(tag, "")
	}
	h.status(check, m)
	h.members(check, m)
	check.losePingAddress("ping_url", "the paths behind it, such as /start and /fail, stay")
	m.finish()
}

// schedule returns when Healthchecks expects pings: in each such time, or at those of a cron expression.
func (h *healthchecksImport) schedule(m *members) (every time.Duration, times Object, reason string) {
	given := strings.TrimSpace(m.marked("schedule"))
	if given == "" {
		every, reason = healthchecksSeconds(m, "timeout")
		return every, nil, reason
	}
	m.take("timeout")
	zone := oneLine(m.marked("tz"))
	const fields = 5
	if len(strings.Fields(given)) != fields || strings.ContainsAny(given, ":\n") {
		return 0, nil, "schedule: " + oneLine(given) + ": is no cron expression of five fields; " +
			"write one for a schedule in the form OnCalendar of systemd"
	}
	times = Object{{"cron", given}}
	if zone != "" && zone != "UTC" {
		times.Set("timezone", zone)
	}
	config, err := json.Marshal(Object{{"schedule", times}})
	if err != nil {
		return 0, nil, "schedule: cannot be written"
	}
	beat, err := vigil.HeartbeatOf(config)
	if err != nil {
		return 0, nil, fmt.Sprintf("schedule: %s %s: %v", given, zone, err)
	}
	if shortest := h.options.MinInterval; beat.Interval() < shortest {
		return 0, nil, fmt.Sprintf("schedule: %s: its runs follow each other within %s, and checks have at least %s",
			given, seconds(beat.Interval()), seconds(shortest))
	}
	return 0, times, ""
}

// healthchecksSeconds reads a member that is a number of seconds.
func healthchecksSeconds(m *members, name string) (time.Duration, string) {
	given := oneLine(m.marked(name))
	n, err := strconv.ParseInt(given, 10, 32)
	if err != nil || n < 1 {
		return 0, name + ": " + given + ": must be a number of seconds"
	}
	return time.Duration(n) * time.Second, ""
}

// status disables what expects no ping: a check that is paused, and one that has never had a ping.
func (h *healthchecksImport) status(check *Resource, m *members) {
	resumes := !m.on("manual_resume")
	switch status := oneLine(m.marked("status")); status {
	case "new":
		check.Set("enabled", false)
		check.Lose(
			"status: new",
			"no ping has come so far, and Vigil would expect one at once: the check is disabled; enable it when its job pings",
		)
	case "paused":
		check.Set("enabled", false)
		if resumes {
			check.Lose("status: paused", "the check is disabled, and a ping does not enable it as it ends the pause in Healthchecks")
		}
	case "up", "down", "grace", "started", "":
	default:
		check.Lose("status: "+status, "is none of new, up, grace, down, started and paused")
	}
}

// members reads the other members of a check. What Healthchecks counts itself changes nothing.
func (h *healthchecksImport) members(check *Resource, m *members) {
	for _, name := range []string{
		"n_pings", "started", "last_ping", "next_ping", "last_duration", "badge_url", "uuid", "ping_url", "update_url", "pause_url", "resume_url",
		"subject", "subject_fail", "start_kw", "success_kw", "failure_kw", // words of the filters
	} {
		m.take(name)
	}
	if m.take("unique_key") != nil {
		h.readOnly = true
	}
	if m.marked("desc") != "" {
		check.Lose("desc", "a check has no description")
	}
	if methods := oneLine(m.marked("methods")); methods != "" {
		check.Lose("methods: "+methods, "a ping may be GET, HEAD and POST")
	}
	for _, name := range []string{"filter_subject", "filter_body"} {
		if m.on(name) {
			check.Lose(name+": true", "Vigil receives no pings by email; let the job ask for ping_url, and for /fail behind it")
		}
	}
	if m.on("filter_http_body") {
		check.Lose(
			"filter_http_body: true",
			"Vigil looks for no words in a body; let the job ask for ping_url, and for /start and /fail behind it",
		)
	}
	if m.on("filter_default_fail") {
		check.Lose("filter_default_fail: true", "a ping without its words is a success")
	}
	for id := range strings.SplitSeq(m.marked("channels"), ",") {
		if id = oneLine(id); id == "" {
			continue
		}
		if h.channels[id] == "" {
			h.channels[id] = "integration " + cut(id, maxBrief)
		}
		check.miss(h.channels[id])
	}
}
