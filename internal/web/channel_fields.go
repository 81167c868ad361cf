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

// channelKind is a channel type of the API, and the format of it that a form is for.
type channelKind struct {
	*client.ChannelType

	// format is nil where the type has one form. chosen: the form names it; otherwise the address
	// may say another one.
	format *client.ChannelFormat
	chosen bool
	others []client.NotificationChannel // that may get what a channel cannot deliver
}

// channelSources is what a form of a channel needs of the API.
type channelSources struct {
	types  []client.ChannelType
	others []client.NotificationChannel
}

const (
	// secretMask is what the API shows in place of a secret, and what keeps it on write.
	secretMask = "***"
	// memberFormat is the member of a config that names the format.
	memberFormat = "format"
	// memberTo has the addresses of mail, of which memberEmail is an older form.
	memberTo    = "to"
	memberEmail = "email"
)

// readChannelSources reads the types with their members and formats, and the channels that there are.
func readChannelSources(r *request) (*channelSources, error) {
	types, err := r.channelTypes()
	if err != nil {
		return nil, err
	}
	others, err := r.api.ListNotificationChannelsWithResponse(r.Context(), &client.ListNotificationChannelsParams{Limit: new(int64(200))})
	if err != nil {
		return nil, err
	}
	return &channelSources{types: types, others: others.JSON200.Data}, nil
}

// kind finds a type and a format of it. Without a format it is the one that is in effect, or else the
// default. known is false for a type or format that there is not; the kind is then the first.
func (s *channelSources) kind(name, format, effective string) (kind channelKind, known bool) {
	at := slices.IndexFunc(s.types, func(t client.ChannelType) bool { return string(t.Type) == name })
	kind = channelKind{ChannelType: &s.types[max(at, 0)], others: s.others}
	if len(kind.Formats) == 0 {
		return kind, at >= 0
	}
	found := slices.IndexFunc(kind.Formats, func(f client.ChannelFormat) bool { return f.Format == format })
	kind.chosen = found >= 0
	known = at >= 0 && (kind.chosen || format == "")
	if !kind.chosen {
		found = slices.IndexFunc(kind.Formats, func(f client.ChannelFormat) bool { return f.Format == effective })
	}
	kind.format = &kind.Formats[max(found, 0)]
	return kind, known
}

// stored is the kind of a channel, with another format where one is named.
func (s *channelSources) stored(c *client.NotificationChannel, format string) channelKind {
	if stored, ok := c.Config[memberFormat].(string); ok && format == "" {
		format = stored
	}
	kind, _ := s.kind(string(c.Type), format, orNone(c.EffectiveFormat))
	return kind
}

// choices are the formats of the kind as links to a page.
func (k *channelKind) choices(page string) []choice {
	var list []choice
	for i, f := range k.Formats {
		href := page + "format=" + f.Format
		if i == 0 && strings.Contains(page, "/new?") { // the default of a new channel gives way to what its address says
			href = strings.TrimSuffix(page, "&")
		}
		list = append(list, choice{Text: f.Title, Href: href, Chosen: f.Format == k.format.Format})
	}
	return list
}

// about says what the type does.
func (k *channelKind) about() string { return k.Title + " " + k.About + "." }

// fields are those of the config, in the order of the API: of a format, those that it requires first.
func (k *channelKind) fields() []field {
	var list []field
	for i := range k.Members {
		m := &k.Members[i]
		required := m.Required
		if k.format != nil && !isWording(m.Name) {
			required = slices.Contains(k.format.Requires, m.Name)
			if !required && !slices.Contains(k.format.Takes, m.Name) {
				continue
			}
		}
		if m.Title != "" {
			list = append(list, fieldOf(m, required))
		}
	}
	slices.SortStableFunc(list, func(a, b field) int {
		switch {
		case k.format == nil || a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return list
}

// isWording reports whether a member says the words of messages, which every format takes.
func isWording(name string) bool { return name == "title_template" || name == "body_template" }

// fieldOf is the field of a member of a config.
func fieldOf(m *client.ChannelMember, required bool) field {
	f := field{
		Name: "config." + m.Name, Label: m.Title, Help: m.Description, Required: required,
		Mono: !isWording(m.Name), Placeholder: orNone(m.Example),
	}
	if f.Placeholder == "" {
		f.Placeholder = orNone(m.Default)
	}
	if m.Secret {
		f.Autofill = "off"
	}
	if m.Format != nil {
		f.Mode = map[client.ChannelMemberFormat]string{
			client.ChannelMemberFormatUri: "url", client.ChannelMemberFormatEmail: "email",
		}[*m.Format]
	}
	switch m.Type {
	case client.ChannelMemberTypeBoolean:
		f.Type, f.Options = "select", []option{{Value: "false", Text: "No"}, {Value: "true", Text: "Yes"}}
	case client.ChannelMemberTypeArray:
		f.Type, f.Rows, f.Mono, f.Help = "textarea", 3, false, "One on each line. "+f.Help
		var example []string
		if json.Unmarshal([]byte(f.Placeholder), &example) == nil {
			f.Placeholder = strings.Join(example, "\n")
		}
	case client.ChannelMemberTypeObject:
		f.Type, f.Rows, f.Placeholder, f.Help = "textarea", 2, "X-Team: payments", "One on each line, as Name: value. "+f.Help
	case client.ChannelMemberTypeInteger, client.ChannelMemberTypeNumber:
		f.Mode = "decimal"
	case client.ChannelMemberTypeString:
		if m.Name != "title_template" && strings.HasSuffix(m.Name, "_template") {
			f.Type, f.Rows = "textarea", 4
		}
	}
	if m.Options != nil {
		f.Type = "select"
		for _, value := range *m.Options {
			f.Options = append(f.Options, option{Value: value, Text: value})
		}
	}
	return f
}

// memberOf returns the member of the config that a field is for.
func memberOf(f *field) string { return strings.TrimPrefix(f.Name, "config.") }

// shownConfig writes a member of a stored config as its field shows it.
func shownConfig(config map[string]any, f *field) string {
	switch value := config[memberOf(f)].(type) {
	case nil:
		if memberOf(f) == memberTo {
			address, _ := config[memberEmail].(string)
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

// typedConfig makes the config of what was typed. Members that are not in the form keep what they
// have, so that a field the page does not know is not lost, unless they are those of another format.
func typedConfig(kind *channelKind, typed url.Values, stored map[string]any) map[string]any {
	config := make(map[string]any)
	for name, value := range stored {
		member := slices.IndexFunc(kind.Members, func(m client.ChannelMember) bool { return m.Name == name })
		if kind.format == nil || member < 0 || isWording(name) || name == memberFormat ||
			slices.Contains(kind.format.Requires, name) || slices.Contains(kind.format.Takes, name) {
			config[name] = value
		}
	}
	if kind.chosen {
		config[memberFormat] = kind.format.Format
	}
	for _, f := range kind.fields() {
		name := memberOf(&f)
		if value := kind.typedValue(&f, typed.Get(f.Name)); value != nil {
			config[name] = value
			if name == memberTo {
				delete(config, memberEmail)
			}
		} else {
			delete(config, name)
		}
	}
	return config
}

// typedValue is what was typed into the field of a member, by the member's type; nil for nothing.
func (k *channelKind) typedValue(f *field, typed string) any {
	text := strings.TrimSpace(typed)
	at := slices.IndexFunc(k.Members, func(m client.ChannelMember) bool { return m.Name == memberOf(f) })
	kind := k.Members[at].Type
	if kind == client.ChannelMemberTypeString && f.Type == "textarea" {
		text = strings.ReplaceAll(typed, "\r\n", "\n")
	}
	if text == "" {
		return nil
	}
	switch kind {
	case client.ChannelMemberTypeArray:
		return splitList(text)
	case client.ChannelMemberTypeObject:
		return splitHeaders(text)
	case client.ChannelMemberTypeBoolean:
		return text == "true"
	case client.ChannelMemberTypeInteger, client.ChannelMemberTypeNumber:
		return numberOf(text)
	case client.ChannelMemberTypeString:
	}
	return text
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

// channelForm declares the fields of a channel. known is nil for a new one.
func channelForm(r *request, kind *channelKind, known *client.NotificationChannel) *form {
	f := newForm(r)
	name, config := "", map[string]any{}
	if known != nil {
		name, config = known.Name, known.Config
	}
	f.add(field{Name: "name", Label: "Name", Value: name, Required: true, Placeholder: "On call", Focus: known == nil})
	for _, declared := range kind.fields() {
		declared.Value = shownConfig(config, &declared)
		if declared.Type == "select" && declared.Value == "" {
			declared.Value = declared.Options[0].Value
		}
		if declared.Value == secretMask || declared.Mode == "url" && secret.IsMaskedAddress(declared.Value) {
			declared.Help = strings.TrimSpace("*** stands for the secret that is stored, and keeps it. " + declared.Help)
		}
		f.add(declared)
	}
	f.add(fallbackField(known, kind.others))
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
func channelJSON(f *form, kind *channelKind, known *client.NotificationChannel) (string, error) {
	body := map[string]any{"name": f.get("name")}
	var stored map[string]any
	if known == nil {
		body["type"] = kind.Type
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
