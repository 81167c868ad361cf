// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// channelType is a type of channels with the fields of its config. The fields are those of
// the API; a test compares them with its document.
type channelType struct {
	Value, Text, About string
	Fields             []field
}

// secretMask is what the API shows in place of a secret, and what keeps it on write.
const secretMask = "***"

// channelTypes are the types, in the order in which they are offered.
func channelTypes() []channelType {
	return []channelType{
		{"webhook", "Webhook", "posts each event to a program of yours", []field{
			{Name: "config.url", Label: "Address", Mode: "url", Mono: true, Placeholder: "https://hooks.example.com/vigil", Required: true},
			{
				Name: "config.secret", Label: "Secret", Mono: true, Autofill: "off",
				Help: "Signs each request, so that the receiver can tell that it comes from here. It may stay empty.",
			},
			{Name: "config.method", Label: "Method", Type: "select", Options: []option{
				{Value: "POST", Text: "POST"},
				{Value: "PUT", Text: "PUT"},
				{Value: "PATCH", Text: "PATCH"},
			}},
			{
				Name: "config.headers", Label: "Headers", Type: "textarea", Rows: 2, Mono: true, Placeholder: "X-Team: payments",
				Help: "One on each line, as Name: value.",
			},
			{Name: "config.content_type", Label: "Content type", Mono: true, Placeholder: "application/json"},
			{
				Name: "config.payload", Label: "Body", Type: "select",
				Options: []option{{Value: "envelope", Text: "The envelope of the event"}, {Value: "template", Text: "What the template below makes"}},
			},
			{
				Name: "config.payload_template", Label: "Template of the body", Type: "textarea", Rows: 4, Mono: true,
				Placeholder: `{"text": "{{incident_title}}"}`, Help: "Values are escaped for the content type.",
			},
			{
				Name: "config.traceparent", Label: "Trace of the incident", Type: "select",
				Options: []option{{Value: "false", Text: "Not sent"}, {Value: "true", Text: "Sent in the header traceparent"}},
				Help:    "Joins the receiver's trace to that of the incident (W3C Trace Context).",
			},
		}},
		{"email", "Email", "sends mail to people", []field{
			{
				Name: "config.to", Label: "Addresses", Type: "textarea", Rows: 3, Mode: "email", Placeholder: "oncall@example.com", Required: true,
				Help: "One on each line, up to 50.",
			},
		}},
		{"push", "Push", "publishes to ntfy, Gotify or Pushover", pushFields()},
		{"chat", "Chat", "posts to a chat product", chatFields()},
		{"pager", "Pager", "triggers and resolves alerts of a paging service", pagerFields()},
	}
}

func pushFields() []field {
	return []field{
		formatField("ntfy", "gotify", "pushover"),
		{Name: "config.topic", Label: "Topic", Mono: true, Placeholder: "shop-alerts", Help: "Of ntfy."},
		{Name: "config.server", Label: "Server", Mode: "url", Mono: true, Placeholder: "https://ntfy.sh"},
		{Name: "config.username", Label: "User name", Autofill: "off", Help: "Of ntfy, only where the server needs one."},
		{Name: "config.password", Label: "Password or access token", Mono: true, Autofill: "off", Help: "Of ntfy."},
		{Name: "config.token", Label: "Token of the application", Mono: true, Autofill: "off", Help: "Of gotify and pushover."},
		{Name: "config.user_key", Label: "User key", Mono: true, Autofill: "off", Help: "Of pushover."},
		{Name: "config.device", Label: "Device", Mono: true, Help: "Of pushover; without one, all."},
	}
}

func chatFields() []field {
	return []field{
		formatField("slack", "discord", "teams", "google_chat", "mattermost", "telegram", "matrix", "zulip", "rocketchat"),
		{
			Name: "config.webhook_url", Label: "Incoming webhook", Mode: "url", Mono: true,
			Placeholder: "https://chat.example.com/hooks/T000/B000/XXXX", Help: "Of all but telegram, matrix and zulip.",
		},
		{
			Name: "config.server", Label: "Server", Mode: "url", Mono: true,
			Help: "Of matrix and zulip; of telegram where it is not the public one.",
		},
		{Name: "config.token", Label: "Token", Mono: true, Autofill: "off", Help: "Of telegram, matrix and zulip."},
		{Name: "config.chat_id", Label: "Chat", Mono: true, Placeholder: "-1001234567890", Help: "Of telegram."},
		{Name: "config.thread_id", Label: "Thread", Mono: true, Help: "Of discord, or the topic of a chat of telegram: its number."},
		{Name: "config.room_id", Label: "Room", Mono: true, Placeholder: "!abcdef:example.com", Help: "Of matrix."},
		{Name: "config.email", Label: "Address of the bot", Mode: "email", Mono: true, Help: "Of zulip."},
		{Name: "config.stream", Label: "Channel", Mono: true, Help: "Of zulip."},
		{Name: "config.topic", Label: "Topic", Mono: true, Help: "Of zulip; without one, each check has its own."},
	}
}

func pagerFields() []field {
	return []field{
		formatField("pagerduty", "opsgenie", "jsm", "incident_io", "alertmanager", "splunk_oncall"),
		{
			Name: "config.routing_key", Label: "Integration key", Mono: true, Autofill: "off",
			Help: "Of pagerduty, or the routing key of splunk_oncall.",
		},
		{Name: "config.url", Label: "Address", Mode: "url", Mono: true, Placeholder: "https://events.pagerduty.com/v2/enqueue"},
		{Name: "config.api_key", Label: "API key", Mono: true, Autofill: "off", Help: "Of all but pagerduty."},
		{Name: "config.username", Label: "User name", Autofill: "off", Help: "Of an alertmanager with basic authentication."},
	}
}

// formatField selects the format of the messages of a type.
func formatField(formats ...string) field {
	f := field{
		Name: "config.format", Label: "Format", Type: "select", Options: []option{{Text: "The one that the address says"}},
		Help: "Which product the messages are for.",
	}
	for _, name := range formats {
		f.Options = append(f.Options, option{Value: name, Text: name})
	}
	return f
}

// wordingFields are what every type has: the words of its messages.
func wordingFields() []field {
	return []field{
		{Name: "config.title_template", Label: "Title of messages", Placeholder: "{{incident_status}}: {{incident_title}}"},
		{
			Name: "config.body_template", Label: "Text of messages", Type: "textarea", Rows: 3,
			Placeholder: "{{error_message}} in {{regions_down}}",
		},
	}
}

func channelTypeOf(value string) (channelType, bool) {
	types := channelTypes()
	i := slices.IndexFunc(types, func(t channelType) bool { return t.Value == value })
	if i < 0 {
		return types[0], false
	}
	return types[i], true
}

// memberOf returns the member of the config that a field is for.
func memberOf(f *field) string { return strings.TrimPrefix(f.Name, "config.") }

// shownConfig writes a member of a stored config as its field shows it.
func shownConfig(config map[string]any, f *field) string {
	switch value := config[memberOf(f)].(type) {
	case nil:
		if memberOf(f) == "to" {
			address, _ := config["email"].(string)
			return address
		}
		return ""
	case string:
		return value
	case []any:
		lines := make([]string, len(value))
		for i, line := range value {
			lines[i] = fmt.Sprint(line)
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		var lines []string
		for name, text := range value {
			lines = append(lines, name+": "+fmt.Sprint(text))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	default:
		return fmt.Sprint(value)
	}
}

// typedConfig makes the config of what was typed. Members that are not in the form keep
// what they have, so that a field the page does not know is not lost.
func typedConfig(kind channelType, typed url.Values, stored map[string]any) map[string]any {
	config := make(map[string]any)
	for name, value := range stored {
		config[name] = value
	}
	for _, f := range append(slices.Clone(kind.Fields), wordingFields()...) {
		name, text := memberOf(&f), strings.TrimSpace(typed.Get(f.Name))
		if name == "body_template" || name == "payload_template" {
			text = strings.ReplaceAll(typed.Get(f.Name), "\r\n", "\n")
		}
		if text == "" {
			delete(config, name)
			continue
		}
		switch name {
		case "to":
			delete(config, "email")
			config[name] = splitList(text)
		case "headers":
			config[name] = splitHeaders(text)
		case "traceparent":
			config[name] = text == "true"
		default:
			config[name] = text
		}
	}
	return config
}

// splitList reads one item a line, or several between commas.
func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' || r == ';' })
}

// splitHeaders reads one header a line. A line without a colon is a header without a
// value, which the API rejects with its reason.
func splitHeaders(text string) map[string]string {
	headers := make(map[string]string)
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			name, value, _ := strings.Cut(line, ":")
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return headers
}

// channelForm declares the fields of a channel. known is nil for a new one; others are the channels
// that it may fall back to.
func channelForm(r *request, kind channelType, known *client.NotificationChannel, others []client.NotificationChannel) *form {
	f := newForm(r)
	name, config := "", map[string]any{}
	if known != nil {
		name, config = known.Name, known.Config
	}
	f.add(field{Name: "name", Label: "Name", Value: name, Required: true, Placeholder: "On call", Focus: known == nil})
	for _, declared := range append(slices.Clone(kind.Fields), wordingFields()...) {
		declared.Value = shownConfig(config, &declared)
		if declared.Type == "select" && declared.Value == "" {
			declared.Value = declared.Options[0].Value
		}
		if declared.Value == secretMask || declared.Name == "config.webhook_url" && secret.IsMaskedAddress(declared.Value) {
			declared.Help = strings.TrimSpace("*** stands for the secret that is stored, and keeps it. " + declared.Help)
		}
		f.add(declared)
	}
	f.add(fallbackField(known, others))
	return f
}

// memberFallback is the member of a channel that names its fallback.
const memberFallback = "fallback_channel_id"

// fallbackField selects the channel that gets what this one cannot deliver.
func fallbackField(known *client.NotificationChannel, others []client.NotificationChannel) field {
	declared := field{
		Name: memberFallback, Label: "Fallback", Type: "select", Options: []option{{Text: "None"}},
		Help: "Gets, once, the messages that this channel cannot deliver.",
	}
	if known != nil && known.FallbackChannelId != nil {
		declared.Value = known.FallbackChannelId.String()
	}
	listed := declared.Value == ""
	for i := range others {
		if known != nil && others[i].Id == known.Id {
			continue
		}
		declared.Options = append(declared.Options, option{Value: others[i].Id.String(), Text: others[i].Name})
		listed = listed || others[i].Id.String() == declared.Value
	}
	if !listed {
		declared.Options = append(declared.Options, option{Value: declared.Value, Text: short(declared.Value)})
	}
	return declared
}

// channelJSON is the body of a request that writes a channel.
func channelJSON(f *form, kind channelType, known *client.NotificationChannel) (string, error) {
	body := map[string]any{"name": f.get("name")}
	var stored map[string]any
	if known == nil {
		body["type"] = kind.Value
	} else {
		stored = known.Config
	}
	body["config"] = typedConfig(kind, f.values, stored)
	if f.values.Has(memberFallback) { // a form of an earlier version has no such field
		if body[memberFallback] = nil; f.get(memberFallback) != "" {
			body[memberFallback] = f.get(memberFallback)
		}
	}
	raw, err := json.Marshal(body)
	return string(raw), err
}
