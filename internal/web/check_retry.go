// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// memberRetry is the member that says when a failure is tried again.
const memberRetry = "retry"

// retryMember is that member in the form.
func retryMember() member {
	return member{
		name: memberRetry, label: "Try again before it counts as failed", input: asGroup, members: []member{
			{name: "attempts", label: "Times", input: asNumber, width: "short", sample: "0", help: "Up to 3, in the same region."},
			{name: "delay_seconds", label: "Seconds between", input: asNumber, width: "short", sample: "0", help: "Up to 30."},
			{
				name: "on", label: "After", input: asChoice, width: "medium", standard: "any",
				choices: words("any", "any failure", "network", "failures of the network"),
				help:    "The network: name resolution, connecting, TLS and timeouts.",
			},
			{name: "unsafe", label: "Also when repeating may change something at the target", input: asSwitch, standard: "false"},
		},
	}
}

// enterRetry writes the stored member into the form. What says nothing stays empty.
func (s *storedCheck) enterRetry(typed *sheet) {
	stored, _ := s.members[memberRetry].(map[string]any)
	shown := maps.Clone(stored)
	maps.DeleteFunc(shown, func(_ string, value any) bool { return value == json.Number("0") })
	m := retryMember()
	m.enter(shown, true, nil, typed, memberRetry)
}

// retryOf returns what the form says, nil where a check without the member does the same.
func (c *checkForm) retryOf() any {
	m := retryMember()
	said := m.valueOf(c.typed, memberRetry, "")
	if said != nil || c.stored == nil {
		return said
	}
	before := newSheet()
	c.stored.enterRetry(before)
	if m.valueOf(before, memberRetry, "") == nil {
		return nil
	}
	return map[string]any{} // the defaults
}

// retryFact says when a failure is tried again, empty for a check that does not.
func retryFact(c *client.Check) string {
	r := c.Retry
	if r.Attempts == nil || *r.Attempts == 0 {
		return ""
	}
	text := "tried again once"
	if n := *r.Attempts; n > 1 {
		text = fmt.Sprintf("tried again up to %d times", n)
	}
	if r.DelaySeconds != nil && *r.DelaySeconds > 0 {
		text += " after " + spanExact(time.Duration(*r.DelaySeconds)*time.Second)
	}
	if r.On != nil && *r.On == client.CheckRetryOnNetwork {
		text += ", failures of the network only"
	}
	return text
}

// failedAttempts returns the attempts before the one that a result shows.
func failedAttempts(m map[string]any) []fact {
	list, _ := m["attempts"].([]any)
	var facts []fact
	for i, one := range list {
		attempt, _ := one.(map[string]any)
		reason, _ := attempt["error"].(string)
		if ms, ok := attempt["response_time_ms"].(float64); ok {
			reason += " (" + millis(ms) + " ms)"
		}
		facts = append(facts, fact{Name: fmt.Sprintf("Attempt %d", i+1), Value: reason})
	}
	return facts
}
