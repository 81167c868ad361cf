// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"mime"
	"net/url"
	"strings"
)

// extracted is a value that an earlier step of a multistep check extracted.
type extracted struct {
	text string
	// structured: it is an object or a list, and text is its JSON.
	structured bool
}

// bodyKind is how values are written into the body of a config.
type bodyKind int

const (
	bodyText bodyKind = iota // as they are
	bodyForm
	bodyJSON
	bodyXML
)

// kindOfBody reads the kind of a body from its Content-Type and, without one that says it, from
// its beginning. Claims: it is one JSON text by its Content-Type (RFC 8259, RFC 6839).
func kindOfBody(config map[string]any) (kind bodyKind, claims bool) {
	headers, _ := config["headers"].(map[string]any)
	for name, value := range headers {
		if !strings.EqualFold(name, "Content-Type") {
			continue
		}
		media, _, err := mime.ParseMediaType(fmt.Sprint(value))
		switch {
		case err != nil:
		case media == "application/x-www-form-urlencoded":
			return bodyForm, false
		case media == "application/json", media == "text/json", strings.HasSuffix(media, "+json"):
			return bodyJSON, true
		case strings.Contains(media, "json"): // several texts, such as lines
			return bodyJSON, false
		case strings.HasSuffix(media, "/xml"), strings.HasSuffix(media, "+xml"), media == "text/html":
			return bodyXML, false
		}
	}
	body, _ := config["body"].(string)
	trimmed := strings.TrimSpace(body)
	switch {
	case strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "{{"), strings.HasPrefix(trimmed, "["):
		return bodyJSON, false
	case strings.HasPrefix(trimmed, "<"):
		return bodyXML, false
	}
	return bodyText, false
}

// escape writes a value so that it stays one value where it stands: behind the text before it,
// in which earlier values are in their places.
func (k bodyKind) escape(value extracted, before string) string {
	switch k {
	case bodyForm:
		return url.QueryEscape(value.text)
	case bodyJSON:
		return escapeJSON(value, before)
	case bodyXML:
		return escapeXML(value.text, before)
	case bodyText:
	}
	return value.text
}

// escapeJSON writes a value inside a string of JSON, or as a whole value of it: objects, lists,
// numbers, true, false and null as they are, and every other text as a string.
func escapeJSON(value extracted, before string) string {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value.text); err != nil {
		return ""
	}
	text := strings.TrimSuffix(quoted.String(), "\n")
	if insideString(before) {
		return text[1 : len(text)-1]
	}
	if value.structured || isJSONScalar(value.text) {
		return value.text
	}
	return text
}

// isJSONScalar reports whether a text is a number, true, false or null of JSON.
func isJSONScalar(text string) bool {
	return text != "" && !strings.ContainsAny(text[:1], "\"{[ \t\r\n") && json.Valid([]byte(text))
}

// insideString reports whether the end of a part of a JSON text is inside a string.
func insideString(part string) bool {
	inside := false
	for i := 0; i < len(part); i++ {
		switch {
		case part[i] == '"':
			inside = !inside
		case part[i] == '\\' && inside:
			i++
		}
	}
	return inside
}

// escapeXML writes a value as character data or as a part of an attribute (XML 1.0, section 2.4).
// In a CDATA section nothing is escaped but its end.
func escapeXML(value, before string) string {
	if strings.LastIndex(before, "<![CDATA[") > strings.LastIndex(before, "]]>") {
		return strings.ReplaceAll(value, "]]>", "]]]]><![CDATA[>")
	}
	var text bytes.Buffer
	if err := xml.EscapeText(&text, []byte(value)); err != nil {
		return ""
	}
	return text.String()
}
