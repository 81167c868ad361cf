// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestTemporalDataLost drops the databases of Temporal in the middle of an episode.
// Everything is rebuilt from the platform's own database: loops and open incidents
// continue, and delivered messages are not sent again.
func TestTemporalDataLost(t *testing.T) {
	timingtest.Parallel(t)
	dsn, dir := database(t), dataDir(t)
	env := []string{"DATABASE_URL=" + dsn, "VIGIL_REGIONS=eu-central-fra", fastSchedule}
	p := up(t, dir, env...)
	d := newAlertScenario(t, client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}, dsn, 1, 3, 0, "eu-central-fra")
	for i := range d.checks {
		d.service.fail(path(i))
		if !d.awaitIncidents(i, 1, "active") {
			t.FailNow()
		}
	}
	d.awaitDeliveries()
	p.kill()

	server := strings.Replace(dsn, "/vigil?", "/postgres?", 1)
	query(t, server, "DROP DATABASE vigil_temporal WITH (FORCE)", "DROP DATABASE vigil_temporal_visibility WITH (FORCE)")
	p = up(t, dir, env...)
	d.client.url = p.ready.APIURL
	eventually(t, "every loop probes again", func() bool {
		return d.counts(`SELECT 'late', count(*) FROM check_regions WHERE last_slot < clock_timestamp() - interval '3 s'`)["late"] == 0
	})
	// One recovers; the others still fail and keep their incidents.
	d.service.repair(path(0))
	if !d.awaitIncidents(0, 1, "resolved") {
		t.FailNow()
	}
	for i := 1; i < len(d.checks); i++ {
		if n, last := d.incidents(i); n != 1 || last != "active" {
			t.Errorf("check %d has %d incidents, the last %s, while it is still broken", i, n, last)
		}
		d.service.repair(path(i))
		if !d.awaitIncidents(i, 1, "resolved") {
			t.FailNow()
		}
	}
	d.awaitDeliveries()
	d.verify(1)
	if a := d.receiver.summarize(); a.repeated > 0 {
		t.Errorf("%d messages were sent again", a.repeated)
	}
}
