// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/loops"
)

// readPauses reads the maintenance that pauses probing, when a loop has slots without a
// result: these slots are not missed.
func (g *groupTx) readPauses(ctx context.Context) error {
	ids, from, to := g.checksWithGaps()
	if len(ids) == 0 {
		return nil
	}
	found, err := g.conn.Query(ctx, loops.PausedSpans+" WHERE c.id = ANY($3::uuid[])", from, to, ids)
	if err != nil {
		return fmt.Errorf("read pauses: %w", err)
	}
	byCheck, err := loops.CollectSpans(found)
	if err != nil {
		return err
	}
	for key, loop := range g.loops {
		loop.pauses = byCheck[key.check]
	}
	return nil
}

// checksWithGaps returns the checks of active loops that have slots without a result before
// one of the group, and the time in which these lie.
func (g *groupTx) checksWithGaps() (ids [][16]byte, from, to time.Time) {
	counted := make(map[loopKey]time.Time)
	for _, p := range g.rows {
		key, slot := p.key(), p.result.Slot
		loop := g.loops[key]
		until, known := counted[key]
		if !known {
			until = loop.countedUntil
		}
		if !g.inserted[p.slotKey()] || p.result.Manual || !loop.active || slot.Before(until) {
			continue
		}
		if loop.schedule.Count(until, slot) > 0 {
			ids = append(ids, key.check)
			if from.IsZero() {
				from = until
			}
			from, to = timing.Earlier(from, until), timing.Later(to, slot)
		}
		counted[key] = slot.Add(time.Microsecond)
	}
	return ids, from, to
}
