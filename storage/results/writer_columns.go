// SPDX-License-Identifier: Apache-2.0

package results

import (
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// columns are the rows of a group as one array for each column.
type columns struct {
	checks, ids     [][16]byte
	regions         []string
	slots, times    []time.Time
	manual, success []bool
	responses       []float64
	statuses        []*int
	errors          []*string
	metadata        []*string
	evidence        []*string
	workers         []string
	excluded        []int16
	late            []bool
}

func newColumns(rows []*pendingRow) columns {
	var c columns
	for _, p := range rows {
		r := &p.result
		c.checks, c.regions, c.slots = append(c.checks, r.CheckID), append(c.regions, r.Region), append(c.slots, r.Slot)
		c.ids, c.times = append(c.ids, r.ID), append(c.times, r.Time)
		c.manual, c.success = append(c.manual, r.Manual), append(c.success, r.Success)
		c.responses = append(c.responses, ResponseMS(r.ResponseTime))
		c.statuses, c.errors = append(c.statuses, vigil.NilIfZero(r.StatusCode)), append(c.errors, vigil.NilIfZero(r.Error))
		c.metadata, c.workers = append(c.metadata, vigil.NilIfZero(string(p.metadata))), append(c.workers, p.worker)
		c.evidence = append(c.evidence, vigil.NilIfZero(string(p.evidence)))
		c.excluded, c.late = append(c.excluded, excludedColumn(p.excluded)), append(c.late, p.late)
	}
	return c
}

// named returns the arrays by the names that insertSQL and insertAside have for them.
func (c *columns) named() pg.Named {
	return pg.Named{
		"checks": c.checks, "regions": c.regions, "slots": c.slots, "ids": c.ids, "times": c.times, "manual": c.manual,
		"success": c.success, "response_times": c.responses, "status_codes": c.statuses, "errors": c.errors,
		"metadata": c.metadata, "workers": c.workers, "excluded": c.excluded, "evidence": c.evidence, "late": c.late,
	}
}
