// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// TestHeartbeat proves that a heartbeat is read and described, is no step of others, and observes
// nothing by itself.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	types := probe.NewRegistry(nil)
	p, err := types.Parse(vigil.TypeHeartbeat, json.RawMessage(`{"schedule": {"cron": "0 3 * * *"}, "grace_seconds": 60}`), 0)
	if err != nil || p.Target() != "0 3 * * *" || p.Deadline() != 2*time.Minute {
		t.Fatalf("%+v, %v", p, err)
	}
	if seen := p.Run(t.Context()); !seen.Unavailable {
		t.Errorf("%+v", seen)
	}
	for member, config := range map[string]string{
		"config.schedule":               `{}`,
		"config.schedule.every_seconds": `{"schedule": {}}`,
		"config.schedule.cron":          `{"schedule": {"cron": "often"}}`,
		"config.grace_seconds":          `{"schedule": {"every_seconds": 60}, "grace_seconds": 0}`,
		"config.max_duration_seconds":   `{"schedule": {"every_seconds": 60}, "max_duration_seconds": 1e9}`,
		"config.url":                    `{"schedule": {"every_seconds": 60}, "url": "https://example.com/"}`,
	} {
		_, err := types.Parse(vigil.TypeHeartbeat, json.RawMessage(config), 0)
		rejected(t, err, member)
	}
	_, err = types.Parse(vigil.TypeMultistep, json.RawMessage(
		`{"steps": [{"name": "a", "type": "heartbeat", "config": {"schedule": {"every_seconds": 60}}}]}`), time.Minute)
	rejected(t, err, "config.steps[0].type")
}
