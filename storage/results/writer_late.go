// SPDX-License-Identifier: Apache-2.0

package results

import (
	"time"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// noteLate notes which slots late results have filled, so that they are looked through once no more come.
func (g *groupTx) noteLate() {
	var checks [][16]byte
	var regions []string
	var first, last []time.Time
	for i, p := range g.rows { // sorted by loop and slot
		if !p.late || !g.inserted[p.slotKey()] {
			continue
		}
		if n := len(checks); n > 0 && i > 0 && checks[n-1] == p.result.CheckID && regions[n-1] == p.result.Region {
			last[n-1] = p.result.Slot
			continue
		}
		checks, regions = append(checks, p.result.CheckID), append(regions, p.result.Region)
		first, last = append(first, p.result.Slot), append(last, p.result.Slot)
	}
	if len(checks) == 0 {
		return
	}
	g.writes.Queue(`INSERT INTO late_spans AS old (check_id, region, from_slot, to_slot)
		SELECT * FROM unnest(@checks::uuid[], @regions::text[], @first::timestamptz[], @last::timestamptz[])
		ON CONFLICT (check_id, region) DO UPDATE SET from_slot = least(old.from_slot, excluded.from_slot),
			to_slot = greatest(old.to_slot, excluded.to_slot), changed_at = excluded.changed_at`,
		pg.Named{"checks": checks, "regions": regions, "first": first, "last": last})
}
