// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// takeover is how long the shards of a control process that does not go on may be
// without another one.
const takeover = 5 * time.Second

// TestDrillFrozenLeader freezes a control process that has shards of the sweep, and kills
// a worker whose loops are partly of these shards. Then it cuts all connections of the
// other control process, as when its host is lost: nothing is closed, nothing answers.
// Each time the other one takes the shards, and the loops of the dead worker go on. When
// the process is back, it repairs nothing that it has read before.
func TestDrillFrozenLeader(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(drill{checks: 20, interval: 2 * time.Second, rounds: 1}, drill{checks: 50, interval: 2 * time.Second, rounds: 5})
	site := newSwitchable(t)
	s := newCluster(t)
	postgres, temporal := newLink(t, s.address().Host), newLink(t, s.temporal.ready.TemporalAddress)
	env := append(s.env[:len(s.env):len(s.env)], s.through(postgres.address), "TEMPORAL_ADDRESS="+temporal.address)
	other := launch(t, env, "worker", "--control")
	s.awaitShards(s.control, other)
	s.seed(site.URL, d.checks, d.interval)
	p := notePauses(t)
	for range d.rounds {
		s.lead(p, "a frozen process", s.control, s.control.freeze, s.control.thaw)
		s.awaitShards(s.control, other)
		s.lead(p, "a process without its network", other,
			func() { postgres.cut(); temporal.cut() }, func() { postgres.mend(); temporal.mend() })
		s.awaitShards(s.control, other)
	}
	l := s.audit(time.Now())
	t.Logf("%d checks every %v: %s; %v", d.checks, d.interval, &l, p)
	l.exact(t)
	figure(t, "a worker killed meanwhile: silence of a loop beyond its interval", l.silence, outage, p.longest())
}

// shardsOf returns how many shards a control process has.
func (s *cluster) shardsOf(control *process) int {
	return s.number(`SELECT count(*) FROM sweep_leases JOIN sweep_processes USING (term)
		WHERE name LIKE $1 AND expires_at > clock_timestamp()`, nameOf(control))
}

// othersHaveAll reports whether each shard belongs to another control process that lives.
func (s *cluster) othersHaveAll(control *process) bool {
	return s.number(`SELECT count(*) FROM sweep_leases AS l WHERE NOT EXISTS (SELECT FROM sweep_processes AS p
		WHERE p.term = l.term AND p.name NOT LIKE $1 AND p.expires_at >= clock_timestamp())`, nameOf(control)) == 0
}

// awaitShards waits until two control processes have half of the shards each.
func (s *cluster) awaitShards(a, b *process) {
	s.t.Helper()
	eventually(s.t, "both control processes have shards", func() bool {
		return min(s.shardsOf(a), s.shardsOf(b)) == 8 && max(s.shardsOf(a), s.shardsOf(b)) == 9
	})
}

// lead stops a control process from going on, kills the worker with the most loops, and
// lets the process go on after all loops probe again.
func (s *cluster) lead(p *pauses, what string, control *process, hold, release func()) {
	s.t.Helper()
	s.awaitWorkers()
	victim, _, _ := s.busiest()
	hold()
	began := time.Now()
	victim.kill()
	eventually(s.t, "the other control process has all shards", func() bool { return s.othersHaveAll(control) })
	figure(s.t, what+": another one leads after", time.Since(began), takeover, p.longest())
	eventually(s.t, "every loop probes again", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE last_scheduled < $1", began.Add(outage)) == 0
	})
	for i, w := range s.workers {
		if w == victim {
			s.startWorker(i)
		}
	}
	s.awaitWorkers()
	nudged := s.nudges()
	release()
	eventually(s.t, "the process has shards again", func() bool { return s.shardsOf(control) > 0 })
	wait(s.t, "the end of the passes that it was in", 2*time.Second)
	if again := s.nudges(); again != nudged {
		s.t.Errorf("%s: loops were nudged when it went on: %s, before %s", what, again, nudged)
	}
}

// nudges describes the nudges that the rows know of. A nudge sets the time, and a result
// clears it.
func (s *cluster) nudges() string {
	s.t.Helper()
	var text string
	err := s.db.QueryRowContext(s.t.Context(), "SELECT count(*) || ' until ' || coalesce(max(nudged_at)::text, 'never') FROM check_regions").
		Scan(&text)
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}
