// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// resultsShown is how many results a page of a check has.
const resultsShown = 30

func (v *resultView) params() *client.ListResultsParams {
	limit := int64(resultsShown)
	evidence := true
	p := &client.ListResultsParams{Limit: &limit, Evidence: &evidence}
	if v.Region != "" {
		p.Region = &v.Region
	}
	if v.Failing {
		no := false
		p.Success = &no
	}
	if v.Cursor != "" {
		p.Cursor = &v.Cursor
	}
	return p
}

// resultTable are results, newest first.
type resultTable struct {
	Filters    []choice
	Regions    []choice
	RegionText string
	Rows       []resultRow
	More       string
}

// resultRow is a result; its metadata open in place.
type resultRow struct {
	ID, City string
	Mark     mark
	Time     stamp
	Status   string
	Text     string
	MS       string
	Bar      *phaseBar
	Facts    []fact
	Evidence *evidenceView // nil: none is kept
	Detail   string        // the metadata as JSON
}

// widest is how many milliseconds the bar of a result shows at most.
const resultBar = 100 // pixels

func (r *request) resultTable(d *checkData, v resultView, path string) resultTable {
	t := resultTable{RegionText: "All regions"}
	t.Filters = []choice{
		{Text: "All", Chosen: !v.Failing, Href: v.with(path, func(v *resultView) { v.Failing = false }) + "#results"},
		{Text: "Failing", Chosen: v.Failing, Href: v.with(path, func(v *resultView) { v.Failing = true }) + "#results"},
	}
	if len(d.check.Regions) > 1 {
		t.Regions = []choice{
			{Text: "All regions", Chosen: v.Region == "", Href: v.with(path, func(v *resultView) { v.Region = "" }) + "#results"},
		}
		for _, key := range d.check.Regions {
			city := r.city(key)
			t.Regions = append(
				t.Regions,
				choice{Text: city, Chosen: v.Region == key, Href: v.with(path, func(v *resultView) { v.Region = key }) + "#results"},
			)
			if v.Region == key {
				t.RegionText = city
			}
		}
	}
	t.Rows = r.resultRows(d.results.Data)
	if next := d.results.Meta.NextCursor; next != nil {
		t.More = moreLink(path, v, *next)
	}
	return t
}

func moreLink(path string, v resultView, cursor string) string {
	values := v.values()
	values.Set("cursor", cursor)
	return path + "?" + values.Encode() + "#results"
}

func (r *request) resultRows(results []client.Result) []resultRow {
	longest := 1.0
	for i := range results {
		longest = max(longest, float64(results[i].ResponseTimeMs))
	}
	rows := make([]resultRow, len(results))
	for i := range results {
		rows[i] = r.resultRow(&results[i], resultBar/longest)
	}
	return rows
}

func (r *request) resultRow(result *client.Result, perMS float64) resultRow {
	row := resultRow{
		ID: "r-" + result.Id.String(), City: r.city(result.Region), Time: r.stamp(result.Time), Mark: newMark("up", "Passing"), Status: "–",
		MS: number(result.ResponseTimeMs) + " ms", Facts: resultFacts(result),
		Evidence: evidenceOf(result),
	}
	if result.StatusCode != nil {
		row.Status = fmt.Sprint(*result.StatusCode)
	}
	m := metadataOf(result)
	if result.Success {
		row.Text = passedText(m)
	} else {
		row.Mark = newMark("down", "Failing")
		row.Text = "Failed"
		if result.ErrorMessage != nil {
			row.Text = *result.ErrorMessage
		}
	}
	if ms, ok := timingsOf(result); ok {
		bar := newBar(ms, perMS, resultBar)
		row.Bar = &bar
	}
	return row
}

// passedText says what a result that passed found.
func passedText(m map[string]any) string {
	var words []string
	if failed := len(failedAttempts(m)); failed > 0 {
		words = append(words, fmt.Sprintf("attempt %d", failed+1))
	}
	for _, name := range []string{"tls_version", "protocol", "rcode", "ip"} {
		if text, _ := m[name].(string); text != "" {
			words = append(words, text)
		}
	}
	if rate, ok := m["mbps"].(float64); ok {
		words = append([]string{fmt.Sprintf("%.1f Mbit/s", rate)}, words...)
	}
	if sent, ok := m["packets_sent"].(float64); ok {
		received, _ := m["packets_received"].(float64)
		words = append([]string{fmt.Sprintf("%d of %d packets", int(received), int(sent))}, words...)
	}
	if steps, ok := m["steps"].([]any); ok {
		words = append(words, counted(int64(len(steps)), "step"))
	}
	if len(words) == 0 {
		return "Passed"
	}
	return strings.Join(words, " · ")
}

// moreResults answers with the next rows of the table.
func (r *request) moreResults(id uuid.UUID, v resultView) error {
	got, err := r.api.ListResultsWithResponse(r.Context(), id, v.params())
	if err != nil {
		return err
	}
	t := resultTable{Rows: r.resultRows(got.JSON200.Data)}
	if next := got.JSON200.Meta.NextCursor; next != nil {
		t.More = moreLink("/app/checks/"+id.String(), v, *next)
	}
	return r.renderPart(http.StatusOK, "check", "results", t)
}
