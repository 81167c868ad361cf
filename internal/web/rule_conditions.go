// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// ruleCondition is one way to fire: a box, words, and what is chosen.
type ruleCondition struct {
	Key           string // of the condition in the API
	Before, After string
	On            bool
	Value         string   // of its number; no number without one
	Number        bool     // it has a number
	Options       []option // instead of a number
	Min, Max      int
	Label         string // of the number

	special bool // it is for the types that name it
	// say words a stored value: the words before the choice, the choice and the words after it.
	say func(value string) [3]string
}

// ruleConditions lists the ways to fire. This list is all that the dashboard knows of a key: the
// form of a rule and its sentence are made from it.
func ruleConditions() []ruleCondition {
	return []ruleCondition{
		{
			Key: "failure_threshold", Before: "after", After: "failures in a row", Value: "2", Number: true, Min: 1, Max: 1000,
			Label: "Failures in a row", say: func(value string) [3]string { return [3]string{"after ", countedText(value, "failure"), " in a row"} },
		},
		{
			Key: "response_time_ms", Before: "when a response takes longer than", After: "ms", Value: "500", Number: true, Max: 86_400_000,
			Label: "Milliseconds",
			say: func(value string) [3]string {
				return [3]string{"when a response takes longer than ", numberText(value) + " ms", ""}
			},
		},
		{
			Key: "status_code", special: true, Before: "when the status code is", After: "or higher", Value: "500", Number: true,
			Min: 100, Max: 999, Label: "Status code",
			say: func(value string) [3]string { return [3]string{"when the status code is ", value + " or higher", ""} },
		},
		{
			Key: "dns_changed", special: true, Before: "when the DNS records change",
			say: func(string) [3]string { return [3]string{"when the ", "DNS records change", ""} },
		},
		{
			Key: "ssl_days_remaining", special: true, Before: "when the certificate expires within", After: "days", Value: "14", Number: true,
			Max: 36_500, Label: "Days",
			say: func(value string) [3]string {
				return [3]string{"when the certificate expires within ", countedText(value, "day"), ""}
			},
		},
		{
			Key: "health_status", Before: "when a result", Options: []option{
				{Value: "down", Text: "fails"},
				{Value: "up", Text: "passes"},
			}, Value: "down",
			say: func(value string) [3]string {
				if value == "up" || value == "healthy" {
					return [3]string{"when a result ", "passes", ""}
				}
				return [3]string{"when a result ", "fails", ""}
			},
		},
	}
}

// fits reports whether results of a type can match; nil is a type that is not known.
func (c *ruleCondition) fits(of *checkType) bool {
	return !c.special || of != nil && slices.Contains(of.Conditions, c.Key)
}

// value is what was chosen, as the API takes it. What is no number goes to the API as it is, which
// says what is wrong with it.
func (c *ruleCondition) value() any {
	switch {
	case c.Number:
		return numberOr(strings.TrimSpace(c.Value))
	case len(c.Options) > 0:
		return c.Value
	}
	return true
}

// conditionValues returns what a stored condition has, by its key.
func conditionValues(c *client.Condition) map[string]string {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	var members map[string]any
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	values := make(map[string]string)
	for key, value := range members {
		switch v := value.(type) {
		case string:
			values[key] = v
		case float64:
			values[key] = strconv.FormatFloat(v, 'f', -1, 64)
		case bool:
			if v { // one that is false says nothing
				values[key] = "true"
			}
		}
	}
	return values
}

// conditions words when a rule fires: the words before, the choice, the words after.
func conditions(c *client.Condition) [][3]string {
	var all [][3]string
	values := conditionValues(c)
	for _, known := range ruleConditions() {
		if value := values[known.Key]; value != "" {
			all = append(all, known.say(value))
		}
	}
	return all
}

// numberText writes a number as people read it.
func numberText(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return number(n)
}

// countedText counts something.
func countedText(text, what string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text + " " + what + "s"
	}
	return counted(n, what)
}
