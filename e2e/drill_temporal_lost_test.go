// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestDrillTemporalLost drops the databases of Temporal under loops that probe. The
// sentinel is not known to the new store, so all loops are started at once instead of
// each when it is overdue. VIGIL_DRILL_LOOPS is the number of loops of the long form, up
// to 10,000.
func TestDrillTemporalLost(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(drill{checks: 200, interval: 10 * time.Second}, drill{checks: 1000, interval: 20 * time.Second})
	bound, patience := 15*time.Second, 2*waitLimit // for up to 1,000 loops
	if n, err := strconv.Atoi(os.Getenv("VIGIL_DRILL_LOOPS")); err == nil && full() {
		d = drill{checks: n, interval: time.Minute}
		if n > 1000 {
			bound, patience = 2*time.Minute, 5*time.Minute // for up to 10,000
		}
	}
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, d.checks, d.interval)
	eventually(t, "the sentinel is started", func() bool { return s.number("SELECT generation FROM temporal_generation") == 1 })
	p := notePauses(t)

	s.temporal.kill()
	killed := time.Now()
	server := strings.Replace(s.dsn, "/vigil?", "/postgres?", 1)
	query(t, server, "DROP DATABASE vigil_temporal WITH (FORCE)", "DROP DATABASE vigil_temporal_visibility WITH (FORCE)")
	s.startTemporal()
	away := time.Since(killed)
	back := time.Now()
	eventually(t, "the loss is noticed", func() bool { return s.number("SELECT generation FROM temporal_generation") == 2 })
	noticed := time.Since(back)
	eventuallyWithin(t, patience, "all loops are started", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE generation < 2") == 0
	})
	started := time.Since(back)
	eventuallyWithin(t, patience, "every loop probes again", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE last_scheduled < $1", back.Add(d.interval)) == 0
	})
	figure(t, "all loops started after Temporal is back", started, bound, p.longest())
	l := s.audit(time.Now())
	t.Logf("%d checks every %v, Temporal away for %v: the loss noticed after %v, all started after %v: %s; %v",
		d.checks, d.interval, away.Round(time.Millisecond), noticed.Round(time.Millisecond), started.Round(time.Millisecond), &l, p)
	l.exact(t)
	figure(t, "silence of a loop beyond its interval, Temporal's own absence included", l.silence, bound+away, p.longest())
}
