// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
)

const (
	// maintenanceLateness is how long after the end of maintenance the incident of a check
	// opens that still fails.
	maintenanceLateness = 2 * time.Second
	// maintenanceTakeover is that when the control process is killed at the end: another
	// process takes its shards, and Temporal gives its workflows away after 2 s.
	maintenanceTakeover = takeover + 2*time.Second + maintenanceLateness
	// maintenanceLead is how long before their start windows are stored.
	maintenanceLead = 3 * time.Second
)

// TestDrillMaintenance has all checks fail across the end of maintenance: half of them are
// probed inside, half are paused. Nothing opens inside, and every incident opens after it,
// also when the process that would open them is killed at the end.
func TestDrillMaintenance(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(drill{checks: 60, interval: 2 * time.Second, rounds: 2}, drill{checks: 1000, interval: 10 * time.Second, rounds: 5})
	site := newSwitchable(t)
	s := newCluster(t)
	s.seed(site.URL, d.checks, d.interval)
	m := newMaintained(s)
	m.length = 2*d.interval + 4*time.Second // every check is probed inside
	p := notePauses(t)
	m.round(site, p, false)
	for range d.rounds - 1 {
		m.round(site, p, true)
	}
	l := s.audit(time.Now())
	t.Logf("%d checks every %v, half of them paused for %d times %v: %s, paused %d; %v",
		d.checks, d.interval, d.rounds, m.length, &l, l.paused, p)
	l.exact(t)
	figure(t, "slots that are no result, not missed and not paused", l.due-l.stored-l.missed-l.paused, 0, 0)
	figure(t, "paused slots that were probed or count as missed", s.number(`
		SELECT (SELECT count(*) FROM results AS r JOIN `+pausedChecks+` AND r.slot >= o.starts_at AND r.slot < o.ends_at)
			+ (SELECT count(*) FROM result_gaps AS r JOIN `+pausedChecks+` AND r.first_slot < o.ends_at AND r.last_slot >= o.starts_at)`), 0, 0)
	figure(t, "results inside that count for uptime", s.number(`
		SELECT count(*) FROM results AS r JOIN maintenance_occurrences AS o ON r.slot >= o.starts_at AND r.slot < o.ends_at
		WHERE r.excluded = 0`), 0, 0)
	figure(t, "results outside that do not", s.number(`
		SELECT count(*) FROM results AS r WHERE r.excluded <> 0
			AND NOT EXISTS (SELECT FROM maintenance_occurrences AS o WHERE r.slot >= o.starts_at AND r.slot < o.ends_at)`), 0, 0)
	if l.paused == 0 {
		t.Error("no slot was paused")
	}
	if *record != "" {
		c := dialTemporal(t, s.temporal.ready.TemporalAddress, "vigil")
		defer c.Close()
		keepHistory(t, c, vigil.IncidentWorkflowID(m.probed[0]), "incident_in_maintenance")
	}
}

// pausedChecks joins results or gaps, alias r, with the occurrences, alias o, that pause
// their checks.
const pausedChecks = `maintenance_windows AS w ON w.probing = 'pause' AND r.check_id = ANY(w.check_ids)
	JOIN maintenance_occurrences AS o ON o.window_id = w.id`

// maintained are the checks of a cluster with a rule each, and a window for each half.
type maintained struct {
	*cluster
	org            uuid.UUID
	probed, paused []uuid.UUID
	length         time.Duration // of the windows
}

// newMaintained makes rules for all checks, which notify one channel.
func newMaintained(s *cluster) *maintained {
	s.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.t.Cleanup(receiver.Close)
	m := &maintained{cluster: s}
	rows, err := s.db.QueryContext(s.t.Context(), "SELECT org_id, id FROM checks ORDER BY id")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var ids []uuid.UUID
	for rows.Next() {
		var id uuid.UUID
		if err := rows.Scan(&m.org, &id); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	m.probed, m.paused = ids[:len(ids)/2], ids[len(ids)/2:]
	config, err := json.Marshal(map[string]any{"url": receiver.URL})
	if err != nil {
		s.t.Fatal(err)
	}
	s.withStore(func(store *storage.Store) {
		channel, err := store.CreateChannel(s.t.Context(), vigil.Channel{
			OrgID: m.org, Name: "hook", Type: vigil.ChannelWebhook, Config: config, Enabled: true,
		})
		for _, id := range ids {
			if err == nil {
				_, err = store.CreateRule(s.t.Context(), vigil.Rule{
					OrgID: m.org, CheckID: id, Name: "down", Condition: vigil.Condition{FailureThreshold: 1}, Channels: []uuid.UUID{channel.ID},
					NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
				})
			}
		}
		if err != nil {
			s.t.Fatal(err)
		}
	})
	return m
}

// window stores a window with one occurrence. It may be shorter than the API allows.
func (m *maintained) window(checks []uuid.UUID, probing string, starts, ends time.Time) {
	m.t.Helper()
	ids := make([]string, len(checks))
	for i, id := range checks {
		ids[i] = id.String()
	}
	list, err := json.Marshal(ids)
	if err != nil {
		m.t.Fatal(err)
	}
	_, err = m.db.ExecContext(m.t.Context(), `
		WITH w AS (
			INSERT INTO maintenance_windows (id, org_id, name, all_checks, check_ids, labels, starts_at, timezone, duration_seconds, rrule, cron,
				probing, uptime, enabled, created_at, updated_at)
			VALUES ($1, $2, 'drill', false, ARRAY(SELECT jsonb_array_elements_text($3::jsonb)::uuid), '{}', $4::timestamptz, 'UTC', 60, '', '',
				$6, 'exclude', true, now(), now())
			RETURNING id, org_id
		) INSERT INTO maintenance_occurrences (window_id, org_id, starts_at, ends_at) SELECT id, org_id, $4::timestamptz, $5::timestamptz FROM w`,
		uuid.New(), m.org, string(list), starts, ends, probing)
	if err != nil {
		m.t.Fatal(err)
	}
	if probing == "pause" {
		for _, id := range checks {
			m.pauses = append(m.pauses, pausedTime{id, starts, ends})
		}
	}
}

// round lets all checks fail during maintenance and go on failing, until each has an
// incident, and repairs them. killed kills the control process at the end of the maintenance.
func (m *maintained) round(site *switchable, p *pauses, killed bool) {
	m.t.Helper()
	all := len(m.probed) + len(m.paused)
	starts := time.Now().Add(maintenanceLead).Truncate(time.Microsecond)
	ends := starts.Add(m.length)
	m.window(m.probed, "continue", starts, ends)
	m.window(m.paused, "pause", starts, ends)
	wait(m.t, "the maintenance to begin", time.Until(starts.Add(500*time.Millisecond)))
	site.broken.Store(true)
	what, bound := "lateness after the end", maintenanceLateness
	if killed {
		what, bound = what+", control killed there", maintenanceTakeover
		wait(m.t, "the maintenance to end", time.Until(ends.Add(-100*time.Millisecond)))
		m.control.kill()
		m.startControl()
	}
	eventuallyWithin(m.t, 2*waitLimit, "every check that fails has an incident", func() bool {
		return m.number("SELECT count(*) FROM incidents WHERE status <> 'resolved'") == all
	})
	late := m.lateness(ends)
	m.t.Logf("%s: median %v, worst %v of %d", what, late[len(late)/2], late[len(late)-1], len(late))
	inside := m.number("SELECT count(*) FROM incidents WHERE created_at >= $1 AND created_at < $2", starts, ends)
	figure(m.t, "incidents opened inside", inside, 0, 0)
	figure(m.t, "incidents missing after the end", all-m.number("SELECT count(*) FROM incidents WHERE created_at >= $1", ends), 0, 0)
	figure(m.t, what+", 99 of 100", late[len(late)*99/100], bound, p.longest())
	if early := m.number("SELECT count(*) FROM incidents WHERE created_at >= $1 AND started_at < $1", ends); early != 0 {
		m.t.Errorf("%d incidents begin before the end of the maintenance", early)
	}
	site.broken.Store(false)
	eventuallyWithin(m.t, 2*waitLimit, "every incident is resolved", func() bool {
		return m.number("SELECT count(*) FROM incidents WHERE status <> 'resolved'") == 0
	})
}

// lateness returns how long after the end the incidents of the probed checks opened, in
// order. Those of paused checks have to wait for a slot.
func (m *maintained) lateness(ends time.Time) (late []time.Duration) {
	m.t.Helper()
	rows, err := m.db.QueryContext(m.t.Context(), "SELECT check_id, created_at FROM incidents WHERE status <> 'resolved'")
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var check uuid.UUID
		var created time.Time
		if err := rows.Scan(&check, &created); err != nil {
			m.t.Fatal(err)
		}
		if slices.Contains(m.probed, check) {
			late = append(late, created.Sub(ends))
		}
	}
	if err := rows.Err(); err != nil {
		m.t.Fatal(err)
	}
	slices.Sort(late)
	if len(late) == 0 {
		m.t.Fatalf("no incident after %v", ends)
	}
	return late
}
