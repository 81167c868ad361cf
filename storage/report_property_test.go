// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/storage"
)

//nolint:gochecknoglobals // a flag
var spanSeed = flag.Uint64("span-seed", 0, "seed of the random spans of uptime; 0: another one each time")

// recounted are the numbers of a span that SQL counts again from copies of all results and of the
// slots that the test left out.
type recounted struct{ Total, Successful, Excluded, Missed int64 }

func of(t overview.Tally) recounted { return recounted{t.Total, t.Successful, t.Excluded, t.Missed} }

// spanWorld is one set of results for all random spans: two weeks around the end of summer time in Europe.
// The results of its first days are past their retention.
type spanWorld struct {
	s            *storage.Store
	org          uuid.UUID
	checks       []vigil.Check
	from, to     time.Time
	kept         time.Time // the results before it are gone
	zones        []*time.Location
	spans, pairs int
}

func newSpanWorld(t *testing.T, rng *rand.Rand) *spanWorld {
	t.Helper()
	s, clk := newStore(t)
	w := &spanWorld{
		s: s, from: time.Date(2026, 10, 20, 9, 17, 0, 0, time.UTC), to: time.Date(2026, 11, 3, 14, 41, 30, 0, time.UTC),
		kept: time.Date(2026, 10, 24, 0, 0, 0, 0, time.UTC),
	}
	for _, name := range []string{"UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham", "America/New_York"} {
		zone, ok := vigil.LoadZone(name)
		if !ok {
			t.Fatal(name)
		}
		w.zones = append(w.zones, zone)
	}
	clk.Set(w.from)
	org, _ := newOrg(t, s)
	w.org = org.ID
	for day := w.from; day.Before(w.to); day = day.AddDate(0, 0, 5) {
		if err := s.EnsurePartitions(t.Context(), day); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{
		"CREATE TABLE copied (check_id uuid, slot timestamptz, success boolean, excluded smallint)",
		"CREATE TABLE left_out (check_id uuid, slot timestamptz)",
	} {
		if _, err := s.DB().NewRaw(sql).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	writer := newWriter(t, s, storage.WriterOptions{})
	var filled sync.WaitGroup
	for n, minutes := range []time.Duration{7, 10, 13, 15, 30, 45, 60, 90} {
		c := draft(org.ID, newark)
		if n%3 == 0 {
			c.Regions = []string{newark, frankfurt}
		}
		c.Name, c.Interval = fmt.Sprintf("check %d", n), minutes*time.Minute
		c = newCheck(t, s, c)
		w.checks = append(w.checks, c)
		for _, region := range c.Regions {
			of, slots := rand.New(rand.NewPCG(rng.Uint64(), 0)), slotsOf(scheduleOf(t, s, c, region), w.from, w.to)
			filled.Go(func() { w.fill(t, of, writer, c, region, slots) })
		}
	}
	filled.Wait()
	clk.Set(w.to)
	for _, sql := range []string{
		"INSERT INTO copied SELECT check_id, slot, success, excluded FROM results",
		"CREATE INDEX ON copied (check_id, slot)", "CREATE INDEX ON left_out (check_id, slot)", "ANALYZE copied, left_out",
	} {
		if _, err := s.DB().NewRaw(sql).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DropPartitions(t.Context(), w.kept); err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM results WHERE slot < ?", w.kept); n != 0 {
		t.Fatalf("%d results are not gone", n)
	}
	return w
}

// fill writes the results of a loop: hours of failures, maintenance and outages of the platform among them. The
// newest slots have none yet.
func (w *spanWorld) fill(t *testing.T, rng *rand.Rand, writer *storage.ResultWriter, c vigil.Check, region string, slots []time.Time) {
	t.Helper()
	const deadline = 5 * time.Second // of write
	mode, left := 0, 0
	var missed []time.Time
	for n, slot := range slots {
		if left--; left <= 0 {
			mode, left = rng.IntN(5), 1+rng.IntN(20)
		}
		if mode == 3 || n >= len(slots)-2 {
			if slot.Before(w.to.Add(-deadline)) {
				missed = append(missed, slot)
			}
			continue
		}
		r := ok(c, region, slot)
		if mode == 1 && rng.IntN(3) > 0 || mode == 4 {
			r = failed(c, region, slot)
		}
		row := vigil.ResultRow{Result: r, Worker: "w1", Deadline: deadline, Excluded: mode == 2}
		if _, err := writer.Write(t.Context(), row); err != nil {
			t.Error(err)
			return
		}
	}
	if _, err := w.s.DB().
		NewRaw("INSERT INTO left_out SELECT ?, unnest(?::timestamptz[])", c.ID, instants(missed)).
		Exec(t.Context()); err != nil {
		t.Error(err)
	}
}

// recount counts spans of a check again: those between edges. An edge around which results are gone is met
// by the hour when there were any in its hour.
func (w *spanWorld) recount(ctx context.Context, check uuid.UUID, edges []time.Time) ([]recounted, error) {
	var rows []recounted
	err := w.s.DB().NewRaw(`WITH asked AS (
			SELECT n, edge, date_trunc('hour', edge, 'UTC') AS hour FROM unnest(?0::timestamptz[]) WITH ORDINALITY AS e (edge, n)
		), met AS (
			SELECT n, CASE WHEN edge > hour AND hour < ?1 AND EXISTS (
				SELECT FROM copied WHERE check_id = ?2 AND slot >= hour AND slot < hour + interval '1 hour')
				THEN hour + interval '1 hour' ELSE edge END AS edge FROM asked
		), spans AS (SELECT n, edge AS a, lead(edge) OVER (ORDER BY n) AS b FROM met)
		SELECT r.total, r.successful, r.excluded, m.missed FROM spans
			CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE excluded = 0) AS total, count(*) FILTER (WHERE success AND excluded = 0) AS successful,
				count(*) FILTER (WHERE excluded = 1) AS excluded FROM copied WHERE check_id = ?2 AND slot >= a AND slot < b) AS r
			CROSS JOIN LATERAL (SELECT count(*) AS missed FROM left_out WHERE check_id = ?2 AND slot >= a AND slot < b) AS m
		WHERE b IS NOT NULL ORDER BY n`, instants(edges), w.kept, check).Scan(ctx, &rows)
	return rows, err
}

// instants is the text of an array of Postgres.
func instants(at []time.Time) string {
	text := "{"
	for n, one := range at {
		if n > 0 {
			text += ","
		}
		text += one.UTC().Format(`"2006-01-02T15:04:05.999999Z"`)
	}
	return text + "}"
}

// span is a random one: of any instants, of whole hours, or of whole days of its zone.
func (w *spanWorld) span(rng *rand.Rand) overview.Span {
	whole := int64(w.to.Sub(w.from) / time.Second)
	at := func() time.Time { return w.from.Add(time.Duration(rng.Int64N(whole)) * time.Second) }
	span := overview.Span{From: at(), To: at(), Zone: w.zones[rng.IntN(len(w.zones))]}
	if span.To.Before(span.From) {
		span.From, span.To = span.To, span.From
	}
	switch rng.IntN(4) {
	case 0:
		span.From, span.To = span.From.Truncate(time.Hour), span.To.Truncate(time.Hour).Add(time.Hour)
	case 1:
		span.From, span.To = overview.NextDay(span.From, span.Zone), overview.NextDay(span.To, span.Zone)
	}
	if !span.From.Before(w.to) || !span.From.Before(span.To) {
		return w.span(rng)
	}
	return span
}

// TestUptimeOfRandomSpans compares spans of checks and days with a recount in SQL: each number of a span, that days
// add up to it, and checks to the total. There are 100,000 of them with VIGIL_DRILL=full, and fewer in other runs.
func TestUptimeOfRandomSpans(t *testing.T) {
	t.Parallel()
	seed := *spanSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-span-seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	w := newSpanWorld(t, rng)
	want := 15_000
	if os.Getenv("VIGIL_DRILL") == "full" {
		want = 100_000
	}
	for w.pairs < want && !t.Failed() {
		w.compareReport(t, w.span(rng))
		if w.spans++; w.spans%4 == 0 {
			w.compareCheck(t, w.span(rng), w.checks[rng.IntN(len(w.checks))])
		}
	}
	t.Logf("%d spans of checks and days in %d reports", w.pairs, w.spans)
}

func (w *spanWorld) compareReport(t *testing.T, span overview.Span) {
	t.Helper()
	rows := make(map[uuid.UUID]overview.ReportRow)
	report, err := w.s.Report(t.Context(), w.org, overview.ReportQuery{Span: span, Days: true}, func(row *overview.ReportRow) error {
		rows[row.CheckID] = *row
		return nil
	})
	if err != nil || len(rows) != len(w.checks) {
		t.Fatalf("%v: %d checks, %v", span, len(rows), err)
	}
	days, total := make([]overview.Tally, len(report.Days)), overview.Tally{}
	for _, c := range w.checks {
		expected, err := w.recount(t.Context(), c.ID, report.Edges)
		if err != nil {
			t.Fatal(err)
		}
		var sum overview.Tally
		for n, day := range rows[c.ID].Days {
			if got := of(day.Tally); got != expected[n] {
				t.Errorf("%v, %s, from %v to %v: got %+v, want %+v", span, c.Name, report.Edges[n], report.Edges[n+1], got, expected[n])
			}
			sum.Add(day.Tally)
			days[n].Add(day.Tally)
			w.pairs++
		}
		if got := rows[c.ID].Tally; got != sum || got.Down > got.Measured || got.Measured > span.To.Sub(span.From)+time.Hour {
			t.Errorf("%v, %s: %+v is not the sum of its days %+v", span, c.Name, got, sum)
		}
		total.Add(rows[c.ID].Tally)
		w.pairs++
	}
	for n := range days {
		if report.Days[n].Tally != days[n] {
			t.Errorf("%v: day %d is %+v, and its checks %+v", span, n, report.Days[n].Tally, days[n])
		}
	}
	if report.Tally != total {
		t.Errorf("%v: total %+v, and the checks %+v", span, report.Tally, total)
	}
}

// compareCheck compares the uptime of one check, which is asked for by itself.
func (w *spanWorld) compareCheck(t *testing.T, span overview.Span, c vigil.Check) {
	t.Helper()
	up, err := w.s.UptimeBetween(t.Context(), w.org, c.ID, span, false)
	if err != nil {
		t.Fatal(err)
	}
	if span.To.After(w.to) {
		span.To = w.to
	}
	expected, err := w.recount(t.Context(), c.ID, []time.Time{span.From, span.To})
	if err != nil {
		t.Fatal(err)
	}
	regions := overview.Tally{}
	for _, one := range up.ByRegion {
		regions.Add(overview.Tally{Total: one.Total, Successful: one.Successful, Missed: one.Missed, Excluded: one.Excluded})
	}
	if got := of(up.Tally); got != expected[0] || of(regions) != got {
		t.Errorf("%v, %s: got %+v, in regions %+v, want %+v", span, c.Name, got, of(regions), expected[0])
	}
	for edge, at := range map[overview.Edge]time.Time{up.From: span.From, up.To: span.To} {
		byHour := edge.Precision == overview.ByHour
		if byHour == edge.At.Equal(at) || byHour && (!at.Before(w.kept) || edge.At.Sub(at) >= time.Hour) {
			t.Errorf("%v: edge %+v of %v", span, edge, at)
		}
	}
	w.pairs++
}

func TestSpansFollowTheClocks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		zone  string
		month time.Month
		year  int
		days  int
		hours float64
		odd   float64 // the day of another length, in hours
	}{
		{"Europe/Berlin", time.October, 2026, 31, 31*24 + 1, 25},
		{"Europe/Berlin", time.March, 2026, 31, 31*24 - 1, 23},
		{"America/Santiago", time.September, 2026, 30, 30*24 - 1, 23}, // midnight is skipped
		{"Asia/Kolkata", time.February, 2028, 29, 29 * 24, 24},
		{"Australia/Lord_Howe", time.October, 2026, 31, 31*24 - 0.5, 23.5},
		{"UTC", time.December, 2026, 31, 31 * 24, 24},
	} {
		zone, ok := vigil.LoadZone(tt.zone)
		if !ok {
			t.Fatal(tt.zone)
		}
		span := overview.MonthOf(tt.year, tt.month, zone)
		edges := span.Edges()
		if got := span.To.Sub(span.From).Hours(); got != tt.hours || len(edges) != tt.days+1 || !slices.IsSortedFunc(edges, time.Time.Compare) {
			t.Errorf("%s: %v hours in %d days", tt.zone, got, len(edges)-1)
		}
		odd := 24.0
		for n := range len(edges) - 1 {
			if hours := edges[n+1].Sub(edges[n]).Hours(); hours != 24 {
				odd = hours
			}
		}
		if odd != tt.odd {
			t.Errorf("%s: a day has %v hours, want %v", tt.zone, odd, tt.odd)
		}
	}
}
