// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/vigil-monitor/vigil/internal/events"
)

// messageText is the text of a short message, as a template.
const messageText = "{{incident_status}}: {{incident_title}} {{error_message}}"

// ownVariable is a variable that a body of an import has.
var ownVariable = regexp.MustCompile(`\{\{(incident_status|incident_title|incident_id|error_message)\}\}`)

// lineAddress is where messages of LINE are posted (developers.line.biz/en/reference/messaging-api).
const lineAddress = "https://api.line.me/v2/bot/message/push"

func lineMessage(to string) Object {
	return object("to", to, "messages", []any{object("type", "text", "text", messageText)})
}

// object makes an object of names and values.
func object(members ...any) Object {
	var made Object
	for i := 0; i+1 < len(members); i += 2 {
		name, _ := members[i].(string)
		made.Set(name, members[i+1])
	}
	return made
}

// bearer is the header of a token.
func bearer(token string) Object { return Object{{"Authorization", Literal("Bearer " + token)}} }

// setMessage sets the members of a webhook that sends a value as JSON.
func setMessage(config *Object, headers, body Object) (reason string) {
	if len(headers) > 0 {
		config.Set("headers", headers)
	}
	text := jsonText(body)
	if strings.Contains(ownVariable.ReplaceAllLiteralString(text, ""), events.TemplateOpen) {
		return "a member has {{, which begins a variable of Vigil"
	}
	return setBody(config, Literal(text), text, "")
}

// jsonText is a value as JSON, in the order of its members.
func jsonText(value any) string {
	switch of := value.(type) {
	case Object:
		parts := make([]string, len(of))
		for i, one := range of {
			parts[i] = jsonText(one.Name) + ": " + jsonText(one.Value)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(of))
		for i, one := range of {
			parts[i] = jsonText(one)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return "null"
	}
	return strings.TrimSuffix(text.String(), "\n")
}
