// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Bounds of what comes from outside.
const (
	maxText   = 500  // characters of a text
	maxConfig = 4000 // characters of a text within a config, which is written back
	maxItems  = 50   // of a list within untrusted data

	maxEvidence = 2100 // characters of a text within evidence, such as the beginning of a body
)

// untrustedPrefix begins the names of members with text that people or targets wrote.
const untrustedPrefix = "untrusted_"

// outside reports whether people or targets write a member of the API's answers freely.
func outside(name string) bool {
	switch name {
	case "name", "channel_name", "incident_title", "title", "description", "note", "text", "author", "error", "error_message",
		"message", "response_body", "body", "metadata", "user_name", "user_agent", "disabled_reason", "acknowledged_by",
		"resolved_by", "changed_by", "by", "labels", "config", "target":
		return true
	}
	return false
}

func isObject(value any) bool {
	_, ok := value.(object)
	return ok
}

// private reports whether a member of the API's answers is left out: addresses of people, the
// beginnings of keys, and what says nothing to an assistant.
func private(name string) bool {
	switch name {
	case "org_id", "user_email", "key_prefix", "address", "recipients", "email":
		return true
	}
	return false
}

// person reports whether a member names who did something: by name, or by address.
func person(name string) bool {
	switch name {
	case "acknowledged_by", "resolved_by", "changed_by", "by", "author":
		return true
	}
	return false
}

// withoutDomain returns the part of an address of mail before the @, and other texts as they are.
func withoutDomain(value any) any {
	text, _ := value.(string)
	name, _, _ := strings.Cut(text, "@")
	return name
}

// clean returns a value of the API's answers without nulls, with what came from outside under
// names that say so, and with its long texts cut.
func clean(value any) any {
	switch v := value.(type) {
	case object:
		return cleanObject(v)
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, clean(item))
		}
		return out
	}
	return value
}

func cleanObject(v object) object {
	out := make(object, len(v))
	for name, value := range v {
		switch {
		case value == nil || private(name):
		case outside(name), name == "evidence" && isObject(value):
			limit := maxText
			if name == "evidence" {
				limit = maxEvidence
			}
			if person(name) {
				value = withoutDomain(value)
			}
			if name == "config" {
				limit = maxConfig
			}
			if value = cut(value, limit); !empty(value) {
				out[untrustedPrefix+name] = value
			}
		default:
			if value = clean(value); !empty(value) {
				out[name] = value
			}
		}
	}
	liftPhases(v, out)
	return out
}

// liftPhases shows the durations of a result's phases, which Vigil measured itself, beside its
// metadata.
func liftPhases(v, out object) {
	metadata, _ := v["metadata"].(object)
	for _, name := range []string{"timings", "phases"} {
		if phases, ok := metadata[name].(object); ok {
			out["phases"] = clean(phases)
		}
	}
	if rest, ok := out[untrustedPrefix+"metadata"].(object); ok {
		delete(rest, "timings")
		delete(rest, "phases")
	}
}

// empty reports whether a member says nothing.
func empty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case object:
		return len(v) == 0
	case string:
		return v == ""
	}
	return false
}

// cutMark ends a text that is longer than shown.
const cutMark = "[cut]"

// cut returns a value whose texts have at most limit characters, without nulls.
func cut(value any, limit int) any {
	switch v := value.(type) {
	case string:
		return cutText(v, limit)
	case object:
		out := make(object, len(v))
		for name, member := range v {
			if member != nil {
				out[cutText(name, limit)] = cut(member, limit)
			}
		}
		return out
	case []any:
		out := make([]any, 0, min(len(v), maxItems))
		for _, item := range v[:min(len(v), maxItems)] {
			out = append(out, cut(item, limit))
		}
		return out
	}
	return value
}

func cutText(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if short := vigil.TruncateCharacters(text, limit); short != text {
		return short + cutMark
	}
	return text
}

// pick returns some members of an object.
func pick(from object, names ...string) object {
	out := make(object, len(names))
	for _, name := range names {
		if value, ok := from[name]; ok {
			out[name] = value
		}
	}
	return out
}

// maxResult is the size of the largest result of a tool, in bytes of JSON.
const maxResult = 25_000

// encoded returns a value as JSON, without escapes for HTML.
func encoded(value any) []byte {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return []byte("null")
	}
	return []byte(strings.TrimSuffix(out.String(), "\n"))
}

// listing shows a list of the API under a key. A page that is too large for a result is asked
// for again with fewer rows, so that the cursor after it is right.
func listing(key string, limit int64, fetch func(limit int64) (page, error), show func(object) (object, error)) (object, error) {
	for {
		part, err := fetch(limit)
		if err != nil {
			return nil, err
		}
		rows, size := make([]any, 0, len(part.rows)), 0
		for _, row := range part.rows {
			shown, err := show(row)
			if err != nil {
				return nil, err
			}
			if size += len(encoded(shown)) + 1; size > maxRows && len(rows) > 0 {
				break
			}
			rows = append(rows, shown)
		}
		if len(rows) < len(part.rows) {
			limit = int64(len(rows))
			continue
		}
		result := object{key: rows}
		if part.next != "" {
			result["truncated"], result["next_cursor"] = true, part.next
		}
		return result, nil
	}
}

// maxRows is how many bytes the rows of a list may take: the rest of a result is for the
// cursor, which can have 2,000.
const maxRows = maxResult - 3_000

// fit drops what a result has too much of: it halves its longest list until it fits.
func fit(result object) object {
	for len(encoded(result)) > maxResult {
		longest, size := "", 0
		for name, value := range result {
			if n := len(encoded(value)); n > size || n == size && name < longest {
				longest, size = name, n
			}
		}
		if rows, ok := result[longest].([]any); ok && len(rows) > 1 {
			result[longest] = rows[:len(rows)/2]
		} else {
			delete(result, longest)
		}
		result["truncated"] = true
	}
	return result
}
