package e2e_test

import (
	"strings"
	"testing"
)

// TestTemporalLost takes everything that Temporal stored away, in the middle of
// an episode. Postgres alone must be enough: loops and the open incident are
// rebuilt, and what was delivered is not sent again.
func TestTemporalLost(t *testing.T) {
	t.Parallel()
	dsn, dir := database(t), dataDir(t)
	env := []string{"DATABASE_URL=" + dsn, "VIGIL_REGIONS=eu-central-fra", fastSchedule}
	p := up(t, dir, env...)
	d := newDrama(t, client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}, dsn, 3, 0, "eu-central-fra")
	for i := range d.checks {
		d.service.breakDown(path(i))
		if !d.awaitIncidents(i, 1, "active") {
			t.FailNow()
		}
	}
	d.settle()
	p.kill()

	server := strings.Replace(dsn, "/vigil?", "/postgres?", 1)
	query(t, server, "DROP DATABASE vigil_temporal WITH (FORCE)", "DROP DATABASE vigil_temporal_visibility WITH (FORCE)")
	p = up(t, dir, env...)
	d.client.url = p.ready.APIURL
	eventually(t, "every loop probes again", func() bool {
		return d.counts(`SELECT 'late', count(*) FROM check_regions WHERE last_slot < clock_timestamp() - interval '3 s'`)["late"] == 0
	})
	// One recovers; the others are still broken, and keep the incident they have.
	d.service.mend(path(0))
	if !d.awaitIncidents(0, 1, "resolved") {
		t.FailNow()
	}
	for i := 1; i < len(d.checks); i++ {
		if n, last := d.incidents(i); n != 1 || last != "active" {
			t.Errorf("check %d has %d incidents, the last %s, while it is still broken", i, n, last)
		}
		d.service.mend(path(i))
		if !d.awaitIncidents(i, 1, "resolved") {
			t.FailNow()
		}
	}
	d.settle()
	d.judge(1)
	if a := d.sink.tally(); a.repeated > 0 {
		t.Errorf("%d messages were sent again", a.repeated)
	}
}
