// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// results writes results of a check, a minute apart from its first slot on, and moves the clock behind them.
func (b *testServer) outcomes(t *testing.T, a person, id uuid.UUID, outcomes ...bool) {
	t.Helper()
	w := storage.NewResultWriter(b.store, storage.WriterOptions{Delay: time.Millisecond})
	ran := make(chan error, 1)
	go func() { ran <- w.Run(t.Context()) }()
	stored, err := b.store.Check(t.Context(), a.org, id)
	if err != nil {
		t.Fatal(err)
	}
	schedule := stored.Schedule("na-east-ewr", stored.CreatedAt)
	at := schedule.First()
	for _, ok := range outcomes {
		result := vigil.Result{ID: vigil.ResultID(id, "na-east-ewr", at), CheckID: id, Region: "na-east-ewr", Slot: at, Time: at}
		result.Success, result.ResponseTime = ok, 10*time.Millisecond
		if !ok {
			result.Error = "=HYPERLINK(\"http://evil.example\"), \"quoted\"\nand a line"
		}
		if _, err := w.Write(t.Context(), vigil.ResultRow{Result: result, Worker: "w", Deadline: time.Second}); err != nil {
			t.Fatal(err)
		}
		at = schedule.Next(at)
	}
	w.Close()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
	b.clock.Set(at)
}

// table reads a file of CSV strictly.
func table(t *testing.T, r answer) [][]string {
	t.Helper()
	if kind := r.header.Get("Content-Type"); !strings.HasPrefix(kind, "text/csv") {
		t.Fatalf("%q: %s", kind, r.raw)
	}
	rows, err := csv.NewReader(strings.NewReader(string(r.raw))).ReadAll()
	if err != nil {
		t.Fatalf("%v in %s", err, r.raw)
	}
	if strings.Count(string(r.raw), "\n") != strings.Count(string(r.raw), "\r\n") {
		t.Errorf("lines do not end with CRLF: %q", r.raw)
	}
	return rows
}

// TestReports: its parts come one after the other, since each counts what those before it have made.
//
//nolint:paralleltest // as above
func TestReports(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, stranger := b.signup(t), b.signup(t)
	check := a.check(t)
	quiet := a.check(t)
	id := uuid.MustParse(text(check, "id"))
	a.want(
		t,
		http.StatusOK,
		http.MethodPut,
		"/v1/checks/"+id.String(),
		map[string]any{"name": "=1+1", "labels": map[string]any{"team": "shop"}},
	)
	a.want(t, http.StatusOK, http.MethodPut, "/v1/checks/"+text(quiet, "id"), map[string]any{"name": "Quiet", "enabled": false})
	b.outcomes(t, a, id, true, false, true, true)
	from := url.QueryEscape(b.clock.Now().Add(-time.Hour).UTC().Format(time.RFC3339))

	t.Run("AreByCheckByDayAndInAll", func(t *testing.T) {
		const path = "/v1/reports/uptime?label=team%3Dshop&timezone=Europe/Berlin&target=50&days=true"
		report := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
		total, _ := report["total"].(map[string]any)
		checks, _ := report["checks"].([]any)
		if len(checks) != 1 || total["uptime_percentage"] != 75.0 || total["failed_checks"] != 1.0 || total["missed_checks"] != 0.0 {
			t.Fatalf("%v", report)
		}
		budget, _ := total["error_budget"].(map[string]any)
		if budget["allowed_failures"] != 2.0 || budget["used_failures"] != 1.0 || budget["left_percentage"] != 50.0 {
			t.Errorf("budget %v", budget)
		}
		if row, _ := checks[0].(map[string]any); len(row["days"].([]any)) != len(report["days"].([]any)) {
			t.Errorf("days of the check %v", row["days"])
		}
		if all := a.want(t, http.StatusOK, http.MethodGet, "/v1/reports/uptime", nil).data(t); len(all["checks"].([]any)) != 2 {
			t.Errorf("all checks %v", all["checks"])
		}
		if other := stranger.want(t, http.StatusOK, http.MethodGet, "/v1/reports/uptime?label=team%3Dshop", nil).
			data(t); len(
			other["checks"].([]any),
		) != 0 {
			t.Errorf("another organization sees %v", other)
		}
	})
	t.Run("HaveTheUptimeOfTheCheck", func(t *testing.T) {
		uptime := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+id.String()+"/uptime?from="+from, nil).data(t)
		span, _ := uptime["span"].(map[string]any)
		if uptime["uptime_percentage"] != 75.0 || uptime["period"] != "custom" || span["from_edge"] != "exact" || span["to_edge"] != "exact" {
			t.Errorf("%v", uptime)
		}
		stranger.want(t, http.StatusNotFound, http.MethodGet, "/v1/checks/"+id.String()+"/uptime?from="+from, nil)
	})
	t.Run("RefuseWhatIsWrongByItsName", func(t *testing.T) {
		for query, member := range map[string]string{
			"month=2026-13": "month", "month=x": "month", "month=9999-12": "month", "timezone=Mars/Base": "timezone", "timezone=": "timezone",
			"target=100": "target", "target=0": "target", "from=yesterday": "from", "to=2026-01-01": "from", "label=%3D": "label",
			"from=2026-02-01&to=2026-01-01": "to", "from=2020-01-01&to=2026-01-01": "to", "from=2999-01-01&to=2999-01-02": "from",
			"from=2026-02-01&month=2026-02": "month", "days=perhaps": "days", "to=%00": "to", "from=0000-01-01&to=0000-01-02T00:00:00": "to",
		} {
			for _, path := range []string{"/v1/reports/uptime", "/v1/reports/uptime.csv"} {
				refused := a.want(t, http.StatusBadRequest, http.MethodGet, path+"?"+query, nil)
				if refused.detail("member") != member {
					t.Errorf("%s: %s", query, refused.raw)
				}
			}
			if strings.HasPrefix(query, "from=2") && !strings.Contains(query, "month") {
				refused := a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/checks/"+id.String()+"/uptime?"+query, nil)
				if refused.detail("member") != member {
					t.Errorf("%s: %s", query, refused.raw)
				}
			}
		}
	})
	t.Run("AreFilesToo", func(t *testing.T) {
		rows := table(t, a.want(t, http.StatusOK, http.MethodGet, "/v1/reports/uptime.csv?target=50", nil))
		if len(rows) != 4 || rows[1][1] != "'=1+1" || rows[1][6] != "75" || rows[3][1] != "All checks" || rows[3][6] != "75" {
			t.Errorf("%q", rows)
		}
	})
	t.Run("ResultsAreAFile", func(t *testing.T) {
		rows := table(t, a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+id.String()+"/results.csv", nil))
		if len(rows) != 5 || rows[3][4] != "false" || rows[3][7] != "'=HYPERLINK(\"http://evil.example\"), \"quoted\"\nand a line" {
			t.Errorf("%q", rows)
		}
		if rows := table(
			t,
			a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+id.String()+"/results.csv?success=false", nil),
		); len(
			rows,
		) != 2 {
			t.Errorf("failures %q", rows)
		}
		stranger.want(t, http.StatusNotFound, http.MethodGet, "/v1/checks/"+id.String()+"/results.csv", nil)
	})
	t.Run("IncidentsAreAFile", func(t *testing.T) {
		e := b.episode(t, a)
		incident := e.open(t)
		b.clock.Advance(time.Minute)
		rows := table(t, a.want(t, http.StatusOK, http.MethodGet, "/v1/incidents.csv", nil))
		if len(rows) != 2 || rows[1][0] != incident.String() {
			t.Errorf("%q", rows)
		}
		if rows := table(t, stranger.want(t, http.StatusOK, http.MethodGet, "/v1/incidents.csv", nil)); len(rows) != 1 {
			t.Errorf("another organization sees %q", rows)
		}
		report := a.want(t, http.StatusOK, http.MethodGet, "/v1/reports/uptime", nil).data(t)
		if total, _ := report["total"].(map[string]any); total["incidents"] != 1.0 || total["mean_time_to_resolve_seconds"] != nil {
			t.Errorf("%v", total)
		}
	})
}

// TestFilesAreWrittenInFlatMemory downloads 30,000 results and looks at the heap while it does, which is that of the whole
// process: no other test may run meanwhile.
//
//nolint:paralleltest // as above
func TestFilesAreWrittenInFlatMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("stores 30,000 results")
	}
	b := setup(t)
	a := b.signup(t)
	id := uuid.MustParse(text(a.check(t), "id"))
	const rows = 30_000
	if _, err := b.store.DB().ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO results
		(check_id, region, slot, id, time, manual, success, response_time_ms, error_message)
		SELECT '%s', 'na-east-ewr', s, gen_random_uuid(), s, false, false, 1, repeat('x', 200)
		FROM (
			SELECT created_at + n * interval '1 second' AS s FROM checks, generate_series(1, %d) AS n WHERE id = '%s'
		) AS g`, id, rows, id)); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.url+"/v1/checks/"+id.String()+"/results.csv", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-API-Key", a.key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	reader := csv.NewReader(answer.Body)
	reader.ReuseRecord = true
	var n int
	var first, most uint64
	var read int64
	for {
		row, err := reader.Read()
		if err != nil {
			break
		}
		for _, cell := range row {
			read += int64(len(cell))
		}
		if n++; n%3000 == 0 {
			now := heap()
			if first == 0 {
				first = now
			}
			most = max(most, now)
		}
	}
	if n != rows+1 {
		t.Fatalf("%d rows", n)
	}
	t.Logf("%d MiB in %d rows; heap %d KiB after 3,000 rows, %d KiB at most", read>>20, n, first>>10, most>>10)
	if bound := uint64(5 << 20); most > first+bound {
		t.Errorf("the heap grew by %d KiB while %d MiB were written", (most-first)>>10, read>>20)
	}
}
