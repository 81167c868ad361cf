// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// jsonQuery carries over the JSONata of a json-query monitor when it is a plain path.
func (h *httpImport) jsonQuery() {
	m := h.monitor
	query, expected := m.line("json_path"), m.text("expected_value")
	path, plain := kumaPath(query)
	if !plain {
		h.lose("json_path: "+cut(query, maxName), "only a plain path such as data.status is carried over; the answer is not looked at")
		return
	}
	given := m.line("json_path_operator")
	if given == "" {
		given = "=="
	}
	operator, target := "", expected
	switch given {
	case "==":
		operator = "eq"
	case "!=":
		// In Kuma a value that is absent is a failure, too.
		h.assert(Object{{"source", "json"}, {"property", path}, {"operator", "exists"}, {"target", true}})
		operator = "ne"
	case "contains":
		operator = "contains"
	case ">", "<", ">=", "<=":
		number, err := strconv.ParseFloat(strings.TrimSpace(expected), 64)
		if err != nil || math.IsNaN(number) || math.IsInf(number, 0) {
			h.lose("expected_value: "+cut(expected, maxName), "it is no number to compare with")
			return
		}
		operator, target = comparison(given, number)
	default:
		h.lose("json_path_operator: "+given, "Vigil has no such comparison; the answer is not looked at")
		return
	}
	h.assert(Object{{"source", "json"}, {"property", path}, {"operator", operator}, {"target", Literal(target)}})
}

// comparison returns the operator and the target of a comparison of numbers. Vigil has no >=:
// a number is at least 5 when it is above the number next below 5.
func comparison(operator string, number float64) (string, string) {
	name := "gt"
	switch operator {
	case "<":
		name = "lt"
	case ">=":
		number = math.Nextafter(number, math.Inf(-1))
	case "<=":
		name, number = "lt", math.Nextafter(number, math.Inf(1))
	}
	return name, strconv.FormatFloat(number, 'g', -1, 64)
}

// kumaPath returns the JSONPath of a JSONata expression that is a plain path: names with
// dots between them, and numbers in brackets. The empty one is the whole document.
func kumaPath(expression string) (string, bool) {
	step := "(?:[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z0-9_ @:/.-]+`)(?:\\[-?[0-9]{1,6}\\])*"
	whole := regexp.MustCompile(`^(?:\$(?:\[-?[0-9]{1,6}\])*(?:\.` + step + `)*|` + step + `(?:\.` + step + `)*)$`)
	if expression == "" || expression == "$" {
		return "$", true
	}
	if !whole.MatchString(expression) || strings.Contains(expression, "..") {
		return "", false
	}
	switch expression {
	case "true", "false", "null":
		return "", false
	}
	path := expression
	if !strings.HasPrefix(path, "$") {
		path = "$." + path
	}
	path = regexp.MustCompile("\\.`([^`]+)`").ReplaceAllString(path, "['$1']")
	const longest = 256
	return path, len(path) <= longest
}
