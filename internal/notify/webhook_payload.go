// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/url"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

// maxPayload bounds a template of a body, in bytes, and what is made of it.
const maxPayload = events.MaxEnvelope

// Media types of bodies that are made from a template, besides JSON.
const (
	contentForm = "application/x-www-form-urlencoded"
	contentText = "text/plain"
)

// payload is the template of a whole body.
type payload struct {
	parts  []payloadPart
	escape func(string) string
	valid  func([]byte) bool
}

// payloadPart is text, and the variable behind it.
type payloadPart struct {
	text, name string
	// bare: the variable stands outside of the strings of a JSON document.
	bare bool
}

// parsePayload reads a template, and tries it with the values of a test and with none. The media type says
// how values are escaped.
func parsePayload(template, contentType string) (*payload, error) {
	const member = "config.payload_template"
	if len(template) > maxPayload {
		return nil, vigil.Invalid(member, "must have at most %d bytes", maxPayload)
	}
	if _, err := events.ParseTemplate(member, template); err != nil {
		return nil, err
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, vigil.Invalid("config.content_type", "must be a media type, such as application/json")
	}
	p, isJSON := &payload{}, media == contentJSON || strings.HasSuffix(media, "+json")
	switch {
	case isJSON:
		p.escape, p.valid = escapeJSON, json.Valid
	case media == contentForm:
		p.escape, p.valid = url.QueryEscape, func(body []byte) bool {
			_, err := url.ParseQuery(string(body))
			return err == nil
		}
	case media == contentText:
		p.escape, p.valid = asIs, func([]byte) bool { return true }
	default:
		return nil, vigil.Invalid("config.content_type", "must be %s, one that ends with +json, %s or %s, where payload is template",
			contentJSON, contentForm, contentText)
	}
	if err := p.split(template, isJSON); err != nil {
		return nil, err
	}
	for what, values := range map[string]map[string]string{"the values of a test message": events.ExampleVariables(), "empty values": nil} {
		if body := p.fill(values, maxPayload); !p.valid(body) {
			return nil, vigil.Invalid(member, "makes no valid body of the type %s with %s", media, what)
		}
	}
	return p, nil
}

// split takes a template apart. It has valid placeholders.
func (p *payload) split(template string, isJSON bool) error {
	const member = "config.payload_template"
	numbers := make(map[string]bool)
	for _, variable := range events.Variables() {
		numbers[variable.Name] = variable.Type == "integer" || variable.Type == "number"
	}
	for quoted, rest := false, template; rest != ""; {
		text, behind, found := strings.Cut(rest, events.TemplateOpen)
		if !found {
			p.parts = append(p.parts, payloadPart{text: text})
			return nil
		}
		name, after, _ := strings.Cut(behind, events.TemplateClose)
		part := payloadPart{text: text, name: strings.Trim(name, " \t")}
		if isJSON {
			var open bool
			if quoted, open = quotes(text, quoted); open {
				return vigil.Invalid(member, "has a backslash before a placeholder")
			}
			part.bare = !quoted
			if part.bare && !numbers[part.name] {
				return vigil.Invalid(member, "has a placeholder of a text outside of quotation marks; write \"{{%s}}\"", shownName(part.name))
			}
		}
		p.parts, rest = append(p.parts, part), after
	}
	return nil
}

// shownName is the name of a variable in a message; that of a label may be anything.
func shownName(name string) string {
	if strings.HasPrefix(name, "label.") {
		return "label.team"
	}
	return name
}

// quotes follows a piece of JSON and reports whether its end is inside of a string, and whether a
// backslash there escapes what comes next.
func quotes(text string, quoted bool) (inside, escaped bool) {
	for i := range len(text) {
		switch {
		case escaped:
			escaped = false
		case quoted && text[i] == '\\':
			escaped = true
		case text[i] == '"':
			quoted = !quoted
		}
	}
	return quoted, escaped
}

// render makes the body of a message. Where values make it too long, each is cut.
func (p *payload) render(m *Message) []byte {
	var body []byte
	for _, longest := range []int{maxBody, maxTitle, 128, 0} {
		if body = p.fill(m.Variables, longest); len(body) <= maxPayload {
			break
		}
	}
	return body
}

// fill puts escaped values in the places of the variables, each of at most so many bytes.
func (p *payload) fill(values map[string]string, longest int) []byte {
	var body bytes.Buffer
	for _, part := range p.parts {
		body.WriteString(part.text)
		value := strings.ToValidUTF8(values[part.name], " ")
		switch {
		case part.name == "":
		case !part.bare:
			body.WriteString(p.escape(shortened(printable(value), longest)))
		case json.Valid([]byte(value)) && strings.Trim(value, "0123456789+-.eE") == "":
			body.WriteString(value)
		default:
			body.WriteString("null")
		}
	}
	return body.Bytes()
}

func shortened(value string, longest int) string {
	if longest == 0 {
		return ""
	}
	return cut(value, longest)
}

// escapeJSON makes a text fit to stand between quotation marks.
func escapeJSON(text string) string {
	made, err := asJSON(text)
	if err != nil {
		return ""
	}
	return string(made.body[1 : len(made.body)-1])
}
