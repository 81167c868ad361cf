// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// listedSchedule is a schedule of drills.
type listedSchedule struct {
	Name       string
	ChannelIDs []string   `json:"channel_ids"`
	NextAt     *time.Time `json:"next_at"`
	Recurrence struct {
		Every     string
		Day, Hour int
		Timezone  string
	}
}

// TestDefaultDrills creates a channel of the operator's, for which `vigil up` makes a schedule; one of
// another organization has none.
func TestDefaultDrills(t *testing.T) {
	timingtest.Parallel(t)
	p, other := shared(t)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	hook := object{"name": "Hook", "type": "webhook", "config": object{"url": "http://127.0.0.1:9/"}}
	other.into(nil, http.MethodPost, "/v1/notification-channels", hook)
	c.into(nil, http.MethodPost, "/v1/notification-channels", hook)
	var made []listedSchedule
	eventually(t, "the operator has a schedule of drills", func() bool {
		c.into(&made, http.MethodGet, "/v1/drill-schedules", nil)
		return len(made) > 0
	})
	one := made[0]
	if _, err := time.LoadLocation(one.Recurrence.Timezone); err != nil || len(made) != 1 || one.Name != "Monthly drill" ||
		one.Recurrence.Every != "monthly" || one.Recurrence.Day != 1 || one.Recurrence.Hour != 9 || len(one.ChannelIDs) != 1 ||
		one.NextAt == nil {
		t.Errorf("made are %+v", made)
	}
	var theirs []listedSchedule
	if other.into(&theirs, http.MethodGet, "/v1/drill-schedules", nil); len(theirs) != 0 {
		t.Errorf("another organization has %+v", theirs)
	}
}
