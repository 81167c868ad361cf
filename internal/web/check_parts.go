// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// fullTarget says what a check probes, as the machine reads it.
func (r *request) fullTarget(c *client.Check) string {
	address, _ := c.Config["url"].(string)
	if address == "" {
		return r.targetOf(c)
	}
	method, _ := c.Config["method"].(string)
	if method == "" {
		method = "GET"
	}
	return method + " " + address
}

// checkFacts say what the check is, in one line.
func checkFacts(c *client.Check, recent []client.Result) []string {
	facts := []string{string(c.Type), "every " + spanExact(time.Duration(c.IntervalSeconds)*time.Second)}
	if string(c.Type) == kindHeartbeat {
		return facts
	}
	where := counted(int64(len(c.Regions)), "region")
	if len(c.Regions) > 1 {
		if c.SimultaneousRegions {
			where += " at the same instants"
		} else {
			where += " in turn"
		}
	}
	facts = append(facts, where)
	if again := retryFact(c); again != "" {
		facts = append(facts, again)
	}
	for i := range recent {
		if days, ok := metadataOf(&recent[i])["cert_days_remaining"].(float64); ok {
			return append(facts, "certificate "+counted(int64(days), "day"))
		}
	}
	return facts
}

// metadataOf reads the metadata of a result.
func metadataOf(result *client.Result) map[string]any {
	if result.Metadata == nil {
		return nil
	}
	raw, err := json.Marshal(result.Metadata)
	if err != nil {
		return nil
	}
	var m map[string]any
	_ = json.Unmarshal(raw, &m) // the API's own JSON
	return m
}

// phaseNames are the members of timings, in the order in which they happen.
func phaseNames() [][2]string {
	return [][2]string{{"dns_ms", "DNS"}, {"connect_ms", "Connect"}, {"tls_ms", "TLS"}, {"ttfb_ms", "Wait"}, {"transfer_ms", "Read"}}
}

// phaseBar is a bar of phases, 1 px apart.
type phaseBar struct {
	Name, Total string
	Label       string // for readers
	Width       int
	Parts       []phasePart
}

// phasePart is a phase in a bar: N of 5, and where it is.
type phasePart struct {
	N    int
	X, W string
}

// phases are the median phases of each region.
type phases struct {
	Bars  []phaseBar
	Names []string
	Rows  [][]string // the same as a table
}

func timingsOf(result *client.Result) ([5]float64, bool) {
	timings, ok := metadataOf(result)["timings"].(map[string]any)
	var ms [5]float64
	for i, name := range phaseNames() {
		ms[i], _ = timings[name[0]].(float64)
	}
	return ms, ok
}

// newBar draws phases; width is that of the whole scale.
func newBar(ms [5]float64, perMS float64, width int) phaseBar {
	bar := phaseBar{Width: width}
	x := 0.0
	var words []string
	for i, value := range ms {
		w := value * perMS
		if value <= 0 {
			continue
		}
		words = append(words, phaseNames()[i][1]+" "+millis(value)+" ms")
		w = max(w, 1)
		bar.Parts = append(bar.Parts, phasePart{N: i + 1, X: short1(x), W: short1(max(w-1, 0.8))})
		x += w
	}
	bar.Label = strings.Join(words, ", ")
	return bar
}

func short1(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

// newPhases are the medians of the newest results; nil for types without phases.
func (r *request) newPhases(recent []client.Result) *phases {
	values := make(map[string][][5]float64)
	for i := range recent {
		if ms, ok := timingsOf(&recent[i]); ok && recent[i].Success {
			values[recent[i].Region] = append(values[recent[i].Region], ms)
		}
	}
	if len(values) == 0 {
		return nil
	}
	p := &phases{}
	for _, name := range phaseNames() {
		p.Names = append(p.Names, name[1])
	}
	medians := make(map[string][5]float64)
	most := 1.0
	for region, list := range values {
		var median [5]float64
		total := 0.0
		for i := range median {
			column := make([]float64, len(list))
			for j := range list {
				column[j] = list[j][i]
			}
			slices.Sort(column)
			median[i] = column[len(column)/2]
			total += median[i]
		}
		medians[region] = median
		most = max(most, total)
	}
	const width = 300
	for _, region := range sortedKeys(medians) {
		median := medians[region]
		bar := newBar(median, width/most, width)
		total := 0.0
		row := []string{r.city(region)}
		for _, value := range median {
			total += value
			row = append(row, millis(value))
		}
		bar.Name, bar.Total = r.city(region), millis(total)+" ms"
		p.Bars, p.Rows = append(p.Bars, bar), append(p.Rows, row)
	}
	return p
}

// dayBars are the last 90 days, oldest first.
type dayBars struct {
	Width, Height    int
	Pass, Fail, Miss string
	Label            string
	Days             []dayBar
	First            string
	Kind             string
}

// dayBar is a day with its text, which arrow keys walk.
type dayBar struct{ Text string }

func newDayBars(days []client.UptimeDay, kind string) dayBars {
	const step, height = 11, 24
	b := dayBars{Width: len(days)*step - 2, Height: height, Kind: kind}
	var pass, fail, miss strings.Builder
	failed, known := 0, 0
	for i := range days {
		day := &days[len(days)-1-i]
		x := float64(i*step) + 4.5
		text := day.Date.Format("2 Jan") + ": "
		switch {
		case day.TotalChecks == 0:
			fmt.Fprintf(&miss, "M%g %dv-2", x, height)
			text += "no data"
		case day.FailedChecks > 0:
			known++
			failed++
			share := float64(day.FailedChecks) / float64(day.TotalChecks)
			hang := max(height/3, int(math.Round(share*height)))
			fmt.Fprintf(&fail, "M%g 0v%d", x, hang)
			if rest := height - hang - 2; rest > 0 && day.SuccessfulChecks > 0 {
				fmt.Fprintf(&pass, "M%g %dv-%d", x, height, rest)
			}
			text += percent(day.UptimePercentage) + " % up, " + counted(day.FailedChecks, "failure")
		default:
			known++
			fmt.Fprintf(&pass, "M%g %dv-%d", x, height, height)
			text += "100 % up"
		}
		b.Days = append(b.Days, dayBar{Text: text})
	}
	b.Pass, b.Fail, b.Miss = pass.String(), fail.String(), miss.String()
	b.Label = fmt.Sprintf("%d days with results, %d of them with failures", known, failed)
	if len(days) > 0 {
		b.First = days[len(days)-1].Date.Format("2 Jan")
	}
	return b
}

// loopTable are the regions of a check.
type loopTable struct {
	Path string
	Live bool // as the workflows say
	Rows []loopRow
}

type loopRow struct {
	Mark             mark
	City             string
	Key              string // empty where City says it
	Streak           string
	Failing          bool
	Up, P50, P95     string
	State            string
	Next             stamp
	Missed, Run      string
	Workflow, Source string
}

func (r *request) loopRows(loops []client.Loop, up client.Uptime) []loopRow {
	rows := make([]loopRow, len(loops))
	for i := range loops {
		loop := &loops[i]
		row := loopRow{
			City: r.city(loop.Region), Up: "–", P50: "–", P95: "–", State: string(loop.State), Missed: number(loop.Missed),
			Workflow: loop.WorkflowId,
		}
		if loop.Region != row.City && loop.Region != kindHeartbeat { // one word says it
			row.Key = loop.Region
		}
		switch {
		case loop.State == "stopped" || loop.State == "stopping":
			row.Mark = newMark("paused", "Paused")
		case loop.HealthStatus == "healthy":
			row.Mark, row.Streak = newMark("up", "Passing"), "passing"
		case loop.HealthStatus == "unhealthy":
			row.Mark, row.Streak, row.Failing = newMark("down", "Failing"), "failing", true
			if loop.Streak != nil && *loop.Streak > 0 {
				row.Streak = counted(*loop.Streak, "failure") + " in a row"
			}
		case loop.LastSlot != nil:
			row.Mark, row.Streak = newMark("unknown", noRecentResult), "no recent result"
		default:
			row.Mark, row.Streak = newMark("unknown", "No result yet"), "no result yet"
		}
		if loop.Source == "stored" && loop.State == "running" {
			row.Source = "stored"
		}
		if n, ok := up.ByRegion[loop.Region]; ok && n.TotalChecks > 0 {
			row.Up = percent(n.UptimePercentage)
			if n.SuccessfulChecks > 0 {
				row.P50, row.P95 = millis(n.P50ResponseTimeMs), millis(n.P95ResponseTimeMs)
			}
		}
		if loop.NextSlot != nil {
			row.Next = r.due(*loop.NextSlot)
		}
		if loop.RunUrl != nil {
			row.Run = *loop.RunUrl
		}
		rows[i] = row
	}
	return rows
}

// resultView is what the URL says of the results and the chart.
type resultView struct {
	Period, Region string
	Usual          string // period without a word about it
	From, To       string // of the chart, in the place of the period
	Statistic      string // of the chart
	Lines          string // of the chart: everyLine for all regions of many
	Table          bool   // all rows of the chart as a table
	Failing        bool
	Cursor         string
}

func readResultView(values url.Values) resultView {
	v := resultView{
		Period:    values.Get("period"),
		Region:    values.Get("region"),
		From:      strings.TrimSpace(values.Get("from")),
		To:        strings.TrimSpace(values.Get("to")),
		Statistic: values.Get("statistic"),
		Lines:     values.Get("lines"),
		Table:     values.Get("table") == everyLine,
		Failing:   values.Get("results") == "failing",
		Cursor:    values.Get("cursor"),
	}
	v.Usual = "24h"
	if !slices.Contains([]string{"1h", "24h", "7d", "30d", "90d"}, v.Period) {
		v.Period = v.Usual
	}
	if !slices.Contains([]string{"p50", "p95"}, v.Statistic) {
		v.Statistic = "mean"
	}
	return v
}

// youth is how long the chart of a new check shows an hour unless another period is chosen.
const youth = 2 * time.Hour

// grow makes the usual period that of the age of the check. asked: a period is in the URL.
func (v *resultView) grow(age time.Duration, asked bool) {
	if age >= youth {
		return
	}
	if v.Usual = "1h"; !asked {
		v.Period = v.Usual
	}
}

func (v *resultView) unfiltered() bool { return v.Region == "" && !v.Failing && v.Cursor == "" }

// zoomed reports whether the chart shows another time than a period.
func (v *resultView) zoomed() bool { return v.From != "" || v.To != "" }

func (v resultView) values() url.Values {
	values := url.Values{}
	set := func(name, value, usual string) {
		if value != usual {
			values.Set(name, value)
		}
	}
	set("period", v.Period, v.Usual)
	set("region", v.Region, "")
	set("from", v.From, "")
	set("to", v.To, "")
	set("statistic", v.Statistic, "mean")
	if v.Lines == everyLine {
		values.Set("lines", everyLine)
	}
	if v.Table {
		values.Set("table", everyLine)
	}
	if v.Failing {
		values.Set("results", "failing")
	}
	return values
}

func (v resultView) with(path string, change func(*resultView)) string {
	change(&v)
	if text := v.values().Encode(); text != "" {
		return path + "?" + text
	}
	return path
}

// waiting is shown until the first result is there.
func (r *request) waiting(d *checkData) *empty {
	var first time.Time
	for i := range d.loops {
		if next := d.loops[i].NextSlot; next != nil && (first.IsZero() || next.Before(first)) {
			first = *next
		}
	}
	e := &empty{Icon: "clock", Title: "Waiting for the first result", After: "This page shows it by itself."}
	if string(d.check.Type) == kindHeartbeat {
		e.Text = "It comes with the first ping of its job."
		return e
	}
	e.Text = "The loops in " + listed(r.cities(d.check.Regions)) + " have started."
	if wait := first.Sub(r.now); !first.IsZero() && wait > 0 {
		e.Due = r.due(first)
	}
	return e
}
