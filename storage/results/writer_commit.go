// SPDX-License-Identifier: Apache-2.0

package results

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// This file is the hot path: it uses pgx directly, without bun, so that a group is sent
// as binary arrays to prepared statements.

// loopKey is the key of a row of check_regions. The lock of that row guards the results,
// rollups and gaps of the loop: they are written only under it.
type loopKey struct {
	check  uuid.UUID
	region string
}

func (p *pendingRow) key() loopKey { return loopKey{p.result.CheckID, p.result.Region} }

func compareKeys(a, b loopKey) int {
	return cmp.Or(bytes.Compare(a.check[:], b.check[:]), strings.Compare(a.region, b.region))
}

// slotKey is the key of a result.
type slotKey struct {
	loop loopKey
	slot time.Time
}

func (p *pendingRow) slotKey() slotKey { return slotKey{p.key(), p.result.Slot} }

// groupTx is the state of the transaction that stores a group. It takes two round trips
// when nothing unusual is in the group: one begins, locks the loops, inserts the rows and
// reads rollups, and one writes what follows from them and commits.
type groupTx struct {
	conn     *pgx.Conn
	limits   string                    // the statement that sets the limits of the transaction; empty: the session has them
	at       *home                     // where the results are stored
	apart    *pgx.Conn                 // to that, where it is not the database of the loops
	away     bool                      // the results belong into another database, which is away
	rows     []*pendingRow             // sorted by loop and slot, one for each slot
	loops    map[loopKey]*loopProgress // of the loops that exist, locked
	skipped  map[loopKey]bool          // loops that another transaction has locked
	inserted map[slotKey]bool          // slots that had no result before
	existing map[slotKey]vigil.Result  // of the other slots
	sums     map[hourKey]*Rollup       // stored rollups of the hours of the rows
	writes   *pgx.Batch                // sent with the commit

	uncounted []loopKey // loops with results that were stored aside
}

// commit stores a group, whose results belong into one database, and returns the outcome of each row, in its order. While that
// database is away they are kept in that of the definitions, where readers find them, too.
func (s *Store) commit(ctx context.Context, group []*pendingRow) (outcomes []outcome, kept bool, err error) {
	return s.inPlace(ctx, group, s.commitIn)
}

// commitIn stores a group in a database. It does not wait
// for the lock of a loop. Results of the loops that are not counted yet are counted first, so that
// a loop's row takes its results in their order.
func (s *Store) commitIn(ctx context.Context, h *home, group []*pendingRow, away bool) ([]outcome, error) {
	outcomes, uncounted, err := s.commitOnce(ctx, h, group, away)
	if errors.Is(err, errUncounted) {
		if _, err := s.countLoops(ctx, h, uncounted); err != nil {
			return nil, err
		}
		outcomes, _, err = s.commitOnce(ctx, h, group, away)
	}
	return outcomes, err
}

// commitOnce is one attempt to store a group. The keys are those of loops with
// uncounted results, which must be counted before.
func (s *Store) commitOnce(ctx context.Context, h *home, group []*pendingRow, away bool) ([]outcome, []loopKey, error) {
	g, end, err := s.newGroup(ctx, h, distinct(group))
	if err != nil {
		return nil, nil, err
	}
	defer end()
	g.away = away
	store := g.store
	if h.own {
		store = g.storeApart
	}
	if err := store(ctx); err != nil {
		return nil, g.uncounted, err
	}
	return g.outcomes(group), nil, nil
}

// newGroup returns the transaction of a group, which has not begun, with its connections. Its end must be called.
func (s *Store) newGroup(ctx context.Context, h *home, rows []*pendingRow) (g *groupTx, end func(), err error) {
	conn, done, err := reserved(ctx, s.db)
	if err != nil {
		return nil, nil, err
	}
	g = &groupTx{conn: conn, limits: s.db.ProbingLimits(), at: h, rows: rows, writes: &pgx.Batch{}}
	if !h.own {
		return g, done, nil
	}
	bounded, cancel := context.WithTimeout(ctx, apartLimit)
	defer cancel()
	apart, doneApart, err := reserved(bounded, h.DB)
	if err != nil {
		done()
		return nil, nil, awayUnless(ctx, err)
	}
	g.apart = apart
	return g, func() { doneApart(); done() }, nil
}

// reserved returns a connection for results. Its end rolls back a transaction that is open, and must be called.
func reserved(ctx context.Context, db *pg.DB) (conn *pgx.Conn, end func(), err error) {
	pooled, err := db.Probing.Acquire(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("acquire a connection: %w", err)
	}
	conn = pooled.Conn()
	return conn, func() {
		if conn.PgConn().TxStatus() != 'I' && !conn.IsClosed() {
			clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			_, _ = conn.Exec(clean, "ROLLBACK") // if it fails, Release closes the connection
		}
		pooled.Release() // closes the connection unless it is idle and without a transaction
	}, nil
}

// store makes the transaction in three round trips at most for a group without trouble: it begins, locks
// and inserts; it reads what was skipped or stored before; it writes progress and commits.
func (g *groupTx) store(ctx context.Context) error {
	if err := g.insert(ctx); err != nil {
		return err
	}
	if len(g.uncounted) > 0 {
		return errUncounted
	}
	for _, step := range []func(context.Context) error{g.findSkipped, g.readExisting, g.readPauses, g.fillGaps} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	g.addToRollups(g.writes)
	g.storeProgress()
	g.noteLate()
	g.writes.Queue("COMMIT")
	if err := g.conn.SendBatch(ctx, g.writes).Close(); err != nil {
		return fmt.Errorf("write progress and commit: %w", err)
	}
	return nil
}

// distinct sorts a group by key, so that all writers lock loops in the same order, and
// keeps the first row of each slot.
func distinct(group []*pendingRow) []*pendingRow {
	rows := slices.Clone(group)
	slices.SortStableFunc(rows, func(a, b *pendingRow) int {
		return cmp.Or(compareKeys(a.key(), b.key()), a.result.Slot.Compare(b.result.Slot))
	})
	return slices.CompactFunc(rows, func(a, b *pendingRow) bool { return a.slotKey() == b.slotKey() })
}

// outcomes returns the outcome of every row of the group. Among several rows for a slot,
// only the stored one is marked as inserted.
func (g *groupTx) outcomes(group []*pendingRow) []outcome {
	winners := make(map[slotKey]*pendingRow, len(g.rows))
	for _, p := range g.rows {
		winners[p.slotKey()] = p
	}
	out := make([]outcome, len(group))
	for i, p := range group {
		key := p.slotKey()
		switch {
		case g.skipped[key.loop]:
			out[i].locked = true
		case g.loops[key.loop] == nil:
			out[i].err = vigil.NotFound("check")
		case g.inserted[key]:
			winner := winners[key]
			out[i].stored = vigil.StoredResult{Result: winner.result}
			if winner == p {
				out[i].stored.Inserted, out[i].stored.Missed = true, p.missed
			}
		default:
			existing, found := g.existing[key]
			switch {
			case found:
				out[i].stored.Result = existing
			case g.away && g.loops[key.loop].takes(p):
				out[i].stored.Result = p.result // what is stored cannot be read
			default:
				out[i].err = errTooLate()
			}
		}
		if winner := winners[key]; winner != nil {
			out[i].stored.Previous, out[i].stored.Moved = winner.previous, winner.moved
		}
	}
	return out
}

// errTooLate is the outcome of a row that came after a newer one of another worker (see insertSQL).
func errTooLate() error {
	return vigil.Errorf(vigil.CodeConflict, "The result was not stored: another worker has stored a newer one.")
}

// insertResults begins the insertion of rows (n) of loops (l), but for the condition that a row
// is not too late.
const insertResults = `INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, status_code,
			error_message, metadata, excluded, evidence, late)
		SELECT n.check_id, n.region, n.slot, n.id, n.time, n.manual, n.success, n.response_time_ms, n.status_code, n.error_message,
			n.metadata::jsonb, n.excluded, n.evidence::jsonb, n.late
		FROM n JOIN l ON n.check_id = l.check_id AND n.region = l.region`

// insertSQL locks the loops of the rows that are not locked, inserts the rows whose slots
// have no result yet, and returns the loops with their inserted slots. A row is too late
// when another worker has the loop and has stored a newer result: the state of the loop
// includes that one already, and could not include this one in the order of slots. It is
// not inserted, and its slot stays missed. While the database of the result is away (@away), one whose slot was counted has
// its result there. That a slot has a result is found by its unique
// index, not by the snapshot of the statement, which may be older than the lock.
const insertSQL = `
	WITH n AS MATERIALIZED (
		SELECT * FROM unnest(@checks::uuid[], @regions::text[], @slots::timestamptz[], @ids::uuid[], @times::timestamptz[],
				@manual::bool[], @success::bool[], @response_times::float8[], @status_codes::int4[], @errors::text[], @metadata::text[],
				@workers::text[], @excluded::int2[], @evidence::text[], @late::bool[])
			AS n (check_id, region, slot, id, time, manual, success, response_time_ms, status_code, error_message, metadata, worker,
				excluded, evidence, late)
	), l AS MATERIALIZED (
		SELECT ` + progressColumns + `
		FROM check_regions AS r JOIN unnest(@loop_checks::uuid[], @loop_regions::text[]) AS k (check_id, region)
			ON r.check_id = k.check_id AND r.region = k.region
		FOR UPDATE OF r SKIP LOCKED
	), i AS (
		` + insertResults + `
			AND (n.manual OR n.late OR l.worker IN ('', n.worker) OR l.last_slot IS NULL OR n.slot >= l.last_slot)
			AND ` + notThere + `
		ON CONFLICT (check_id, region, slot) DO NOTHING
		RETURNING check_id, region, slot
	), s AS (
		SELECT check_id, region, array_agg(slot) AS slots FROM i GROUP BY check_id, region
	)
	SELECT l.*, s.slots, EXISTS (SELECT FROM uncounted_results AS u WHERE u.check_id = l.check_id AND u.region = l.region)
	FROM l LEFT JOIN s ON s.check_id = l.check_id AND s.region = l.region`

// notThere is the condition that a row (n) of a loop (l) has no result in the database where it belongs, while that is away (@away).
const notThere = `(NOT @away OR n.manual
				OR CASE WHEN l.active THEN n.slot >= l.counted_until ELSE l.last_slot IS NULL OR n.slot > l.last_slot END
				OR EXISTS (SELECT FROM result_gaps AS g WHERE g.check_id = n.check_id AND g.region = n.region
					AND g.first_slot <= n.slot AND g.last_slot >= n.slot))`

// progressColumns are the columns of a loop (r) that scanProgress reads.
const progressColumns = `r.check_id, r.region, r.active, r.start_at, r.anchor, r.interval_ms, r.offset_ms, r.cron, r.timezone,
			r.counted_until, r.last_slot, r.last_time, r.last_scheduled, r.next_due, r.deadline_ms, r.health, r.missed, r.worker, r.turn_slots,
			r.turn_run, r.turn_activity, r.turn_ends`

// insert begins the transaction, locks the loops that are not locked, inserts their rows
// and reads the rollups of their hours.
func (g *groupTx) insert(ctx context.Context) error {
	c, keys := newColumns(g.rows), g.keys()
	batch := g.begin()
	g.loops, g.inserted = make(map[loopKey]*loopProgress, len(keys.checks)), make(map[slotKey]bool, len(g.rows))
	named := c.named()
	named["loop_checks"], named["loop_regions"], named["away"] = keys.checks, keys.regions, g.away
	batch.Queue(insertSQL, named).Query(g.scanInserted)
	g.queueRollups(batch)
	if err := g.conn.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("insert results: %w", err)
	}
	return nil
}

func (g *groupTx) scanInserted(found pgx.Rows) error {
	for found.Next() {
		l, slots, uncounted, err := scanProgress(found)
		if err != nil {
			return err
		}
		if uncounted {
			g.uncounted = append(g.uncounted, l.key())
		}
		g.loops[l.key()] = l
		for _, slot := range slots {
			g.inserted[slotKey{l.key(), slot.UTC()}] = true
		}
	}
	return found.Err()
}

// begin returns the batch that begins the transaction.
func (g *groupTx) begin() *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	if g.limits != "" {
		batch.Queue(g.limits)
	}
	return batch
}

// keys are the loops of the rows, each once.
func (g *groupTx) keys() columns {
	var c columns
	for i, p := range g.rows {
		if i == 0 || g.rows[i-1].key() != p.key() {
			c.checks, c.regions = append(c.checks, p.result.CheckID), append(c.regions, p.result.Region)
		}
	}
	return c
}

// findSkipped finds out which loops are locked and which do not exist, and drops the rows
// of both.
func (g *groupTx) findSkipped(ctx context.Context) error {
	keys := g.keys()
	if len(g.loops) == len(keys.checks) {
		return nil
	}
	g.rows = slices.DeleteFunc(g.rows, func(p *pendingRow) bool { return g.loops[p.key()] == nil })
	found, err := g.conn.Query(ctx, `
		SELECT r.check_id, r.region FROM check_regions AS r JOIN unnest($1::uuid[], $2::text[]) AS k (check_id, region)
			ON r.check_id = k.check_id AND r.region = k.region`, keys.checks, keys.regions)
	if err != nil {
		return fmt.Errorf("look for loops: %w", err)
	}
	g.skipped = make(map[loopKey]bool)
	var key loopKey
	_, err = pgx.ForEachRow(found, []any{&key.check, &key.region}, func() error {
		g.skipped[key] = g.loops[key] == nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for loops: %w", err)
	}
	return nil
}

// readExisting reads the results that slots of the group already had.
func (g *groupTx) readExisting(ctx context.Context) error {
	if len(g.inserted) == len(g.rows) {
		return nil
	}
	rows := slices.DeleteFunc(slices.Clone(g.rows), func(p *pendingRow) bool { return g.inserted[p.slotKey()] })
	existing, err := storedResults(ctx, g.conn, rows)
	g.existing = existing
	return err
}

// storedResults reads the results that a database has of the slots of rows.
func storedResults(ctx context.Context, conn *pgx.Conn, rows []*pendingRow) (map[slotKey]vigil.Result, error) {
	c := newColumns(rows)
	found, err := conn.Query(ctx, `
		SELECT r.check_id, r.region, r.slot, r.id, r.time, r.manual, r.success,
			r.response_time_ms, r.status_code, r.error_message, r.metadata, r.evidence IS NOT NULL
		FROM results AS r JOIN unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS k (check_id, region, slot)
			ON r.check_id = k.check_id AND r.region = k.region AND r.slot = k.slot`, c.checks, c.regions, c.slots)
	if err != nil {
		return nil, fmt.Errorf("read stored results: %w", err)
	}
	list, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (vigil.Result, error) {
		var r Row
		err := row.Scan(&r.CheckID, &r.Region, &r.Slot, &r.ID, &r.Time, &r.Manual, &r.Success,
			&r.ResponseTimeMS, &r.StatusCode, &r.ErrorMessage, &r.Metadata, &r.HasEvidence)
		if err != nil {
			return vigil.Result{}, err
		}
		return r.Result()
	})
	if err != nil {
		return nil, fmt.Errorf("read stored results: %w", err)
	}
	existing := make(map[slotKey]vigil.Result, len(list))
	for _, r := range list {
		existing[slotKey{loopKey{r.CheckID, r.Region}, r.Slot}] = r
	}
	return existing, nil
}
