// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// chart is the response time of a check by region, or its rate: data for the script, and the same as
// text and as a table for everything else.
type chart struct {
	Title      string
	Unit       unit
	Error      string // why there is none
	Data       string // JSON of chartData; empty without a value
	Label      string
	Lines      []chartLine
	More       *link // to other lines
	Statistics []choice
	Zoomed     string // the time that is shown, in words; empty for a period that ends now
	Reset      string // address of the period
	Notes      []string
	Incidents  []chartIncident
	Table      chartTable
}

// chartLine is the newest value of a line.
type chartLine struct {
	N      int // of its colour
	Dashed bool
	Name   string
	Value  string // with its unit
}

// chartIncident is an incident in the time of the chart.
type chartIncident struct {
	State       string // of its mark
	Href, Title string
	From        stamp
	Length      string
}

// chartData is what the script draws. Times are seconds since 1970.
type chartData struct {
	Start int64        `json:"start"`
	End   int64        `json:"end"`
	Step  int64        `json:"step"`
	Lines []chartValue `json:"lines"`
	// Bands are the times of incidents with their pages, Pauses those of maintenance.
	Bands  []chartBand `json:"bands"`
	Pauses [][2]int64  `json:"pauses"`
	Rule   int64       `json:"rule"` // the response time of a rule; 0 for none
	Unit   unit        `json:"unit"`
	Zone   string      `json:"zone"`
	Reset  string      `json:"reset,omitempty"` // where the whole period is; empty when it is shown
}

type chartValue struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"`
	// Failed has each step with a failure: its number, how many results failed, and how many there are.
	Failed [][3]int64 `json:"failed"`
}

type chartBand struct {
	From int64  `json:"from"`
	To   int64  `json:"to"`
	Href string `json:"href"`
	Text string `json:"text"`
}

// linesShown is how many regions have a line each; of more, the slowest ones do, beside the mean of all.
const (
	linesShown  = 6
	worstShown  = 3
	linesColour = 3
)

// lines that are shown of many regions, by the parameter of the page.
const everyLine = "all"

// seriesParams asks for the time and the statistic of a view.
func (r *request) seriesParams(v *resultView) *client.GetSeriesParams {
	params := &client.GetSeriesParams{Statistic: new(client.GetSeriesParamsStatistic(v.Statistic))}
	if v.From == "" && v.To == "" {
		params.Period = new(client.GetSeriesParamsPeriod(v.Period))
		return params
	}
	params.Timezone = new(r.prefs.Zone.String())
	if v.From != "" {
		params.From = &v.From
	}
	if v.To != "" {
		params.To = &v.To
	}
	return params
}

// keepSeries keeps the answer, or what is wrong with the time that was asked for.
func (d *checkData) keepSeries(got *client.GetSeriesResponse, err error) error {
	if known, ok := errors.AsType[*APIError](err); ok && known.Status == http.StatusBadRequest {
		d.seriesError = known.Message
		return nil
	}
	return keep(err, func() { d.series = got.JSON200.Data })
}

func (r *request) newChart(d *checkData, v *resultView, path string) *chart {
	c := &chart{
		Title: chartTitle(string(d.check.Type)), Unit: inMS,
		Reset: v.with(path, func(v *resultView) { v.From, v.To, v.Table = "", "", false }),
	}
	for _, one := range [][2]string{{"mean", "Mean"}, {"p50", "p50"}, {"p95", "p95"}} {
		c.Statistics = append(c.Statistics, choice{
			Text: one[1], Chosen: v.Statistic == one[0], Href: v.with(path, func(v *resultView) { v.Statistic = one[0] }),
		})
	}
	if d.seriesError != "" {
		c.Error, c.Zoomed = d.seriesError, "no time"
		return c
	}
	series := &d.series
	if rated(series) {
		c.Title, c.Unit = "Throughput", inMbps
	}
	if series.Period == client.SeriesPeriodCustom {
		c.Zoomed = r.spanText(series.Start, series.End)
	}
	lines := r.chartLines(c, series, v, path)
	data := chartData{
		Start: series.Start.Unix(), End: series.End.Unix(), Step: series.StepSeconds, Zone: r.prefs.Zone.String(), Unit: c.Unit,
		Bands: []chartBand{}, Pauses: [][2]int64{}, Lines: []chartValue{},
	}
	if c.Zoomed != "" {
		data.Reset = c.Reset
	}
	if d.summary.SlowerThanMs != nil && c.Unit == inMS {
		data.Rule = *d.summary.SlowerThanMs
	}
	known := false
	for n, line := range lines {
		value := chartValue{Name: line.name, Values: drawn(line.values), Failed: [][3]int64{}}
		for i, failed := range line.failures {
			if failed > 0 {
				value.Failed = append(value.Failed, [3]int64{int64(i), failed, line.results[i]})
				known = true
			}
		}
		last := chartLine{N: n%linesColour + 1, Dashed: n >= linesColour, Name: line.name, Value: "no data"}
		if value := line.newest(); value != nil {
			last.Value, known = c.Unit.text(*value)+" "+string(c.Unit), true
		}
		c.Lines, data.Lines = append(c.Lines, last), append(data.Lines, value)
	}
	for _, pause := range series.Maintenance {
		data.Pauses = append(data.Pauses, [2]int64{pause.From.Unix(), pause.To.Unix()})
	}
	c.Notes = r.chartNotes(d)
	data.Bands = r.chartIncidents(c, d)
	if !known {
		return c
	}
	c.Table = r.chartTable(c.Unit, series, lines, v, path)
	text, err := json.Marshal(data)
	if err != nil {
		return c
	}
	c.Data = string(text)
	c.Label = fmt.Sprintf("%s, %s, %s.", c.Title, statisticText(v.Statistic), cmp.Or(c.Zoomed, "the last "+v.Period))
	for _, last := range c.Lines {
		c.Label += " " + last.Name + ": " + last.Value + "."
	}
	return c
}

// chartTitle names what is drawn of a type of checks.
func chartTitle(kind string) string {
	switch kind {
	case kindHeartbeat:
		return "Run time"
	case "ping":
		return "Round trip"
	case kindThroughput:
		return "Transfer time"
	}
	return "Response time"
}

func statisticText(name string) string {
	if name == "mean" {
		return "mean by region"
	}
	return name + " by region"
}

// spanText words a time: 21 Nov, 11:58 to 12:04.
func (r *request) spanText(from, to time.Time) string {
	a, b := from.In(r.prefs.Zone), to.In(r.prefs.Zone)
	layout, end := "2 Jan, 15:04", "15:04"
	if a.Year() != r.now.In(r.prefs.Zone).Year() {
		layout = "2 Jan 2006, 15:04"
	}
	if a.Format(time.DateOnly) != b.Format(time.DateOnly) {
		end = layout
	}
	if to.Sub(from) < 10*time.Minute {
		layout, end = layout+":05", end+":05"
	}
	return a.Format(layout) + " to " + b.Format(end)
}

// drawnLine is a line of the chart: a region, or all of them.
type drawnLine struct {
	name              string
	values            []*float64
	results, failures []int64
}

func (l *drawnLine) newest() *float64 {
	for i := len(l.values) - 1; i >= 0; i-- {
		if l.values[i] != nil {
			return l.values[i]
		}
	}
	return nil
}

// level is the mean of the steps of a region; 0 without a value.
func (l *drawnLine) level() float64 {
	sum, n := 0.0, 0
	for _, ms := range l.values {
		if ms != nil {
			sum, n = sum+*ms, n+1
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// chartLines are the lines of the regions; of many, those of the slowest ones beside the mean of all.
func (r *request) chartLines(c *chart, series *client.Series, v *resultView, path string) []drawnLine {
	var lines []drawnLine
	for i := range series.Regions {
		one := &series.Regions[i]
		values := one.ResponseTimeMs
		if c.Unit == inMbps {
			values = *one.Mbps
		}
		lines = append(lines, drawnLine{r.city(one.Region), values, one.Results, one.Failures})
	}
	if len(lines) <= linesShown {
		return lines
	}
	if v.Lines == everyLine {
		c.More = &link{Text: "Show the slowest 3", Href: v.with(path, func(v *resultView) { v.Lines = "" })}
		return lines
	}
	c.More = &link{
		Text: "Show all " + counted(int64(len(lines)), "region"), Href: v.with(path, func(v *resultView) { v.Lines = everyLine }),
	}
	all := meanOf(lines)
	slices.SortStableFunc(lines, func(a, b drawnLine) int { return c.Unit.slower(a.level(), b.level()) })
	return append(lines[:worstShown:worstShown], all)
}

// meanOf is the mean of regions, by how many of their results succeeded.
func meanOf(lines []drawnLine) drawnLine {
	n := len(lines[0].values)
	all := drawnLine{"All " + counted(int64(len(lines)), "region"), make([]*float64, n), make([]int64, n), make([]int64, n)}
	for i := range n {
		sum, passed := 0.0, 0.0
		for k := range lines {
			all.results[i] += lines[k].results[i]
			all.failures[i] += lines[k].failures[i]
			if ms := lines[k].values[i]; ms != nil {
				good := float64(lines[k].results[i] - lines[k].failures[i])
				sum, passed = sum+*ms*good, passed+good
			}
		}
		if passed > 0 {
			all.values[i] = new(sum / passed)
		}
	}
	return all
}

// chartNotes say what the chart cannot show.
func (r *request) chartNotes(d *checkData) []string {
	var notes []string
	series := &d.series
	if from := series.KeptFrom; from != nil && from.After(series.Start) && d.check.CreatedAt.Before(from.Add(-time.Hour)) {
		notes = append(notes, "Nothing is kept from before "+r.stampAs(*from, "2 Jan, 15:04").Text+
			": nothing was measured, or it is past its retention.")
	}
	if series.Resolution == client.SeriesResolutionHour && series.End.Sub(series.Start) < time.Duration(hoursOnly)*time.Hour {
		notes = append(notes, "Single results of this time are past their retention: whole hours are shown.")
	}
	if string(d.check.Type) == kindThroughput && series.Resolution == client.SeriesResolutionHour {
		notes = append(notes, "Of whole hours the time of the transfers is kept, and not their rate.")
	}
	if len(series.Maintenance) > 0 {
		notes = append(notes, "Shaded: maintenance.")
	}
	return notes
}

// hoursOnly is the length in hours from which on a chart is made of hours anyway.
const hoursOnly = 150

// chartIncidents are the incidents in the time of the chart, newest first, and their bands.
func (r *request) chartIncidents(c *chart, d *checkData) []chartBand {
	bands := []chartBand{}
	for i := range d.incidents {
		incident := &d.incidents[i]
		end, length, state := r.now, "open", "down"
		if at := incident.ResolvedAt; at != nil {
			end, state, length = *at, "done", spanExact(at.Sub(incident.StartedAt).Round(time.Second))
		}
		if end.Before(d.series.Start) || incident.StartedAt.After(d.series.End) {
			continue
		}
		href := "/app/incidents/" + incident.Id.String()
		from, to := max(d.series.Start.Unix(), incident.StartedAt.Unix()), min(d.series.End.Unix(), end.Unix())
		bands = append(bands, chartBand{From: from, To: to, Href: href, Text: incident.Title})
		c.Incidents = append(c.Incidents, chartIncident{
			State: state, Href: href, Title: incident.Title, From: r.stampAs(incident.StartedAt, "15:04"), Length: length,
		})
	}
	return bands
}
