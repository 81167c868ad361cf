// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// judge asks a server's own readers about the configs. A resource that they refuse leaves
// the files and is missing.
func (r *Result) judge() {
	if r.options.Judge == nil {
		return
	}
	for _, channel := range slices.Clone(r.Channels) {
		kind, _ := channel.Members.Get("type").(string)
		config, err := json.Marshal(filled(channel.Members.Get("config"), ""))
		if err == nil {
			err = r.options.Judge.Channel(vigil.ChannelType(kind), config)
		}
		r.removeRefused(channel, err)
	}
	for _, check := range slices.Clone(r.Checks) {
		kind, _ := check.Members.Get("type").(string)
		given, _ := check.Members.Get("interval").(string)
		interval := int64(60)
		if read, err := project.ParseSeconds(given); err == nil {
			interval = read
		}
		config, err := json.Marshal(filled(check.Members.Get("config"), ""))
		if err == nil {
			err = r.options.Judge.Check(vigil.CheckType(kind), config, time.Duration(interval)*time.Second)
		}
		r.removeRefused(check, err)
	}
}

func (r *Result) removeRefused(one *Resource, err error) {
	if err == nil {
		return
	}
	r.Remove(one, "%v", err)
	r.unlink(one)
}

// filled returns a value as a reader of the files has it: a variable has some value that
// fits its place.
func filled(value any, name string) any {
	switch value := value.(type) {
	case string:
		return filledText(value, name)
	case []string:
		all := make([]any, len(value))
		for i, item := range value {
			all[i] = filledText(item, name)
		}
		return all
	case []any:
		all := make([]any, len(value))
		for i, item := range value {
			all[i] = filled(item, name)
		}
		return all
	case Object:
		all := make(Object, len(value))
		for i, m := range value {
			all[i] = Member{m.Name, filled(m.Value, m.Name)}
		}
		return slices.DeleteFunc(all, func(m Member) bool { return unknownPEM(m.Name, value.Get(m.Name)) })
	}
	return value
}

// unknownPEM reports whether a member is a certificate or a key that a variable holds: no text
// stands for one, since the two must fit.
func unknownPEM(name string, value any) bool {
	text, _ := value.(string)
	return (name == "client_certificate" || name == "client_key" || name == "ca_certificates") && hasVariable(text)
}

func filledText(text, name string) string {
	const literal = "\x00"
	text = strings.ReplaceAll(text, "$${", literal)
	// A variable in the place of a port has the number of one.
	text = regexp.MustCompile(`(://[^/?#]*[^/:?#]):\$\{[A-Za-z_][A-Za-z0-9_]*\}`).ReplaceAllString(text, "$1:80")
	i := 0
	text = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)(:-\$)?\}`).ReplaceAllStringFunc(text, func(string) string {
		i++
		switch {
		case i > 1:
			return "x"
		case name == "url" || name == "webhook_url" || name == "server" || name == "token_url":
			if strings.HasPrefix(text, "${") {
				return "https://x.example"
			}
		case name == "proxy":
			if strings.HasPrefix(text, "${") {
				return "http://x.example"
			}
		case name == "token":
			return "1:x" // also that of a bot of Telegram
		case name == "chat_id" || name == "thread_id":
			return "1"
		case name == "room_id":
			return "!x:x.example"
		case name == "to" || name == "email":
			return "x@x.example"
		case name == "resolvers":
			return "9.9.9.9" // an address for documentation is refused
		case name == "expected_values":
			return "192.0.2.1"
		case name == "expected_status_codes":
			return "200"
		}
		return "x"
	})
	return strings.ReplaceAll(text, literal, "${")
}
