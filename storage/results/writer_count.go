// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// countAside counts the results that were stored aside, until ctx ends.
func (w *ResultWriter) countAside(ctx context.Context) {
	tick := time.NewTicker(countPause)
	defer tick.Stop()
	for ticks := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if ticks++; !w.uncounted.Load() && ticks < int(countLook/countPause) {
			continue
		}
		ticks = 0
		w.uncounted.Store(false) // a row that comes now is looked for in the next turn
		left, err := w.store.CountResults(ctx)
		if left {
			w.uncounted.Store(true)
		}
		if err != nil && ctx.Err() == nil {
			w.log.WarnContext(ctx, "stored results are not in the figures of their checks yet, retrying", "error", err)
		}
	}
}

// CountResults brings the rows, rollups and gaps of loops up to date with results that were
// stored while these were locked, or by a process that ended then, and reports whether it left some because they still are.
func (s *Store) CountResults(ctx context.Context) (left bool, err error) {
	err = s.homes.each(ctx, func(h *home) error {
		more, err := s.countIn(ctx, h)
		left = left || more
		return err
	})
	return left, err
}

// noteAge is how old a note of a result is, in a database of results, that no other writer is about to forget.
const noteAge = 10 * time.Second

func (s *Store) countIn(ctx context.Context, h *home) (left bool, err error) {
	if waiting, err := pg.Any(ctx, h, "uncounted_results"); err != nil || !waiting {
		return false, err
	}
	old := "true"
	if h.own {
		old = fmt.Sprintf("stored_at < clock_timestamp() - interval '%d seconds'", int(noteAge.Seconds()))
	}
	rows, err := h.Pool.Query(ctx, `SELECT check_id, region FROM (SELECT DISTINCT check_id, region FROM uncounted_results WHERE `+old+`) AS u
		ORDER BY random() LIMIT $1`, h.Prepared(), countLimit)
	if err != nil {
		return true, pg.Wrap("find uncounted results", err)
	}
	keys, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (key loopKey, err error) {
		return key, row.Scan(&key.check, &key.region)
	})
	if err != nil {
		return true, pg.Wrap("find uncounted results", err)
	}
	if keys, err = s.forgetRemoved(ctx, h, keys); err != nil {
		return true, pg.Wrap("forget results that are removed", err)
	}
	counted := 0
	for _, key := range keys { // one by one: the rollups of one may be locked
		n, one := s.countLoops(ctx, h, []loopKey{key})
		if counted += n; one != nil && !inConflict(one) {
			return true, pg.Wrap("count results", one)
		}
	}
	return counted < len(keys) || len(keys) == countLimit, nil
}

// forgetRemoved deletes the notes of loops that are no more, and of results that are not stored any more, and returns the keys of
// the others.
func (s *Store) forgetRemoved(ctx context.Context, h *home, keys []loopKey) ([]loopKey, error) {
	checks, regions := keyColumns(keys)
	found, err := s.db.Probing.Query(ctx, `SELECT r.check_id, r.region FROM check_regions AS r
		JOIN unnest($1::uuid[], $2::text[]) AS k (check_id, region) ON r.check_id = k.check_id AND r.region = k.region`, checks, regions)
	if err != nil {
		return nil, err
	}
	there, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (key loopKey, err error) {
		return key, row.Scan(&key.check, &key.region)
	})
	if err != nil {
		return nil, err
	}
	removed := slices.DeleteFunc(slices.Clone(keys), func(key loopKey) bool { return slices.Contains(there, key) })
	checks, regions = keyColumns(removed)
	_, err = h.Probing.Exec(ctx, `DELETE FROM uncounted_results AS u USING unnest($1::uuid[], $2::text[]) AS k (check_id, region)
		WHERE u.check_id = k.check_id AND u.region = k.region`, checks, regions)
	if err != nil {
		return nil, err
	}
	_, err = h.Probing.Exec(ctx, `DELETE FROM uncounted_results AS u
		WHERE NOT EXISTS (SELECT FROM results AS r WHERE r.check_id = u.check_id AND r.region = u.region AND r.slot = u.slot)`)
	return there, err
}

// countLoops counts the uncounted results of loops that are not locked, and returns how many
// loops these are.
func (s *Store) countLoops(ctx context.Context, h *home, keys []loopKey) (int, error) {
	g, end, err := s.newGroup(ctx, h, nil)
	if err != nil {
		return 0, err
	}
	defer end()
	if err := g.count(ctx, keys); err != nil {
		return 0, err
	}
	return len(g.loops), nil
}

// count takes the same steps as the transaction of a group, with rows that are stored already.
// In a database of results the rollups count them.
func (g *groupTx) count(ctx context.Context, keys []loopKey) error {
	checks, regions := keyColumns(keys)
	if err := g.lockUncounted(ctx, checks, regions); err != nil {
		return fmt.Errorf("lock loops with uncounted results: %w", err)
	}
	from := g.conn
	if g.apart != nil {
		from = g.apart
	}
	if err := g.readUncounted(ctx, from, checks, regions); err != nil {
		err = fmt.Errorf("read uncounted results: %w", err)
		if g.apart != nil {
			return awayUnless(ctx, err)
		}
		return err
	}
	if g.apart == nil {
		batch := &pgx.Batch{}
		g.queueRollups(batch)
		if err := g.conn.SendBatch(ctx, batch).Close(); err != nil {
			return fmt.Errorf("read rollups: %w", err)
		}
	}
	for _, step := range []func(context.Context) error{g.readPauses, g.fillGaps} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if g.apart == nil {
		g.addToRollups(g.writes)
	}
	g.storeProgress()
	g.noteLate()
	if g.apart != nil {
		return awayUnless(ctx, g.endCount(ctx))
	}
	// Others may have been stored aside since these were read: the lock of a loop does not keep them out.
	c := newColumns(g.rows)
	g.writes.Queue(forgetNotes, c.checks, c.regions, c.slots)
	g.writes.Queue("COMMIT")
	if err := g.conn.SendBatch(ctx, g.writes).Close(); err != nil {
		return fmt.Errorf("count results and commit: %w", err)
	}
	return nil
}

// lockUncounted begins the transaction and locks those of the loops that are not locked.
func (g *groupTx) lockUncounted(ctx context.Context, checks [][16]byte, regions []string) error {
	batch := g.begin()
	g.loops, g.inserted = make(map[loopKey]*loopProgress, len(checks)), make(map[slotKey]bool)
	batch.Queue("SELECT "+progressColumns+`, NULL::timestamptz[], false
		FROM check_regions AS r JOIN unnest($1::uuid[], $2::text[]) AS k (check_id, region)
			ON r.check_id = k.check_id AND r.region = k.region
		ORDER BY r.check_id, r.region FOR UPDATE OF r SKIP LOCKED`, checks, regions).Query(g.scanInserted)
	return g.conn.SendBatch(ctx, batch).Close()
}

// readUncounted reads the uncounted results of the loops that are locked as the rows of the
// group. It sees what was committed before the lock.
func (g *groupTx) readUncounted(ctx context.Context, from *pgx.Conn, checks [][16]byte, regions []string) error {
	found, err := from.Query(ctx, `
		SELECT u.check_id, u.region, u.slot, u.worker, u.owned, u.deadline_ms, u.turn_slots, u.turn_run, u.turn_activity, u.turn_ends,
			r.time, r.manual, r.success, r.response_time_ms, r.excluded <> 0, r.metadata, r.late
		FROM unnest($1::uuid[], $2::text[]) AS k (check_id, region)
			JOIN uncounted_results AS u ON u.check_id = k.check_id AND u.region = k.region
			JOIN results AS r ON r.check_id = u.check_id AND r.region = u.region AND r.slot = u.slot
		ORDER BY u.check_id, u.region, u.slot`, checks, regions)
	if err != nil {
		return err
	}
	rows, err := pgx.CollectRows(found, scanUncounted)
	if err != nil {
		return err
	}
	g.rows = slices.DeleteFunc(rows, func(p *pendingRow) bool { return g.loops[p.key()] == nil })
	for _, p := range g.rows {
		g.inserted[p.slotKey()] = true
	}
	return nil
}

func scanUncounted(row pgx.CollectableRow) (*pendingRow, error) {
	var p pendingRow
	var deadlineMS int64
	var turnSlots int32
	var run *uuid.UUID
	var activity *string
	var ends *time.Time
	var ms float64
	r := &p.result
	err := row.Scan(&r.CheckID, &r.Region, &r.Slot, &p.worker, &p.owned, &deadlineMS, &turnSlots, &run, &activity, &ends,
		&r.Time, &r.Manual, &r.Success, &ms, &p.excluded, &r.Metadata, &p.late)
	r.Slot, r.Time, r.ResponseTime = r.Slot.UTC(), r.Time.UTC(), ResponseTime(ms)
	p.deadline, p.slots = pg.FromMilliseconds(deadlineMS), int(turnSlots)
	if run != nil && activity != nil && ends != nil {
		p.turn = &vigil.TurnActivity{RunID: *run, ActivityID: *activity, Ends: *ends}
	}
	return &p, err
}

func keyColumns(keys []loopKey) (checks [][16]byte, regions []string) {
	for _, key := range keys {
		checks, regions = append(checks, key.check), append(regions, key.region)
	}
	return checks, regions
}
