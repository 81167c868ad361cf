// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// TestDrillMark proves that no template hides that a drill sends the message.
func TestDrillMark(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{
		"template": {"title_template": "{{incident_title}}!", "body_template": "x"},
		"payload":  {"payload": "template", "payload_template": `{"text": "{{incident_title}}"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, drill := range []bool{true, false} {
				r := receive(t, nil)
				config["url"] = r.url
				sender := parse(t, registry(), vigil.ChannelWebhook, config)
				m := message()
				m.Drill = drill
				m.Envelope = notify.Freeze(sender, m)
				sender.Send(t.Context(), m)
				got := r.only(t)
				if (got.header.Get("X-Service-Drill") == "1") != drill {
					t.Errorf("drill %t: the header is %q", drill, got.header.Get("X-Service-Drill"))
				}
				if name != "template" {
					continue
				}
				want := "Checkout API is failing!"
				if drill {
					want = events.DrillMark + want
				}
				if title := at(t, decoded(t, got.body), "data", "message", "title"); title != want {
					t.Errorf("drill %t: the title is %q", drill, title)
				}
			}
		})
	}
}
