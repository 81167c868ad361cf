// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// gatusProvider is a provider of alerts that becomes channels.
type gatusProvider struct {
	g     *gatusImport
	kind  string
	alert *gatusAlert // the default of its alerts; nil: none
	// base is the config for alerts without an override, and groups those of groups.
	base   *value
	groups []providerGroup
	made   []madeChannel
}

type providerGroup struct {
	name   string // with marks
	config *value
}

// madeChannel is a channel and the config that it was made of.
type madeChannel struct {
	config  string
	channel *Resource
}

// providerMembers are the members of the configs of the providers that become channels.
func providerMembers() map[string][]string {
	return map[string][]string{
		"slack":      {"webhook-url", "title"},
		"mattermost": {"webhook-url", "channel", "client"},
		"rocketchat": {"webhook-url", "channel"},
		"discord":    {"webhook-url", "title", "message-content"},
		"pagerduty":  {"integration-key"},
		"ntfy":       {"topic", "url", "priority", "token", "email", "click", "disable-firebase", "disable-cache"},
		"email":      {"from", "username", "password", "host", "port", "to", "client"},
		"custom":     {"url", "method", "body", "headers", "placeholders", "client"},

		"twilio": {"sid", "token", "from", "to"},

		"googlechat":      {"webhook-url", "client"},
		"teams":           {"webhook-url", "title", "client"},
		"teams-workflows": {"webhook-url", "title"},
		"telegram":        {"token", "id", "topic-id", "api-url", "client"},
		"matrix":          {"server-url", "access-token", "internal-room-id"},
		"zulip":           {"bot-email", "bot-api-key", "domain", "channel-id"},
		"gotify":          {"server-url", "token", "priority", "title"},
		"pushover": {
			"application-token", "user-key", "title", "priority", "resolved-priority", "sound", "ttl", "device",
		},
		"opsgenie":    {"api-key", "priority", "source", "entity-prefix", "alias-prefix", "tags"},
		"incident-io": {"url", "auth-token", "source-url", "metadata"},
		"jsm":         {"api-key", "priority", "source", "entity-prefix", "alias-prefix", "tags"},

		"alertmanager": {"urls", "default-severity", "extra-labels", "extra-annotations", "client"},

		"signal": {"api-url", "number", "recipients"},
		"line":   {"channel-access-token", "user-ids"},
	}
}

// readProviders makes channels of the providers, and notes those that Vigil does not have.
func (g *gatusImport) readProviders() {
	alerting := g.root.inner("alerting")
	if alerting == nil {
		return
	}
	known := providerMembers()
	n := 0
	for _, one := range alerting.members {
		alerting.used = append(alerting.used, one.name)
		if one.value.kind == nullKind {
			continue
		}
		n++
		switch {
		case known[one.name] == nil:
			g.Miss(project.KindChannel, "alerting."+one.name, "Vigil has no channel of this type, and no rule for it is made")
		case one.value.kind != mapKind:
			g.Miss(project.KindChannel, "alerting."+one.name, "is no map")
		default:
			g.providers[one.name] = g.provider(one.name, one.value)
		}
	}
	g.Read(n, "alerting provider")
}

func (g *gatusImport) provider(kind string, v *value) *gatusProvider {
	p := &gatusProvider{g: g, kind: kind, base: &value{kind: mapKind}}
	for _, one := range v.members {
		if one.name != "default-alert" && one.name != "overrides" {
			p.base.members = append(p.base.members, one)
		}
	}
	m := newMembers(v, "alerting."+kind+".", g.LoseSetting)
	if standard := m.inner("default-alert"); standard != nil {
		if standard.get("type") == nil {
			standard.used = append(standard.used, "type")
		}
		a := readAlert(standard)
		p.alert = &a
	}
	for _, one := range m.list("overrides") {
		group := providerGroup{config: &value{kind: mapKind}}
		for _, member := range one.members {
			if member.name == "group" {
				group.name = member.value.text
				continue
			}
			group.config.members = append(group.config.members, member)
		}
		p.groups = append(p.groups, group)
	}
	p.make(p.base, kind, "alerting."+kind)
	for _, group := range p.groups {
		p.make(overridden(p.base, group.config), kind+" "+shown(group.name), "alerting."+kind+" for the group "+shown(group.name))
	}
	return p
}

// overridden returns a config with the members of another one in the place of its own. As in
// Gatus, an empty member replaces nothing.
func overridden(base, with *value) *value {
	merged := &value{kind: mapKind, members: slices.Clone(base.members)}
	for _, one := range with.members {
		if one.value.kind == nullKind || one.value.kind == scalarKind && (one.value.text == "" || one.value.text == "0") {
			continue
		}
		if i := slices.IndexFunc(merged.members, func(m pair) bool { return m.name == one.name }); i >= 0 {
			merged.members[i] = one
			continue
		}
		merged.members = append(merged.members, one)
	}
	return merged
}

// channel returns the channel of an alert; nil: there is none.
func (p *gatusProvider) channel(group string, override *value, check *Resource) *Resource {
	config, name, origin := p.base, p.kind, "alerting."+p.kind
	for _, one := range p.groups {
		if one.name == group {
			config = overridden(config, one.config)
			name, origin = name+" "+shown(group), origin+" for the group "+shown(group)
			break
		}
	}
	if override != nil && override.kind == mapKind && len(override.members) > 0 {
		config = overridden(config, override)
		name, origin = name+" "+check.Key, origin+" with the provider-override of "+check.Origin
	}
	return p.make(config, name, origin)
}

// make returns the channel of a config. The same config has one channel; nil: the config
// makes none.
func (p *gatusProvider) make(config *value, name, origin string) *Resource {
	text := canonicalText(config)
	for _, one := range p.made {
		if one.config == text {
			return one.channel
		}
	}
	made := p.newChannel(config, name, origin)
	p.made = append(p.made, madeChannel{text, made})
	return made
}

// canonicalText is a text that differs when a value does.
func canonicalText(v *value) string {
	var out strings.Builder
	var write func(*value)
	write = func(v *value) {
		out.WriteString("\x00" + v.text)
		for _, item := range v.items {
			write(item)
		}
		for _, one := range v.members {
			out.WriteString("\x01" + one.name)
			write(one.value)
		}
		out.WriteByte('\x02')
	}
	sorted := &value{kind: v.kind, members: slices.Clone(v.members)}
	slices.SortStableFunc(sorted.members, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	write(sorted)
	return out.String()
}

// newChannel adds the channel of a config.
func (p *gatusProvider) newChannel(v *value, name, origin string) *Resource {
	draft := &Resource{Kind: project.KindChannel, result: p.g.Result}
	m := newMembers(v, "", draft.Lose)
	kind, config, problem := p.config(m)
	if problem != "" {
		p.g.Miss(project.KindChannel, origin, "%s", problem)
		return nil
	}
	m.finish()
	channel := p.g.Add(project.KindChannel, origin, name)
	channel.Losses = draft.Losses
	channel.Set("name", p.g.name(channelName(p.kind, name), name))
	channel.Set("type", string(kind))
	channel.Set("config", config)
	return channel
}

// channelName is the name of a channel: Slack, or Slack core of a group.
func channelName(kind, name string) string {
	written := map[string]string{
		"slack": "Slack", "mattermost": "Mattermost", "rocketchat": "Rocket.Chat", "discord": "Discord", "pagerduty": "PagerDuty",
		"ntfy": "ntfy", "email": "Email", "custom": "Webhook", "googlechat": "Google Chat", "teams": "Teams", "teams-workflows": "Teams",
		"telegram": "Telegram", "matrix": "Matrix", "zulip": "Zulip", "gotify": "Gotify", "pushover": "Pushover", "opsgenie": "Opsgenie",
		"incident-io": "incident.io", "twilio": "Twilio", "jsm": "Jira Service Management", "alertmanager": "Alertmanager",
		"signal": "Signal", "line": "LINE",
	}[kind]
	return written + strings.TrimPrefix(name, kind)
}

// config is the config of a channel for a config of the provider, or why there is none.
func (p *gatusProvider) config(m *members) (kind vigil.ChannelType, config Object, problem string) {
	switch p.kind {
	case "pagerduty":
		key := p.g.fileText(m.marked("integration-key"))
		if key == "" {
			return "", nil, "it has no integration-key"
		}
		return vigil.ChannelPager, Object{{"routing_key", key}}, ""
	case "ntfy":
		return p.ntfy(m)
	case "email":
		return p.email(m)
	case "custom":
		return p.custom(m)
	case "twilio":
		return p.twilio(m)
	case "telegram":
		return p.telegram(m)
	case "matrix":
		return p.matrix(m)
	case "zulip":
		return p.zulip(m)
	case "gotify":
		return p.gotify(m)
	case "pushover":
		return p.pushover(m)
	case "opsgenie", "jsm":
		return p.opsgenie(m)
	case "alertmanager":
		return p.alertmanager(m)
	case "signal":
		return p.signal(m)
	case "line":
		return p.line(m)
	case "incident-io":
		return p.incidentIO(m)
	}
	return p.hook(m)
}

func (p *gatusProvider) ntfy(m *members) (vigil.ChannelType, Object, string) {
	topic := p.g.fileText(m.marked("topic"))
	if topic == "" {
		return "", nil, "it has no topic"
	}
	config := Object{{"topic", topic}}
	if server := p.g.fileText(m.marked("url")); server != "" {
		config.Set("server", server)
	}
	if token := p.g.fileText(m.marked("token")); token != "" {
		config.Set("password", token)
	}
	m.drop("Vigil chooses the priority by the severity", "priority")
	m.dropTogether("Vigil has no such setting of a channel", "email", "click", "disable-firebase", "disable-cache")
	return vigil.ChannelPush, config, ""
}

func (p *gatusProvider) email(m *members) (vigil.ChannelType, Object, string) {
	var to []string
	for address := range strings.SplitSeq(m.marked("to"), ",") {
		if address = strings.TrimSpace(address); address != "" {
			to = append(to, p.g.fileText(address))
		}
	}
	if len(to) == 0 {
		return "", nil, "it has no to"
	}
	m.dropTogether("Vigil sends mail through the SMTP server of its own settings", "from", "username", "password", "host", "port", "client")
	return vigil.ChannelEmail, Object{{"to", to}}, ""
}
