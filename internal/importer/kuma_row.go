// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// kumaRow is a row of a table of Uptime Kuma, or an object of its backup, by the names of
// the columns. Values are texts, numbers (int64, float64 or json.Number), bools, lists,
// objects or nil. A column that the source lacks is absent.
type kumaRow map[string]any

// text returns a value as a text, empty when it is absent or no plain value.
func (r kumaRow) text(name string) string {
	switch value := r[name].(type) {
	case string:
		return value
	case []byte:
		return string(value)
	case json.Number:
		return value.String()
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(value)
	}
	return ""
}

// line is a text without spaces around it.
func (r kumaRow) line(name string) string { return strings.TrimSpace(r.text(name)) }

// number returns a value as a number; false when it is none.
func (r kumaRow) number(name string) (float64, bool) {
	if value, ok := r[name].(bool); ok {
		if value {
			return 1, true
		}
		return 0, true
	}
	number, err := strconv.ParseFloat(r.line(name), 64)
	return number, err == nil && !math.IsNaN(number) && !math.IsInf(number, 0)
}

// maxWhole bounds whole numbers, so that arithmetic with them cannot overflow.
const maxWhole = 1 << 40

// whole returns a value as a whole number, and otherwise when it is none.
func (r kumaRow) whole(name string, otherwise int64) int64 {
	number, ok := r.number(name)
	if !ok {
		return otherwise
	}
	return int64(min(max(number, -maxWhole), maxWhole))
}

// flag reports whether a value is true, or a number other than 0. An absent one is otherwise.
func (r kumaRow) flag(name string, otherwise bool) bool {
	if number, ok := r.number(name); ok {
		return number != 0
	}
	switch strings.ToLower(r.line(name)) {
	case "true":
		return true
	case "false":
		return false
	}
	return otherwise
}

// id returns a value as the id of a row, 0 when it is none.
func (r kumaRow) id(name string) int64 { return r.whole(name, 0) }

// list returns a value that is a list, or a text with one in JSON.
func (r kumaRow) list(name string) []any {
	if list, ok := r[name].([]any); ok {
		return list
	}
	list, _ := kumaJSON(r.text(name)).([]any)
	return list
}

// object returns a value that is an object, or a text with one in JSON.
func (r kumaRow) object(name string) kumaRow {
	if object, ok := r[name].(map[string]any); ok {
		return object
	}
	object, _ := kumaJSON(r.text(name)).(map[string]any)
	return object
}

// rows returns the objects of a list.
func (r kumaRow) rows(name string) []kumaRow {
	var rows []kumaRow
	for _, item := range r.list(name) {
		if object, ok := item.(map[string]any); ok {
			rows = append(rows, object)
		}
	}
	return rows
}

// shown returns a value for a report, cut when it is long: a text as it is, anything else as JSON.
func (r kumaRow) shown(name string) string {
	text := r.text(name)
	if text == "" && r[name] != nil {
		if encoded, err := json.Marshal(r[name]); err == nil {
			text = string(encoded)
		}
	}
	return cut(text, 200)
}

// kumaJSON returns the value of a text in JSON, nil when it is none.
func kumaJSON(text string) any {
	if strings.TrimSpace(text) == "" || boundJSON([]byte(text)) != nil {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// kumaColumns returns an object of the backup under the names of the columns: the backup
// writes retryInterval for retry_interval.
func kumaColumns(object map[string]any) kumaRow {
	row := make(kumaRow, len(object))
	for name, value := range object {
		row[kumaColumn(name)] = value
	}
	return row
}

func kumaColumn(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
