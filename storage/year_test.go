// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// lockBound is how long a lock that others need may be held, and lockSlack how much
// longer a busy machine may take before a test fails.
const (
	lockBound = 100 * time.Millisecond
	lockSlack = 10
)

// slowStatements records how long the statements that delete take, and how many rows they
// and those that update touch.
type slowStatements struct {
	mu      sync.Mutex
	n       int
	longest time.Duration
	query   string
	most    int64 // rows
}

func (*slowStatements) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	return ctx
}

func (l *slowStatements) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	verb, _, _ := strings.Cut(event.Query, " ")
	if event.Result == nil || verb != "DELETE" && verb != "UPDATE" && verb != "WITH" {
		return
	}
	rows, _ := event.Result.RowsAffected()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = max(l.most, rows)
	if verb != "DELETE" {
		return
	}
	l.n++
	if took := time.Since(event.StartTime); took > l.longest {
		l.longest, l.query = took, event.Query
	}
}

// history is how many rows a check has left behind.
type history struct{ results, hours, gaps, edges, incidents int }

// year is that of a check every 30 s, with an incident every two hours.
func year() history {
	if os.Getenv("VIGIL_DRILL") != "full" {
		return history{results: 20_000, hours: 500, gaps: 3000, edges: 3000, incidents: 300}
	}
	return history{results: 1_051_200, hours: 8760, gaps: 20_000, edges: 20_000, incidents: 4380}
}

// store stores the history of the check of alerts, the newest a slot before its epoch.
func (h history) store(a *alerts) {
	a.Helper()
	for d := 0; d*2880 < h.results; d += 9 {
		if err := a.store.EnsurePartitions(a.Context(), epoch().AddDate(0, 0, -d)); err != nil {
			a.Fatal(err)
		}
	}
	id := a.open(a.fails(newark)).Incident.ID
	a.deliver(id, vigil.ChannelWebhook)
	a.resolve(id, vigil.ResolvedAutomatically)
	a.deliver(id, vigil.ChannelWebhook)
	const portion = 50_000 // a statement has a time limit
	for n := 0; n < h.results; n += portion {
		_, err := a.store.DB().NewRaw(`INSERT INTO results SELECT ?0, ?1, ?2::timestamptz - n * interval '30 s', gen_random_uuid(),
				?2::timestamptz - n * interval '30 s', false, true, 12, 200, NULL, '{"ip": "192.0.2.1", "timings": {"total_ms": 12.5}}'
			FROM generate_series(?3 + 1, ?4) AS n`, a.check.ID, newark, epoch(), n, min(n+portion, h.results)).Exec(a.Context())
		if err != nil {
			a.Fatal(err)
		}
	}
	for _, fill := range []string{
		`INSERT INTO result_rollups SELECT ?0, ?1, date_trunc('hour', ?2::timestamptz) - n * interval '1 hour', 120, 120, 1440, '{3}', '{120}'
			FROM generate_series(1, ?3) AS n`,
		`INSERT INTO result_gaps SELECT ?0, ?1, ?2::timestamptz - n * interval '20 min', ?2::timestamptz - n * interval '20 min', 1000, 1
			FROM generate_series(1, ?4) AS n`,
		`INSERT INTO region_edges SELECT ?0, ?2::timestamptz - n * interval '20 min', ?1, 1, 1, '{}' FROM generate_series(1, ?5) AS n`,
		`INSERT INTO incidents SELECT (jsonb_populate_record(i, jsonb_build_object('id', md5('i' || n)::uuid))).*
			FROM incidents AS i, generate_series(1, ?6) AS n WHERE i.id = ?7`,
		`INSERT INTO deliveries SELECT (jsonb_populate_record(d, jsonb_build_object('id', md5(d.event_type || n)::uuid,
				'event_id', md5(d.event_type || 'e' || n)::uuid, 'incident_id', md5('i' || n)::uuid))).*
			FROM deliveries AS d, generate_series(1, ?6) AS n WHERE d.incident_id = ?7`,
		`INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object(
				'id', gen_random_uuid(), 'delivery_id', md5(d.event_type || n)::uuid))).*
			FROM deliveries AS d JOIN attempts AS a ON a.delivery_id = d.id, generate_series(1, ?6) AS n WHERE d.incident_id = ?7`,
		"ANALYZE",
	} {
		_, err := a.store.DB().NewRaw(fill, a.check.ID, newark, epoch(), h.hours, h.gaps, h.edges, h.incidents, id).Exec(a.Context())
		if err != nil {
			a.Fatal(err)
		}
	}
}

// writeOnAndOn writes a result of a check again and again, the first before it returns,
// until stop is called, which returns the longest time that a write took.
func writeOnAndOn(t *testing.T, s *storage.Store, c vigil.Check) (stop func() time.Duration) {
	t.Helper()
	w := newWriter(t, s, storage.WriterOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan time.Duration, 1)
	write(t, w, ok(c, newark, epoch().Add(59*time.Minute)))
	go func() {
		var longest time.Duration
		for slot := epoch().Add(time.Hour); ctx.Err() == nil; slot = slot.Add(10 * time.Second) {
			began := time.Now()
			_, err := w.Write(ctx, vigil.ResultRow{Result: ok(c, newark, slot)})
			if err != nil && ctx.Err() == nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
				t.Error(err)
			}
			longest = max(longest, time.Since(began))
			if vigil.ErrorCode(err) == vigil.CodeNotFound {
				break
			}
		}
		result <- longest
	}()
	return func() time.Duration {
		cancel()
		return <-result
	}
}

// judge prints a figure beside its bound and fails when it is clearly broken.
func judge(t *testing.T, what string, took time.Duration) {
	t.Helper()
	t.Logf("%s: %v (bound %v)", what, took.Round(100*time.Microsecond), lockBound)
	if took > lockSlack*lockBound {
		t.Errorf("%s took %v", what, took)
	}
}

// TestYearOfHistoryIsDeletedInSteps proves that deleting a check with a year of history
// delays neither the results of its own regions nor those of others, and leaves nothing.
func TestYearOfHistoryIsDeletedInSteps(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	began := time.Now()
	h := year()
	h.store(a)
	t.Logf("%+v stored in %v", h, time.Since(began).Round(time.Second))
	other := newCheck(t, a.store, draft(a.org.ID, newark))
	steps := &slowStatements{}
	a.store.DB().AddQueryHook(steps) //nolint:staticcheck // WithQueryHook returns another handle, and the store keeps this one
	others, own := writeOnAndOn(t, a.store, other), writeOnAndOn(t, a.store, a.check)
	organization := longestWait(t, a.store, "UPDATE organizations SET updated_at = updated_at WHERE id = ?", a.org.ID)

	began = time.Now()
	if _, err := a.store.DeleteCheck(t.Context(), a.org.ID, a.check.ID, nil); err != nil {
		t.Fatal(err)
	}
	judge(t, "the deletion of the check", time.Since(began))
	ownWait := own()
	if n := a.count("SELECT count(*) FROM incidents"); n != h.incidents+1 {
		t.Errorf("%d incidents are left at once, want all: the deletion cascades", n)
	}
	began = time.Now()
	purgeCheck(t, a.store, a.check)
	t.Logf("purged in %v by %d statements; the longest was %.120s", time.Since(began).Round(time.Millisecond), steps.n, steps.query)
	judge(t, "the longest statement", steps.longest)
	judge(t, "the longest wait of a result of the check", ownWait)
	judge(t, "the longest wait of a result of another check", others())
	judge(t, "the longest wait for the organization", organization())
	if steps.n < h.results/1000 || steps.most > 1000 {
		t.Errorf("%d statements deleted up to %d rows each, want at most 1000", steps.n, steps.most)
	}

	if n := a.count("SELECT count(*) FROM results WHERE check_id <> ?", other.ID); n != 0 {
		t.Errorf("%d results are left", n)
	}
	for _, table := range []string{"result_rollups", "result_gaps", "region_edges", "incidents", "deliveries"} {
		if n := a.count("SELECT count(*) FROM "+table+" WHERE check_id = ?", a.check.ID); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
	if n := a.count("SELECT count(*) FROM attempts"); n != 0 {
		t.Errorf("%d attempts are left", n)
	}
	if n := a.count("SELECT count(*) FROM results WHERE check_id = ?", other.ID); n == 0 {
		t.Error("the other check has no results")
	}
}

// TestChannelOfManyRulesIsDeletedInSteps proves that the loops of a thousand checks are
// not locked together while a channel is removed from their rules.
func TestChannelOfManyRulesIsDeletedInSteps(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook, vigil.ChannelChat)
	a.createRule(vigil.Rule{
		OrgID: a.org.ID, CheckID: a.check.ID, Name: "Only chat", Condition: a.rule.Condition,
		Channels: []uuid.UUID{a.channels[vigil.ChannelChat].ID}, NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
	})
	const more = 1000
	columns, loopColumns := writtenColumns(t, a.store, "checks"), writtenColumns(t, a.store, "check_regions")
	for _, fill := range []string{
		`INSERT INTO checks (` + columns + `) SELECT ` + columns + ` FROM (
			SELECT (jsonb_populate_record(c, jsonb_build_object('id', md5('c' || n)::uuid))).*
			FROM checks AS c, generate_series(1, ?1) AS n WHERE c.id = ?0) AS made`,
		`INSERT INTO check_regions (` + loopColumns + `) SELECT ` + loopColumns + ` FROM (
			SELECT (jsonb_populate_record(r, jsonb_build_object('check_id', md5('c' || n)::uuid))).*
			FROM check_regions AS r, generate_series(1, ?1) AS n WHERE r.check_id = ?0) AS made`,
		`INSERT INTO alert_rules SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'check_id', md5('c' || n)::uuid))).*
			FROM alert_rules AS a, generate_series(1, ?1) AS n WHERE a.check_id = ?0`,
		"ANALYZE",
	} {
		if _, err := a.store.DB().NewRaw(fill, a.check.ID, more).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var first uuid.UUID // the one that is locked first, and would be locked for the longest time
	if err := a.store.DB().NewRaw("SELECT id FROM checks ORDER BY id LIMIT 1").Scan(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	check, err := a.store.Check(t.Context(), a.org.ID, first)
	if err != nil {
		t.Fatal(err)
	}
	before := a.count("SELECT sum(revision)::bigint FROM checks")
	wait := writeOnAndOn(t, a.store, check)
	steps := &slowStatements{}
	a.store.DB().AddQueryHook(steps) //nolint:staticcheck // WithQueryHook returns another handle, and the store keeps this one
	began := time.Now()
	changed, err := a.store.DeleteChannel(t.Context(), a.org.ID, a.channels[vigil.ChannelChat].ID, true, nil)
	if err != nil || len(changed) != more+1 {
		t.Fatalf("%d checks changed, %v", len(changed), err)
	}
	t.Logf("deleted in %v", time.Since(began).Round(time.Millisecond))
	judge(t, "the longest wait of a result", wait())
	if steps.most != 40 {
		t.Errorf("one statement touched %d rows, want 40: the loops of 20 checks in 2 regions", steps.most)
	}
	if n := a.count("SELECT sum(revision)::bigint FROM checks"); n != before+more+1 {
		t.Errorf("the revisions rose by %d, want %d", n-before, more+1)
	}
	if n := a.count("SELECT count(*) FROM alert_rules"); n != more+1 {
		t.Errorf("%d rules are left, want %d", n, more+1)
	}
	if n := a.count(fmt.Sprintf("SELECT count(*) FROM alert_rules WHERE '%s' = ANY(channel_ids)", a.channels[vigil.ChannelChat].ID)); n != 0 {
		t.Errorf("%d rules use the channel", n)
	}
	if n := a.count("SELECT count(*) FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id WHERE r.desired <> c.revision"); n != 0 {
		t.Errorf("%d loops do not know the new revision", n)
	}
}

// writtenColumns are those of a table that are not generated, as SQL lists them.
func writtenColumns(t *testing.T, s *storage.Store, table string) (columns string) {
	t.Helper()
	if err := s.DB().NewRaw(`SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = ? AND is_generated = 'NEVER'`, table).Scan(t.Context(), &columns); err != nil {
		t.Fatal(err)
	}
	return columns
}
