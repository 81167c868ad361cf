// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// kumaImport turns what Uptime Kuma has into resources.
type kumaImport struct {
	*Result

	data     *kumaData
	options  Options
	monitors map[int64]kumaRow
	channels map[int64]*kumaChannel
	checks   map[int64]*Resource // of monitors that are carried over
	domains  []*kumaDomain
}

// importKuma never fails: what cannot be carried over is a loss.
func importKuma(data *kumaData, o Options) *Result {
	k := &kumaImport{
		Result: NewResult(kuma(), o), data: data, options: o,
		monitors: map[int64]kumaRow{}, channels: map[int64]*kumaChannel{}, checks: map[int64]*Resource{},
	}
	groups := 0
	for _, m := range data.monitors {
		k.monitors[m.id("id")] = m
		if m.line("type") == kumaGroup {
			groups++
		}
	}
	k.Read(len(data.monitors)-groups, "monitor")
	k.Read(groups, "group")
	k.Read(len(data.notifications), "notification")
	k.Read(len(data.maintenance), "maintenance window")
	k.Read(len(data.pages), "status page")
	for _, n := range data.notifications {
		k.addChannel(n)
	}
	for _, m := range data.monitors {
		k.addMonitor(m)
		k.noteDomain(m)
	}
	k.addDomains()
	for _, m := range data.maintenance {
		k.addMaintenance(m)
	}
	for _, p := range data.pages {
		k.addPage(p)
	}
	k.loseRest()
	return k.Result
}

// loseRest notes what belongs to no resource.
func (k *kumaImport) loseRest() {
	if k.data.backup {
		form := "the JSON backup"
		if k.data.list {
			form = "a list of monitors"
		}
		k.LoseSetting("status pages, maintenance, proxies", "%s does not have them; import kuma.db for them", form)
		k.LoseSetting("heartbeats", "the history of results stays in Uptime Kuma; uptime begins with the first result of Vigil")
	}
	reasons := []struct{ table, noun, reason string }{
		{"heartbeat", "", "the history of results stays in Uptime Kuma; uptime begins with the first result of Vigil"},
		{"stat_minutely", "", "uptime begins with the first result of Vigil"},
		{"stat_hourly", "", "uptime begins with the first result of Vigil"},
		{"stat_daily", "", "uptime begins with the first result of Vigil"},
		{"docker_host", "Docker host", "there is no check of a container"},
		{"status_page", "status page", "write it into the files, with the checks that everybody may see"},
		{"remote_browser", "remote browser", "there is no check with a browser"},
		{"api_key", "API key", "make new ones with `vigil api-key create`"},
		{"incident", "announcement", "write an update of an incident instead"},
		{"user", "user", "accounts are not carried over; invite people with `vigil member invite`"},
	}
	for _, one := range reasons {
		switch n := k.data.others[one.table]; {
		case n == 0:
		case one.noun == "":
			k.LoseSetting(one.table, "%s", one.reason)
		default:
			k.LoseSetting(one.table, "%s: %s", counted(int(n), one.noun), one.reason)
		}
	}
	k.loseUnusedProxies()
	for _, name := range []string{"tlsExpiryNotifyDays", "domainExpiryNotifyDays", "steamAPIKey", "primaryBaseURL", "entryPage"} {
		if value := strings.Trim(k.data.settings[name], `"`); value != "" && value != "null" && value != "[7,14,21]" {
			k.LoseSetting(name, "a setting of the program itself")
		}
	}
}

// kumaGroup is the type of a monitor that only has others below it.
const kumaGroup = "group"

// maxKumaDepth bounds the groups above a monitor.
const maxKumaDepth = 20

// parents returns the groups above a monitor, the nearest first.
func (k *kumaImport) parents(m kumaRow) []kumaRow {
	var all []kumaRow
	seen := []int64{m.id("id")}
	for id := m.id("parent"); id != 0 && len(all) < maxKumaDepth && !slices.Contains(seen, id); {
		parent := k.monitors[id]
		if parent == nil {
			break
		}
		all, seen = append(all, parent), append(seen, id)
		id = parent.id("parent")
	}
	return all
}

// groupPath returns the names of the groups above a monitor, such as "Shop / Web".
func (k *kumaImport) groupPath(m kumaRow) string {
	var names []string
	for _, parent := range k.parents(m) {
		names = append([]string{parent.line("name")}, names...)
	}
	return strings.Join(names, " / ")
}

// originOf names a monitor as Kuma shows it.
func (k *kumaImport) originOf(m kumaRow) string {
	name := m.line("name")
	if name == "" {
		name = fmt.Sprintf("monitor %d", m.id("id"))
	}
	if path := k.groupPath(m); path != "" {
		return path + " / " + name
	}
	return name
}

// addMonitor carries a monitor over. A group becomes a label of what is below it.
func (k *kumaImport) addMonitor(m kumaRow) {
	if m.line("type") == kumaGroup {
		k.loseGroup(m)
		return
	}
	origin := k.originOf(m)
	config, kind, reason := k.probeOf(m)
	if reason != "" {
		k.Miss(project.KindCheck, origin, "%s", reason)
		return
	}
	c := k.Add(project.KindCheck, origin, m.line("name"))
	c.Set("name", Name(m.line("name"), origin))
	c.Set("type", string(kind))
	if !k.active(m) || m.flag("upside_down", false) {
		c.Set("enabled", false)
	}
	if kind != vigil.TypeHeartbeat {
		c.SetInterval(kumaInterval(m))
	}
	k.label(c, m)
	k.checks[m.id("id")] = c
	config(c)
	k.setProxy(c, m)
	k.loseMembers(c, m)
	k.addRules(c, m)
	if warnsOfCertificate(m) {
		k.addCertificate(c, m)
	}
}

// active reports whether a monitor and the groups above it are not paused.
func (k *kumaImport) active(m kumaRow) bool {
	paused := func(row kumaRow) bool { return !row.flag("active", true) }
	return !paused(m) && !m.flag("force_inactive", false) && !slices.ContainsFunc(k.parents(m), paused)
}

// label sets the group and the tags of a monitor as labels.
func (k *kumaImport) label(c *Resource, m kumaRow) {
	group := k.groupPath(m)
	if group != "" {
		c.SetLabel("group", group)
	}
	for _, tag := range m.below(kumaTags) {
		name, value := tag.line("name"), tag.line("value")
		switch {
		case name == "":
			c.Lose(fmt.Sprintf("tag %d", tag.id("tag_id")), "it has no name")
			continue
		case !strings.ContainsFunc(strings.ToLower(name), func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }):
			named := fmt.Sprintf("tag-%d", tag.id("tag_id"))
			c.Lose("tag "+name, "the label is %s: a name of a label has a-z, 0-9, '.', '_', '/' and '-'", named)
			name, value = named, strings.Trim(name+": "+value, ": ")
		case group != "" && strings.EqualFold(name, "group"):
			name = "tag-group"
		}
		c.SetLabel(name, value)
	}
}

// loseGroup notes what a group has besides its name, which becomes a label.
func (k *kumaImport) loseGroup(m kumaRow) {
	what := "group " + k.originOf(m)
	if n := len(m.ids(kumaNotifications)); n > 0 {
		k.LoseSetting(what, "its %s: a group has no state of its own, the rules of its checks notify", counted(n, "notification"))
	}
	if m.line("description") != "" {
		k.LoseSetting(what, "its description")
	}
	if n := len(m.below(kumaTags)); n > 0 {
		k.LoseSetting(what, "its %s: give the labels to its checks", counted(n, "tag"))
	}
}
