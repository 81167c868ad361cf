// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vigil-monitor/vigil/client"
)

// chart is the response time of a check by region: data for the script, and the same as
// text and as a table for everything else.
type chart struct {
	Data   string // JSON of chartData
	Label  string
	Last   []chartLast
	Heads  []string
	Rows   []chartRow
	Period string
}

type chartLast struct {
	N    int // of its colour
	Name string
	MS   string
}

type chartRow struct {
	Time  stamp
	Cells []string
}

// chartData is what the script draws. Times are seconds since 1970.
type chartData struct {
	Times  []int64      `json:"times"`
	Names  []string     `json:"names"`
	Values [][]*float64 `json:"values"`
	// Bands are the times of incidents, Rule the response time of a rule; 0 for none.
	Bands [][2]int64 `json:"bands"`
	Rule  int64      `json:"rule"`
	Zone  string     `json:"zone"`
	Step  int64      `json:"step"`
}

// tableRows bounds the table of a chart.
const tableRows = 24

// seriesShown is how many regions have a line each; of more, the slowest ones do.
const seriesShown = 6

func (r *request) newChart(d *checkData, v resultView) *chart {
	series := d.series
	data := chartData{Zone: r.prefs.Zone.String(), Step: series.StepSeconds, Bands: [][2]int64{}}
	steps := 0
	if len(series.Regions) > 0 {
		steps = len(series.Regions[0].Results)
	}
	start := series.Start.Unix()
	for i := range steps {
		data.Times = append(data.Times, start+int64(i)*series.StepSeconds)
	}
	c := &chart{Period: v.Period}
	regions := slices.Clone(series.Regions)
	latest := func(region *client.RegionSeries) *float64 {
		for i := len(region.ResponseTimeMs) - 1; i >= 0; i-- {
			if ms := region.ResponseTimeMs[i]; ms != nil {
				return ms
			}
		}
		return nil
	}
	if len(regions) > seriesShown {
		slices.SortStableFunc(regions, func(a, b client.RegionSeries) int { return cmp.Compare(orZero(latest(&b)), orZero(latest(&a))) })
		regions = regions[:seriesShown]
	}
	known := false
	for i := range regions {
		region := &regions[i]
		name := r.city(region.Region)
		data.Names, data.Values = append(data.Names, name), append(data.Values, region.ResponseTimeMs)
		c.Heads = append(c.Heads, name)
		last := chartLast{N: i%3 + 1, Name: name, MS: "no data"}
		if ms := latest(region); ms != nil {
			last.MS, known = millis(*ms)+" ms", true
		}
		c.Last = append(c.Last, last)
	}
	if !known {
		return nil
	}
	if d.summary.SlowerThanMs != nil {
		data.Rule = *d.summary.SlowerThanMs
	}
	for i := range d.incidents {
		end := r.now.Unix()
		if at := d.incidents[i].ResolvedAt; at != nil {
			end = at.Unix()
		}
		if end > start {
			data.Bands = append(data.Bands, [2]int64{max(start, d.incidents[i].StartedAt.Unix()), end})
		}
	}
	r.chartTable(c, &series, regions)
	text, err := json.Marshal(data)
	if err != nil {
		return nil
	}
	c.Data = string(text)
	c.Label = fmt.Sprintf("Response time over %s by region.", v.Period)
	for _, last := range c.Last {
		c.Label += " " + last.Name + ": " + last.MS + "."
	}
	return c
}

// chartTable sums the steps up to rows, newest first.
func (r *request) chartTable(c *chart, series *client.Series, regions []client.RegionSeries) {
	steps := len(regions[0].Results)
	each := max(1, steps/tableRows)
	for end := steps; end > 0; end -= each {
		from := max(0, end-each)
		at := series.Start.Add(secondsOf(int64(from) * series.StepSeconds))
		row := chartRow{Time: r.stampAs(at, "15:04")}
		for i := range regions {
			sum, n, failed := 0.0, 0, int64(0)
			for k := from; k < end; k++ {
				failed += regions[i].Failures[k]
				if ms := regions[i].ResponseTimeMs[k]; ms != nil {
					sum, n = sum+*ms, n+1
				}
			}
			cell := "–"
			if n > 0 {
				cell = millis(sum / float64(n))
			}
			if failed > 0 {
				cell += ", " + number(failed) + " failed"
			}
			row.Cells = append(row.Cells, cell)
		}
		c.Rows = append(c.Rows, row)
	}
}

func orZero(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}
