// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"html"
	"io"
	"strings"
	"unicode"

	"github.com/valyala/fasttemplate"

	"github.com/vigil-monitor/vigil/internal/events"
)

// Bounds of what a template makes, in bytes. A value can be longer than any
// template; what is beyond is cut.
const (
	maxTitle = 1 << 10
	maxBody  = 16 << 10
)

// Wording is what a config says about its messages. Every channel type embeds
// it.
type Wording struct {
	TitleTemplate string `json:"title_template,omitempty" title:"Title of messages" maxLength:"500" doc:"Title of the messages, with variables of GET /v1/template-variables as {{name}}, and labels of the check as {{label.team}}. One that leaves nothing to read is replaced by the default." example:"{{incident_status}}: {{incident_title}}"`
	BodyTemplate  string `json:"body_template,omitempty" title:"Text of messages" maxLength:"10000" doc:"Text of the messages, with variables of GET /v1/template-variables as {{name}}, and labels of the check as {{label.team}}. One that leaves nothing to read is replaced by the default." example:"Status {{incident_status}}, after {{duration}}. What was seen: {{error_message}}"`
}

// check refuses templates with unknown variables.
func (w Wording) check() error {
	if _, err := events.ParseTemplate("config.title_template", w.TitleTemplate); err != nil {
		return err
	}
	_, err := events.ParseTemplate("config.body_template", w.BodyTemplate)
	return err
}

// title is one line of text: the channel's own, or the default where it has none or where
// its variables leave nothing to read. Each value goes through escape, and so does the
// default as a whole. The title of a drill begins with its mark in any case.
func (w Wording) title(m *Message, escape func(string) string) string {
	text := singleLine(render(w.TitleTemplate, m.Variables, func(value string) string { return escape(singleLine(value)) }))
	if blank(text) {
		text = escape(m.severityMark() + singleLine(m.Title))
	}
	if mark := escape(events.DrillMark); m.Drill && !strings.HasPrefix(text, mark) {
		text = mark + text
	}
	return cut(text, maxTitle)
}

// ownBody reports whether the template of the channel makes a text of the message.
func (w Wording) ownBody(m *Message) bool {
	return !blank(printable(render(w.BodyTemplate, m.Variables, printable)))
}

// body is text of any number of lines, made like a title, with the note of the message below it. The default has the
// facts of the message.
func (w Wording) body(m *Message, escape func(string) string) string {
	text := printable(render(w.BodyTemplate, m.Variables, func(value string) string { return escape(printable(value)) }))
	if blank(text) {
		text = escape(printable(events.JoinNote(m.Body, m.factLines())))
	}
	if m.Note == "" {
		return cut(text, maxBody)
	}
	note := escape(printable(m.Note))
	return events.JoinNote(cut(text, maxBody-len(note)-2), note)
}

// render fills a template's placeholders with escaped values. A value is never
// read as a template, and a name without a value leaves nothing.
func render(text string, values map[string]string, escape func(string) string) string {
	return fasttemplate.ExecuteFuncString(text, events.TemplateOpen, events.TemplateClose, func(w io.Writer, tag string) (int, error) {
		return io.WriteString(w, escape(values[strings.Trim(tag, " \t")]))
	})
}

// asIs is for destinations that encode the whole text, such as JSON.
func asIs(text string) string { return text }

// escapeHTML makes a text safe inside an element and keeps its lines.
func escapeHTML(text string) string {
	return strings.ReplaceAll(html.EscapeString(text), "\n", "<br>\n")
}

// singleLine makes a text fit for a header or a subject.
func singleLine(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, " "), breaksLine), " ")
}

func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// printable drops what no text holds, and keeps lines and tabs.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, " "))
}
