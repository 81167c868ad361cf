// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// This file stores results without the lock of their loop, which somebody else's transaction may
// hold for minutes. The result itself and a note that nothing counts it yet are all that is
// written; the row of the loop, its rollups and its gaps follow when their locks are free.

const (
	// asideAfter is how long a row waits for locks before it is stored without them. Other
	// writers and edits have them for some milliseconds.
	asideAfter = 100 * time.Millisecond
	// A process that has stored rows aside looks every countPause whether they can be counted,
	// and every countLook whether a process that is gone has left some.
	countPause = 500 * time.Millisecond
	countLook  = 30 * time.Second
	// countLimit is how many loops are counted together.
	countLimit = 256
)

// errUncounted is the error of a group with loops that have uncounted results: they are
// counted first.
var errUncounted = errors.New("a loop has results that are not counted yet")

// rowsToNote are the rows (n) that are inserted with a note each, and what their notes say; see columns and turnColumns.
const rowsToNote = `n AS MATERIALIZED (
		SELECT * FROM unnest(@checks::uuid[], @regions::text[], @slots::timestamptz[], @ids::uuid[], @times::timestamptz[],
				@manual::bool[], @success::bool[], @response_times::float8[], @status_codes::int4[], @errors::text[], @metadata::text[],
				@workers::text[], @excluded::int2[], @evidence::text[], @late::bool[], @owned::bool[], @deadlines_ms::int8[], @turn_slots::int4[],
				@turn_runs::uuid[], @turn_activities::text[], @turn_ends::timestamptz[])
			AS n (check_id, region, slot, id, time, manual, success, response_time_ms, status_code, error_message, metadata, worker,
				excluded, evidence, late, owned, deadline_ms, turn_slots, turn_run, turn_activity, turn_ends)
	)`

// insertAside inserts rows, at most one of each loop, by the rule of insertSQL. Uncounted results
// are newer than what the row of the loop says.
const insertAside = `
	WITH ` + rowsToNote + `, l AS MATERIALIZED (
		SELECT r.check_id, r.region, coalesce(u.worker, r.worker) AS worker, greatest(r.last_slot, u.slot) AS newest,
			r.active, r.counted_until, r.last_slot
		FROM n JOIN check_regions AS r ON r.check_id = n.check_id AND r.region = n.region
			LEFT JOIN LATERAL (
				SELECT u.slot, u.worker FROM uncounted_results AS u
				WHERE u.check_id = n.check_id AND u.region = n.region ORDER BY u.slot DESC LIMIT 1
			) AS u ON true
	), i AS (
		` + insertResults + `
			AND (n.manual OR n.late OR l.worker IN ('', n.worker) OR l.newest IS NULL OR n.slot >= l.newest)
			AND ` + notThere + `
		ON CONFLICT (check_id, region, slot) DO NOTHING
		RETURNING check_id, region, slot
	), u AS (
		INSERT INTO uncounted_results (check_id, region, slot, worker, owned, deadline_ms, turn_slots, turn_run, turn_activity, turn_ends)
		SELECT n.check_id, n.region, n.slot, n.worker, n.owned, n.deadline_ms, n.turn_slots, n.turn_run, n.turn_activity, n.turn_ends
		FROM n JOIN i ON i.check_id = n.check_id AND i.region = n.region
	)
	SELECT l.check_id, l.region, l.worker, l.newest, i.slot IS NOT NULL
	FROM l LEFT JOIN i ON i.check_id = l.check_id AND i.region = l.region`

// commitAside stores rows, at most one of each loop and all of one database, without the locks of their loops, and
// returns the outcome of each.
func (s *Store) commitAside(ctx context.Context, rows []*pendingRow) ([]outcome, error) {
	outcomes, _, err := s.inPlace(ctx, rows, s.commitAsideIn)
	return outcomes, err
}

func (s *Store) commitAsideIn(ctx context.Context, h *home, rows []*pendingRow, away bool) ([]outcome, error) {
	g, end, err := s.newGroup(ctx, h, slices.Clone(rows))
	if err != nil {
		return nil, err
	}
	defer end()
	g.away = away
	g.loops, g.inserted = make(map[loopKey]*loopProgress, len(rows)), make(map[slotKey]bool, len(rows))
	store := g.storeAside
	if h.own {
		store = g.storeAsideApart
	}
	if err := store(ctx); err != nil {
		return nil, err
	}
	return g.outcomes(rows), nil
}

func (g *groupTx) storeAside(ctx context.Context) error {
	c, n := newColumns(g.rows), newTurnColumns(g.rows)
	batch := g.begin()
	named := c.named()
	n.addTo(named)
	named["away"] = g.away
	batch.Queue(insertAside, named).Query(g.scanAside)
	batch.Queue("COMMIT")
	if err := g.conn.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("insert results aside: %w", err)
	}
	return g.readExisting(ctx)
}

// scanAside reads what insertAside knows of each loop: its worker, its newest result, and whether the row
// was inserted.
func (g *groupTx) scanAside(found pgx.Rows) error {
	byLoop := make(map[loopKey]*pendingRow, len(g.rows))
	for _, p := range g.rows {
		byLoop[p.key()] = p
	}
	var l loopProgress
	var inserted bool
	_, err := pgx.ForEachRow(found, []any{&l.check, &l.region, &l.worker, &l.lastSlot, &inserted}, func() error {
		loop := l
		p := byLoop[loop.key()]
		p.previous, p.missed = pg.ZeroIfNil(loop.lastSlot), 0
		p.moved = p.owned && loop.worker != "" && loop.worker != p.worker
		g.loops[loop.key()] = &loop
		if inserted {
			g.inserted[p.slotKey()] = true
		}
		l.lastSlot = nil
		return nil
	})
	return err
}

// turnColumns are what the row of a loop takes over from a result.
type turnColumns struct {
	owned      []bool
	deadlines  []int64
	slots      []int32
	runs       []*[16]byte
	activities []*string
	ends       []*time.Time
}

func newTurnColumns(rows []*pendingRow) turnColumns {
	var c turnColumns
	for _, p := range rows {
		turn := openTurnOf(p.turn)
		c.owned, c.deadlines = append(c.owned, p.owned), append(c.deadlines, pg.Milliseconds(p.deadline))
		c.slots = append(c.slots, int32(min(max(0, p.slots), math.MaxInt32)))
		c.runs, c.activities, c.ends = append(c.runs, turn.run), append(c.activities, turn.activity), append(c.ends, turn.ends)
	}
	return c
}

// addTo adds the columns to the arguments of a statement.
func (c *turnColumns) addTo(named pg.Named) {
	named["owned"], named["deadlines_ms"], named["turn_slots"] = c.owned, c.deadlines, c.slots
	named["turn_runs"], named["turn_activities"], named["turn_ends"] = c.runs, c.activities, c.ends
}

// storeAside stores those of the rows aside that wait for locks for too long, and returns the
// others. The rows are of loops that another transaction has locked.
func (a *attempt) storeAside(ctx context.Context, w *ResultWriter, rows []*pendingRow) (left []*pendingRow) {
	now := time.Now() //nolint:forbidigo // as the dispatcher's clock
	first := make(map[loopKey]bool)
	var aside []*pendingRow
	for _, p := range rows {
		if first[p.key()] || now.Sub(p.came) < asideAfter {
			left = append(left, p)
			continue
		}
		first[p.key()] = true
		aside = append(aside, p)
	}
	if len(aside) == 0 {
		return rows
	}
	bounded, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	began := w.now()
	outcomes, err := w.store.commitAside(bounded, aside)
	if err != nil {
		w.log.WarnContext(ctx, "results of locked loops not stored, retrying", "rows", len(aside), "error", err)
		return rows
	}
	for i, p := range aside {
		p.complete(outcomes[i].stored, outcomes[i].err)
	}
	w.uncounted.Store(true)
	if w.committed != nil {
		w.committed(ctx, len(aside), w.now().Sub(began))
	}
	return left
}
