// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"maps"
	"net/mail"
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// kumaChannel is a notification of Kuma.
type kumaChannel struct {
	name     string
	resource *Resource // nil: it is not carried over
	notifyOn vigil.NotifyOn
}

// kumaNotifier is a type of notifications that is carried over.
type kumaNotifier struct {
	kind vigil.ChannelType
	// convert sets the config of a channel, or says why that cannot be done.
	convert func(n *channelImport) (reason string)
	// prefixes begin the names of the members that belong to the type: the config also has
	// what other types left behind. Those that are not used are lost, save the plain ones,
	// which only change how a message looks, or do nothing when they are off.
	prefixes, plain []string
}

func kumaNotifiers() map[string]kumaNotifier {
	all := kumaFormats()
	maps.Copy(all, kumaMessages())
	maps.Copy(all, map[string]kumaNotifier{
		"slack": {
			vigil.ChannelChat, chatOf("slackwebhookURL", ""),
			[]string{"slack"},
			[]string{"slackrichmessage", "slackIncludeGroupName", "slackbutton"},
		},
		"discord": {
			vigil.ChannelChat, discordChannel, []string{"discord", "threadId", "postName", "disableUrl"}, []string{"disableUrl"},
		},
		"mattermost":  {vigil.ChannelChat, hookOf("mattermost", "mattermostWebhookUrl"), []string{"mattermost"}, nil},
		"rocket.chat": {vigil.ChannelChat, hookOf("rocketchat", "rocketwebhookURL"), []string{"rocket"}, []string{"rocketbutton"}},
		"ntfy":        {vigil.ChannelPush, ntfyChannel, []string{"ntfy"}, nil},
		"PagerDuty":   {vigil.ChannelPager, pagerChannel, []string{"pagerduty"}, nil},
		"webhook":     {vigil.ChannelWebhook, webhookChannel, []string{"webhook", "httpMethod"}, nil},
		"smtp":        {vigil.ChannelEmail, emailChannel, []string{"smtp", "custom", "htmlBody"}, nil},
	})
	return all
}

// channelImport makes a channel of a notification.
type channelImport struct {
	*kumaImport

	channel *kumaChannel
	given   kumaRow // the config of the notification
	config  Object
	used    map[string]bool
}

// use returns a member of the notification, which is not lost then.
func (n *channelImport) use(name string) string {
	n.used[name] = true
	return n.given.line(name)
}

func (n *channelImport) lose(name, format string, args ...any) {
	n.used[name] = true
	n.channel.resource.Lose(name, format, args...)
}

// loseGiven loses a member of the notification where it has a value.
func (n *channelImport) loseGiven(name, why string) {
	if n.use(name) != "" {
		n.lose(name, "%s", why)
	}
}

// addChannel carries a notification over.
func (k *kumaImport) addChannel(row kumaRow) {
	given := row.object(kumaConfig)
	if config, ok := row[kumaConfig].(kumaRow); ok {
		given = config
	}
	channel := &kumaChannel{name: Name(row.line("name"), given.line("name")), notifyOn: vigil.NotifyBoth}
	if channel.name == "" {
		channel.name = fmt.Sprintf("notification %d", row.id("id"))
	}
	k.channels[row.id("id")] = channel
	kind := given.line("type")
	notifier, known := kumaNotifiers()[kind]
	if !known {
		if kind == "" {
			kind = "none"
		}
		k.Miss(project.KindChannel, channel.name, "type %s: Vigil has no channel of this type, and no rule for it is made", kind)
		return
	}
	channel.resource = k.Add(project.KindChannel, channel.name, channel.name)
	n := &channelImport{kumaImport: k, channel: channel, given: given, used: map[string]bool{}}
	if reason := notifier.convert(n); reason != "" {
		k.Remove(channel.resource, "type %s: %s", kind, reason)
		channel.resource = nil
		return
	}
	c := channel.resource
	c.Set("name", channel.name)
	c.Set("type", string(notifier.kind))
	if !row.flag("active", true) {
		c.Set("enabled", false)
	}
	c.Set("config", n.config)
	if row.flag("is_default", false) {
		c.Lose("isDefault", "new checks get no channel by themselves; write defaults: {rule: {channels: [%s]}} for the rules of the files", c.Key)
	}
	n.loseRest(notifier)
}

// loseRest notes the members of the type that have a value and are not used. Values are not
// shown: some are credentials.
func (n *channelImport) loseRest(notifier kumaNotifier) {
	for _, name := range slices.Sorted(maps.Keys(n.given)) {
		own := slices.ContainsFunc(notifier.prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		value := n.given.shown(name)
		if !own || n.used[name] || slices.Contains(notifier.plain, name) || slices.Contains([]string{"", "false", "null", "0"}, value) {
			continue
		}
		n.channel.resource.Lose(name, "a channel of this type has no such member")
	}
}

// address returns a member that is the address of a receiver, with a suffix to its path.
func (n *channelImport) address(member, suffix string) (text, reason string) {
	given := n.use(member)
	address, err := url.Parse(given)
	const longest = 2048
	switch {
	case given == "":
		return "", member + " is empty"
	case err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Opaque != "" || len(given)+len(suffix) > longest:
		return "", member + " is not an address that begins with https:// or http://"
	case address.User != nil:
		return "", member + " has a user name or a password, which a channel cannot send"
	}
	if _, reason := kumaHost(address.Hostname()); reason != "" {
		return "", member + " has no host"
	}
	if _, port := splitAddress(address.Scheme+"://"+address.Host, 0); !validPort(port) || strings.HasSuffix(address.Host, ":") {
		return "", member + " has a port that is none"
	}
	if suffix != "" && !strings.HasSuffix(address.Path, suffix) {
		address = address.JoinPath(suffix)
	}
	return address.String(), ""
}

// chatOf is for products with an incoming webhook of Slack's form.
func chatOf(member, suffix string) func(*channelImport) string {
	return func(n *channelImport) string {
		address, reason := n.address(member, suffix)
		if reason == "" {
			n.config.Set("webhook_url", Literal(address)) // goes to .env: who knows it can post there
		}
		return reason
	}
}

// discordChannel uses Discord's own form, unless the address says that it is Slack's.
func discordChannel(n *channelImport) string {
	if !strings.HasSuffix(strings.TrimRight(n.given.line("discordWebhookUrl"), "/"), "/slack") {
		n.config.Set("format", "discord")
	}
	if n.use("discordChannelType") == "postToThread" && n.given.line("threadId") != "" {
		n.config.Set("format", "discord")
		n.config.Set("thread_id", n.use("threadId"))
	}
	if n.given.line("discordChannelType") == "createNewForumPost" {
		return "Vigil does not create a post of a forum for each message"
	}
	if n.use("discordMessageFormat") == "custom" {
		n.lose("discordMessageFormat", "the texts of Vigil are sent; write title_template and body_template")
	}
	return chatOf("discordWebhookUrl", "")(n)
}

func ntfyChannel(n *channelImport) string {
	topic := n.use("ntfytopic")
	if topic == "" || len(topic) > 64 || strings.ContainsFunc(topic, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return "ntfytopic is not 1 to 64 letters, digits, hyphens and underscores"
	}
	n.config.Set("topic", topic)
	if n.given.line("ntfyserverurl") != "" {
		server, reason := n.address("ntfyserverurl", "")
		if reason != "" {
			return reason
		}
		if strings.ContainsAny(server, "?#") {
			return "ntfyserverurl has a query"
		}
		n.config.Set("server", Literal(server))
	}
	user, password, token := n.use("ntfyusername"), n.use("ntfypassword"), n.use("ntfyaccesstoken")
	switch method := n.use("ntfyAuthenticationMethod"); {
	case method == "accessToken" && token != "":
		n.config.Set("password", Literal(token))
	case method != "none" && user != "" && password != "": // versions before 1.22 have no method
		n.config.Set("username", Literal(user))
		n.config.Set("password", Literal(password))
	}
	if n.use("ntfyPriority") != "" || n.use("ntfyPriorityDown") != "" {
		n.lose("ntfyPriority", "the priority follows the severity of the incident")
	}
	return ""
}

func pagerChannel(n *channelImport) string {
	key := n.use("pagerdutyIntegrationKey")
	if key == "" || len(key) > 255 {
		return "pagerdutyIntegrationKey is empty or longer than 255 characters"
	}
	n.config.Set("routing_key", Literal(key))
	const standard = "https://events.pagerduty.com/v2/enqueue"
	if given := n.use("pagerdutyIntegrationUrl"); given != "" && given != standard {
		address, reason := n.address("pagerdutyIntegrationUrl", "")
		if reason != "" {
			return reason
		}
		n.config.Set("url", Literal(address))
	}
	switch n.use("pagerdutyAutoResolve") {
	case "0":
		n.channel.notifyOn = vigil.NotifyUnhealthy
	case "acknowledge":
		n.lose("pagerdutyAutoResolve", "the end of an incident resolves the page; Vigil does not acknowledge it instead")
	}
	if priority := n.use("pagerdutyPriority"); priority != "" && priority != "critical" {
		n.lose("pagerdutyPriority", "the severity is that of the incident; write severity in the condition of a rule")
	}
	return ""
}

// emailChannel keeps the receivers; Vigil sends through its own mail server.
func emailChannel(n *channelImport) string {
	var to []string
	for _, member := range []string{"smtpTo", "smtpCC"} {
		for _, text := range splitAddresses(n.use(member)) {
			parsed, err := mail.ParseAddress(text)
			if err != nil || len(parsed.Address) > 254 || strings.ContainsAny(parsed.Address, "<>\" ") || !isASCII(parsed.Address) {
				n.channel.resource.Lose(member+": "+text, "it is not a plain address")
				continue
			}
			if !slices.Contains(to, parsed.Address) {
				to = append(to, parsed.Address)
			}
		}
	}
	const most = 50
	if len(to) == 0 {
		return "smtpTo has no address"
	}
	if len(to) > most {
		n.lose("smtpTo", "a channel has at most %d addresses", most)
		to = to[:most]
	}
	n.config.Set("to", to)
	n.loseGiven("smtpCC", "its addresses get the message like those of smtpTo")
	n.loseGiven("smtpBCC", "no copy is sent; make a channel for these addresses")
	for _, name := range []string{
		"smtpPort", "smtpSecure", "smtpUsername", "smtpPassword", "smtpFrom", "smtpIgnoreTLSError", "smtpIgnoreSTARTTLS",
	} {
		n.used[name] = true
	}
	n.lose("smtpHost", "Vigil sends through the mail server of its own settings")
	return ""
}

// splitAddresses splits a list of addresses at the commas and semicolons that are not in quotes.
func splitAddresses(text string) []string {
	quoted := false
	var all []string
	for _, part := range strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ',' || r == ';')
	}) {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

func isASCII(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e || r <= ' ' })
}
