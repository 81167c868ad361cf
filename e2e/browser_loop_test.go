// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
)

// closedLoop sends again to a channel, subscribes it, and returns the pages about it.
func (d *dashboard) closedLoop() []string {
	var channels []struct{ ID string }
	d.api.into(&channels, http.MethodGet, "/v1/notification-channels?type=webhook", nil)
	channel := channels[0].ID
	var recovery, subscription struct{ ID string }
	d.api.into(&recovery, http.MethodPost, "/v1/notification-channels/"+channel+"/recover",
		object{"since": "2026-01-01T00:00:00Z", "statuses": []string{"exhausted", "canceled", "superseded"}})
	d.api.into(&subscription, http.MethodPost, "/v1/subscriptions", object{
		"name": "Everything of the shop", "channel_id": channel, "events": []string{"incident.*", "channel.*"},
		"selector": object{"severity_min": "warning"},
	})
	at := "/app/channels/" + channel
	return []string{at, at + "/recover", at + "/recoveries/" + recovery.ID, at + "/rotate", "/app/subscriptions/" + subscription.ID}
}

// picturesOfTheLoop writes pictures of the pages of closedLoop, and of the check whose recipients
// they are.
func (d *dashboard) picturesOfTheLoop(pages []string) {
	for i, name := range []string{"channel", "recover", "recovery", "rotate", "subscription", "recipients"} {
		d.b.visit(append(pages, d.check+"#check-recipients")[i])
		for _, width := range []int64{360, 768, 1024, 1440} {
			d.b.picture(fmt.Sprintf("widths/%s-%d", name, width), "light", width)
			d.b.picture(fmt.Sprintf("widths/%s-dark-%d", name, width), "dark", width)
		}
	}
}
