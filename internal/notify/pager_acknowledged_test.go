// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"net/url"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// TestPagersAcknowledge holds that an acknowledgement is one at the pagers that know it, of the alert
// that the incident opened.
func TestPagersAcknowledge(t *testing.T) {
	t.Parallel()
	key := message().Incident.String()
	for format, want := range map[string]struct {
		config map[string]any
		path   string
		member string
		value  any
	}{
		"pagerduty":     {map[string]any{"routing_key": "R0UT1NG"}, "/", "event_action", "acknowledge"},
		"opsgenie":      {map[string]any{"api_key": "K3Y"}, "/v2/alerts/" + key + "/acknowledge", "source", "Vigil"},
		"splunk_oncall": {map[string]any{"routing_key": "R0UT1NG", "api_key": "K3Y"}, "/", "message_type", "ACKNOWLEDGEMENT"},
	} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := receive(t, answer(202))
			config := want.config
			config["format"], config["url"] = format, r.url+"/"
			m := message()
			m.Type = vigil.EventAcknowledged
			if got := parse(t, registry(), vigil.ChannelPager, config).Send(t.Context(), m); !got.Delivered() {
				t.Fatalf("got %+v", got)
			}
			only := r.only(t)
			if got := decoded(t, only.body); got[want.member] != want.value {
				t.Errorf("sent %v", got)
			}
			if at, err := url.Parse(only.path); err != nil || format == "opsgenie" && at.Path != want.path {
				t.Errorf("sent to %s, %v", only.path, err)
			}
		})
	}
}
