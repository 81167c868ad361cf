// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"
)

// drawn are the data of the chart on a page.
func drawn(t *testing.T, page answer) (data struct {
	Step  int64
	Lines []struct {
		Name   string
		Values []*float64
		Failed [][3]int64
	}
	Pauses [][2]int64
	Unit   string
	Rule   int64
},
) {
	t.Helper()
	found := regexp.MustCompile(`data-chart="([^"]*)"`).FindStringSubmatch(page.text)
	if found == nil {
		t.Fatalf("there is no chart: %s", page.text)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &data); err != nil {
		t.Fatal(err)
	}
	return data
}

// TestChart has the chart of a check in many regions, of a time, and of what is no time; the table says the same.
func TestChart(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	regions := []string{
		"na-east-ewr", "eu-central-fra", "ap-southeast-sin", "eu-west-lhr", "eu-west-ams", "na-west-sjc", "sa-east-sao", "sa-west-scl",
	}
	list, err := json.Marshal(regions)
	if err != nil {
		t.Fatal(err)
	}
	id := s.create(t, b, "/v1/checks", fmt.Sprintf(
		`{"name":"Shop","type":"https","interval_seconds":60,"regions":%s,"config":{"url":"https://127.0.0.1:1/"}}`, list,
	))
	begin := time.Now().UTC().Truncate(time.Minute).Add(-2 * time.Hour)
	for n, region := range regions {
		_, err := s.store.DB().NewRaw(`
			INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms)
			SELECT ?0, ?1, ?2::timestamptz + n * interval '1 minute', gen_random_uuid(), now(), false, n <> 7, ?3::int + n
			FROM generate_series(0, 59) AS n WHERE n NOT BETWEEN 20 AND 24`, id, region, begin, 100*(n+1)).Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(minutes int) string {
		return url.QueryEscape(begin.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339))
	}
	path := "/app/checks/" + id
	hour := path + "?from=" + at(0) + "&to=" + at(60) + "&timezone=UTC"

	few := b.get(t, http.StatusOK, hour)
	data := drawn(t, few)
	if len(data.Lines) != 4 || data.Lines[3].Name != "All 8 regions" || data.Lines[0].Name != "Santiago" || data.Step != 60 {
		t.Errorf("of many regions these are lines: %+v", data.Lines)
	}
	if all := data.Lines[3].Values; len(all) != 60 || *all[0] != 450 || all[7] != nil || all[20] != nil || *all[25] != 475 {
		t.Errorf("the mean of all is %v", all)
	}
	if failed := data.Lines[3].Failed; len(failed) != 1 || failed[0] != [3]int64{7, 8, 8} {
		t.Errorf("failed are %v", failed)
	}
	few.shows(t, "Show all 8 regions", "Show the last 1 h", "no result", "Show all 56 rows")
	every := b.get(t, http.StatusOK, hour+"&lines=all&table=all&statistic=p95")
	data = drawn(t, every)
	if len(data.Lines) != 8 {
		t.Errorf("all regions are %d lines", len(data.Lines))
	}
	// The table has every step of the chart; a gap is one row.
	_, table, _ := strings.Cut(every.text, `<tbody>`)
	table, _, _ = strings.Cut(table, `</tbody>`)
	if rows := strings.Count(table, "<tr>"); rows != 56 {
		t.Errorf("the table has %d rows of 60 steps, 5 of them a gap", rows)
	}
	for i, ms := range data.Lines[0].Values {
		if cell := regexp.MustCompile(`>` + fmt.Sprint(100+i) + `<`); ms != nil && !cell.MatchString(table) {
			t.Errorf("step %d is not in the table", i)
		}
	}
	every.shows(t, `aria-current="true">`, "1 failed", "Show the slowest 3")

	for query, message := range map[string]string{
		"?from=yesterday":                      "from: must be an instant such as",
		"?from=" + at(60) + "&to=" + at(0):     "to: must be after from",
		"?to=" + at(0):                         "from: is missing",
		"?from=2020-01-01&to=2026-01-01":       "to: must be at most 366 days after from",
		"?from=%3Cscript%3E":                   "from: must be an instant such as",
		"?from=2026-01-01&to=%00":              "to: holds a character that is not allowed",
		"?from=" + strings.Repeat("9", 10_000): "from",
		"?from=2126-01-01":                     "",
	} {
		page := b.get(t, http.StatusUnprocessableEntity, path+query)
		page.shows(t, message, "The chart has no such time.")
		if strings.Contains(page.text, "<script>") {
			t.Error("the address is in the page as it was sent")
		}
	}
	old := url.QueryEscape(time.Now().Add(-200 * 24 * time.Hour).UTC().Format(time.RFC3339))
	b.get(t, http.StatusOK, path+"?from="+old).shows(t, "Show the last 1 h")
	b.get(t, http.StatusOK, path+"?period=24h").shows(t, `href="`+path+`?period=7d"`, `href="`+path+`"`)

	// What is past its retention says so.
	for _, fill := range []string{
		"UPDATE checks SET created_at = now() - interval '300 days' WHERE id = ?0",
		`INSERT INTO result_rollups (check_id, region, hour, total, successes, sum_ms, buckets, counts)
			SELECT ?0, ?1, date_trunc('hour', now()) - n * interval '1 hour', 60, 59, 5900, '{115}', '{59}' FROM generate_series(2399, 2400) AS n`,
	} {
		if _, err := s.store.DB().NewRaw(fill, id, regions[0]).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.get(t, http.StatusOK, path+"?from="+old).shows(t, "Show the last 24 h", "Nothing is kept from before")
	hours := func(ago int) string {
		return url.QueryEscape(time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(ago) * time.Hour).Format(time.RFC3339))
	}
	b.get(t, http.StatusOK, path+"?from="+hours(2400)+"&to="+hours(2398)).
		shows(t, "Single results of this time are past their retention: whole hours are shown.", "100, 1 failed")
	stranger, _ := s.signUp(t)
	stranger.get(t, http.StatusNotFound, hour)
	s.browser(t).get(t, http.StatusSeeOther, hour)
}

// TestChartOfThroughput has the rate of a throughput check in its chart and table, and the time of the transfers where
// whole hours keep nothing else.
func TestChartOfThroughput(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	id := s.create(t, b, "/v1/checks", `{"name":"Mirror","type":"throughput","interval_seconds":60,
		"regions":["na-east-ewr","eu-central-fra"],"config":{"url":"https://127.0.0.1:1/10MB.bin"}}`)
	begin := time.Now().UTC().Truncate(time.Minute).Add(-2 * time.Hour)
	for n, region := range []string{"na-east-ewr", "eu-central-fra"} {
		_, err := s.store.DB().NewRaw(`
			INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, metadata)
			SELECT ?0, ?1, ?2::timestamptz + n * interval '1 minute', gen_random_uuid(), now(), false, n <> 7, 5000,
				jsonb_build_object('mbps', ?3::int + n + 0.126) FROM generate_series(0, 59) AS n`, id, region, begin, 90*(n+1)).Exec(t.Context())
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(minutes int) string {
		return url.QueryEscape(begin.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339))
	}
	path := "/app/checks/" + id
	page := b.get(t, http.StatusOK, path+"?timezone=UTC&from="+at(0)+"&to="+at(60)+"&table=all")
	data := drawn(t, page)
	if data.Unit != "Mbit/s" || len(data.Lines) != 2 || data.Lines[0].Name != "Newark" {
		t.Fatalf("the chart is in %q: %+v", data.Unit, data.Lines)
	}
	if values := data.Lines[0].Values; len(values) != 60 || *values[0] != 90.1 || values[7] != nil || *values[59] != 149 {
		t.Errorf("the rates are %v", values)
	}
	page.shows(t, `<h2 id="h-chart">Throughput</h2>`, "Throughput in Mbit/s", "Newark, Mbit/s", `<td class="num">90.1</td>`, "1 failed",
		"Throughput, mean by region", "Newark: 149 Mbit/s.", "Frankfurt: 239 Mbit/s.")
	// Three steps of 20 minutes or so: 95 of 100 results reach their p95.
	hour := b.get(t, http.StatusOK, path+"?timezone=UTC&from="+at(-300)+"&to="+at(60)+"&statistic=p95")
	first := drawn(t, hour)
	if first.Step <= 60 {
		t.Fatalf("six hours have steps of %d s", first.Step)
	}
	for _, value := range first.Lines[0].Values {
		if value != nil {
			if *value != 90.1 {
				t.Errorf("the rate that 95 %% of the first results reach is %v", *value)
			}
			break
		}
	}

	if _, err := s.store.DB().NewRaw(`
		INSERT INTO result_rollups (check_id, region, hour, total, successes, sum_ms, buckets, counts)
		SELECT ?0, 'na-east-ewr', date_trunc('hour', now()) - n * interval '1 hour', 60, 60, 300000, '{115}', '{60}'
		FROM generate_series(2, 4) AS n`, id).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	days := b.get(t, http.StatusOK, path+"?period=30d")
	if data := drawn(t, days); data.Unit != "ms" {
		t.Errorf("whole hours are in %q", data.Unit)
	}
	days.shows(t, `<h2 id="h-chart">Transfer time</h2>`, "Transfer time in ms", "Newark, ms", "Newark: 5\u2009000 ms.",
		"Of whole hours the time of the transfers is kept, and not their rate.")
}
