// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"math"
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

	Parts []conditionPart // instead of one number

	special bool // it is for the types that name it
	// say words a stored value: the words before the choice, the choice and the words after it.
	say func(value string) [3]string
}

// conditionPart is one of several numbers of a condition, which may have a fraction.
type conditionPart struct {
	Key           string // of the member
	Before, After string
	Value, Label  string
}

// burnRateKey is the condition on the rate at which failures use the error budget.
const burnRateKey = "burn_rate"

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
			Key: burnRateKey, Before: "when failures burn the error budget", Parts: []conditionPart{
				{Key: "target_percentage", Before: "of", After: "%", Value: "99.9", Label: "Target of uptime in percent"},
				{Key: "factor", Before: "more than", After: "times as fast as it allows,", Value: "14.4", Label: "Burn rate"},
				{Key: "window_seconds", Before: "over", After: "seconds", Value: "3600", Label: "Long window in seconds"},
				{Key: "short_window_seconds", Before: "and over the last", After: "seconds", Value: "300", Label: "Short window in seconds"},
			},
			say: func(value string) [3]string { return [3]string{"when failures ", "burn the error budget " + value, ""} },
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
	case len(c.Parts) > 0:
		members := make(map[string]any, len(c.Parts))
		for _, part := range c.Parts {
			members[part.Key] = fractionOr(strings.TrimSpace(part.Value))
		}
		return members
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
		case map[string]any: // the members of a burn rate
			for name, number := range v {
				if n, ok := number.(float64); ok {
					values[key+"."+name] = strconv.FormatFloat(n, 'f', -1, 64)
				}
			}
			values[key] = fmt.Sprintf("of %s %% more than %s times as fast as it allows, over %s and the last %s", values[key+".target_percentage"],
				values[key+".factor"], secondsText(values[key+".window_seconds"]), secondsText(values[key+".short_window_seconds"]))
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

// secondsText writes a number of seconds in the largest unit that has a whole number of them.
func secondsText(text string) string {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return text + " seconds"
	case n%86_400 == 0:
		return counted(n/86_400, "day")
	case n%3600 == 0:
		return counted(n/3600, "hour")
	case n%60 == 0:
		return counted(n/60, "minute")
	}
	return counted(n, "second")
}

// fractionOr is the number that a text says, or the text.
func fractionOr(text string) any {
	if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n
	}
	return text
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
