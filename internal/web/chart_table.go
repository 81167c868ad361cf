// SPDX-License-Identifier: Apache-2.0

package web

import "github.com/vigil-monitor/vigil/client"

// chartTable is the chart as a table, newest step first.
type chartTable struct {
	Open  bool
	Heads []string
	Rows  []chartRow
	More  *link // to all rows
}

// chartRow is a step, or several ones in a row without any result.
type chartRow struct {
	Time  stamp
	To    *stamp // the beginning of the last one of several steps
	Cells []string
}

// tableRows is how many rows of the table are there before more are asked for.
const tableRows = 24

const noResult = "no result"

func (r *request) chartTable(u unit, series *client.Series, lines []drawnLine, v *resultView, path string) chartTable {
	t := chartTable{Open: v.Table}
	for i := range lines {
		t.Heads = append(t.Heads, lines[i].name)
	}
	layout := "15:04"
	if series.StepSeconds < 60 {
		layout = "15:04:05"
	}
	begins := func(i int) stamp { return r.stampAs(series.Start.Add(secondsOf(int64(i)*series.StepSeconds)), layout) }
	before := false // the row before is a gap
	for i := len(lines[0].values) - 1; i >= 0; i-- {
		cells, gap := stepCells(u, series, lines, i)
		if gap && before {
			last := &t.Rows[len(t.Rows)-1]
			if last.To == nil {
				last.To = new(last.Time)
			}
			last.Time = begins(i)
			continue
		}
		t.Rows, before = append(t.Rows, chartRow{Time: begins(i), Cells: cells}), gap
	}
	if !v.Table && len(t.Rows) > tableRows {
		t.More = &link{Text: "Show all " + counted(int64(len(t.Rows)), "row"), Href: v.with(path, func(v *resultView) { v.Table = true })}
		t.Rows = t.Rows[:tableRows]
	}
	return t
}

// stepCells words a step of each line. gap: no line has a result, and it is not maintenance.
func stepCells(u unit, series *client.Series, lines []drawnLine, i int) (cells []string, gap bool) {
	from := series.Start.Add(secondsOf(int64(i) * series.StepSeconds))
	empty, paused := noResult, false
	for _, pause := range series.Maintenance {
		if pause.From.Before(from.Add(secondsOf(series.StepSeconds))) && pause.To.After(from) {
			empty, paused = "in maintenance", true
		}
	}
	gap = !paused
	for k := range lines {
		cell := empty
		if value := lines[k].values[i]; value != nil {
			cell = u.text(*value)
		}
		if failed := lines[k].failures[i]; failed > 0 {
			failures := number(failed) + " failed"
			if lines[k].values[i] != nil {
				failures = cell + ", " + failures
			}
			cell = failures
		}
		gap = gap && lines[k].results[i] == 0
		cells = append(cells, cell)
	}
	return cells, gap
}
