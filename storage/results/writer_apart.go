// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// This file stores results in a database of their own. What is one transaction elsewhere is two here: the results with their rollups
// first, each with a note that its loop does not know it yet (uncounted_results); then the row of the loop with its gaps, in the
// database of the definitions, whose lock is held all the time. The note goes with the next group. A process that ends between the
// two leaves the note, and the worker that has the loop next, or a look for such notes, brings the loop forward: what a loop knows already
// changes nothing in it.

// apartLimit bounds what is done in a database of results while the lock of a loop is held in the other, whose transaction Postgres
// ends when it is idle for five seconds.
const apartLimit = 3 * time.Second

// homeError is that the database of results is away.
type homeError struct{ cause error }

// Error says so.
func (e *homeError) Error() string { return "the database of results is away: " + e.cause.Error() }

// Unwrap returns the cause.
func (e *homeError) Unwrap() error { return e.cause }

// awayUnless returns an error of a database of results as a homeError, unless it says something of the rows, or ctx has ended.
func awayUnless(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || inConflict(err) || !unreachable(err) {
		return err
	}
	return &homeError{err}
}

// unreachable reports whether a database of results cannot be used: it is away, or does not let this process in (classes 28, 3D and
// 3F of SQLSTATE), or to its tables.
func unreachable(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case "42501", "42P01": // insufficient privilege, undefined table
			return true
		}
		switch refused.Code[:min(2, len(refused.Code))] {
		case "28", "3D", "3F":
			return true
		}
	}
	return pg.Retryable(err)
}

// inPlace stores rows by a function in the database that they belong into, or, while that is away, in that of the definitions.
func (s *Store) inPlace(
	ctx context.Context, rows []*pendingRow,
	store func(ctx context.Context, h *home, rows []*pendingRow, away bool) ([]outcome, error),
) (outcomes []outcome, kept bool, err error) {
	h := s.homes.of(rows[0].result.Region)
	if h.own && h.usable(ctx) == nil {
		outcomes, err := store(ctx, h, rows, false)
		lost, away := errors.AsType[*homeError](err)
		if !away || ctx.Err() != nil {
			return outcomes, false, err
		}
		h.lost(ctx, lost.cause)
	}
	outcomes, err = store(ctx, s.homes.all[0], rows, h.own)
	return outcomes, h.own, err
}

// storeApart stores a group in two transactions.
func (g *groupTx) storeApart(ctx context.Context) error {
	keys := g.keys()
	if err := g.lockUncounted(ctx, keys.checks, keys.regions); err != nil {
		return fmt.Errorf("lock loops: %w", err)
	}
	if err := g.findSkipped(ctx); err != nil || len(g.rows) == 0 {
		return err
	}
	here, err := storedResults(ctx, g.conn, g.rows) // while the other was away
	if err != nil {
		return err
	}
	if err := g.insertApart(ctx, here); err != nil {
		return awayUnless(ctx, err)
	}
	for _, step := range []func(context.Context) error{g.readPauses, g.fillGaps} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	g.storeProgress()
	g.noteLate()
	g.writes.Queue("COMMIT")
	if err := g.conn.SendBatch(ctx, g.writes).Close(); err != nil {
		return fmt.Errorf("write progress and commit: %w", err)
	}
	g.at.forget(g.rows)
	return nil
}

// insertApart makes the transaction of the results. here are the slots that have one in the other database.
func (g *groupTx) insertApart(ctx context.Context, here map[slotKey]vigil.Result) error {
	ctx, cancel := context.WithTimeout(ctx, apartLimit)
	defer cancel()
	rows := slices.DeleteFunc(slices.Clone(g.rows), func(p *pendingRow) bool {
		_, stored := here[p.slotKey()]
		return stored || !g.loops[p.key()].takes(p)
	})
	batch := g.beginApart()
	keys := g.keys()
	batch.Queue(`SELECT DISTINCT u.check_id, u.region FROM unnest($1::uuid[], $2::text[]) AS k (check_id, region)
		JOIN uncounted_results AS u ON u.check_id = k.check_id AND u.region = k.region`, keys.checks, keys.regions).
		Query(func(found pgx.Rows) error {
			var key loopKey
			_, err := pgx.ForEachRow(found, []any{&key.check, &key.region}, func() error {
				g.uncounted = append(g.uncounted, key)
				return nil
			})
			return err
		})
	g.queueInsert(batch, rows, 0)
	if err := g.apart.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("insert results: %w", err)
	}
	if len(g.uncounted) > 0 {
		return errUncounted
	}
	if err := g.endApart(ctx); err != nil {
		return err
	}
	return g.readApart(ctx, here)
}

// readApart reads the results that slots of the group already had; here are those in the other database.
func (g *groupTx) readApart(ctx context.Context, here map[slotKey]vigil.Result) (err error) {
	g.existing = here
	rows := slices.DeleteFunc(slices.Clone(g.rows), func(p *pendingRow) bool {
		_, known := here[p.slotKey()]
		return known || g.inserted[p.slotKey()]
	})
	if len(rows) == 0 {
		return nil
	}
	there, err := storedResults(ctx, g.apart, rows)
	maps.Copy(g.existing, there)
	return err
}

// beginApart returns the batch that begins the transaction of the results. The locks are of loops: not all who store results have
// the lock of the loop's row. Notes of loops that are counted go.
func (g *groupTx) beginApart() *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	if limits := g.at.ProbingLimits(); limits != "" {
		batch.Queue(limits)
	}
	keys := g.keys()
	batch.Queue(lockApart, keys.checks, keys.regions)
	if done := newColumns(g.at.forgotten()); len(done.checks) > 0 {
		batch.Queue(forgetNotes, done.checks, done.regions, done.slots)
	}
	return batch
}

// lockApart locks loops in a database of results, in one order, until the transaction ends: some share a lock, since there is room
// for some thousands of such locks in a server.
const lockApart = `SELECT pg_advisory_xact_lock(7669, k.name) FROM (
	SELECT DISTINCT hashtext(check_id::text || '/' || region) & 127 AS name FROM unnest($1::uuid[], $2::text[]) AS k (check_id, region)
	ORDER BY 1
) AS k`

// lockLoopApart takes the lock of one loop.
func lockLoopApart(ctx context.Context, tx pgx.Tx, check uuid.UUID, region string) error {
	_, err := tx.Exec(ctx, lockApart, pgx.QueryExecModeDescribeExec, [][16]byte{check}, []string{region})
	if err != nil {
		return fmt.Errorf("lock the loop: %w", err)
	}
	return nil
}

const forgetNotes = `DELETE FROM uncounted_results AS u
	USING unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS k (check_id, region, slot)
	WHERE u.check_id = k.check_id AND u.region = k.region AND u.slot = k.slot`

// insertNoted inserts results with a note for each.
const insertNoted = `
	WITH ` + rowsToNote + `, i AS (
		INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, status_code, error_message, metadata,
			excluded, evidence, late)
		SELECT check_id, region, slot, id, time, manual, success, response_time_ms, status_code, error_message, metadata::jsonb,
			excluded, evidence::jsonb, late FROM n
		ON CONFLICT (check_id, region, slot) DO NOTHING
		RETURNING check_id, region, slot
	), u AS (
		INSERT INTO uncounted_results (check_id, region, slot, worker, owned, deadline_ms, turn_slots, turn_run, turn_activity, turn_ends,
			stored_at)
		SELECT n.check_id, n.region, n.slot, n.worker, n.owned, n.deadline_ms, n.turn_slots, n.turn_run, n.turn_activity, n.turn_ends,
			clock_timestamp() - @age::int8 * interval '1 millisecond'
		FROM n JOIN i ON i.check_id = n.check_id AND i.region = n.region AND i.slot = n.slot
	)
	SELECT check_id, region, slot FROM i`

// queueInsert inserts those of the rows that are new, and reads the rollups of their hours.
// age is how old their notes are said to be.
func (g *groupTx) queueInsert(batch *pgx.Batch, rows []*pendingRow, age time.Duration) {
	c, n := newColumns(rows), newTurnColumns(rows)
	named := c.named()
	n.addTo(named)
	named["age"] = pg.Milliseconds(age)
	g.inserted = make(map[slotKey]bool, len(rows))
	batch.Queue(insertNoted, named).Query(func(found pgx.Rows) error {
		var key slotKey
		_, err := pgx.ForEachRow(found, []any{&key.loop.check, &key.loop.region, &key.slot}, func() error {
			g.inserted[slotKey{key.loop, key.slot.UTC()}] = true
			return nil
		})
		return err
	})
	g.queueRollups(batch)
}

// endApart counts what was inserted in the rollups and commits.
func (g *groupTx) endApart(ctx context.Context) error {
	batch := &pgx.Batch{}
	g.addToRollups(batch)
	batch.Queue("COMMIT")
	if err := g.apart.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("write rollups and commit: %w", err)
	}
	return nil
}

// storeAsideApart stores rows, at most one of each loop, without the locks of their loops. What it knows of these is as old as the
// last commit, and what is noted of them is newer.
func (g *groupTx) storeAsideApart(ctx context.Context) error {
	keys := g.keys()
	found, err := g.conn.Query(ctx, `SELECT r.check_id, r.region, r.worker, r.last_slot FROM check_regions AS r
		JOIN unnest($1::uuid[], $2::text[]) AS k (check_id, region) ON r.check_id = k.check_id AND r.region = k.region`,
		keys.checks, keys.regions)
	if err != nil {
		return fmt.Errorf("read loops: %w", err)
	}
	var l loopProgress
	_, err = pgx.ForEachRow(found, []any{&l.check, &l.region, &l.worker, &l.lastSlot}, func() error {
		loop := l
		g.loops[loop.key()] = &loop
		l.lastSlot = nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("read loops: %w", err)
	}
	g.rows = slices.DeleteFunc(g.rows, func(p *pendingRow) bool { return g.loops[p.key()] == nil })
	here, err := storedResults(ctx, g.conn, g.rows)
	if err != nil || len(g.rows) == 0 {
		return err
	}
	return awayUnless(ctx, g.insertAsideApart(ctx, here))
}

func (g *groupTx) insertAsideApart(ctx context.Context, here map[slotKey]vigil.Result) error {
	ctx, cancel := context.WithTimeout(ctx, apartLimit)
	defer cancel()
	if err := g.noted(ctx); err != nil {
		return err
	}
	for _, p := range g.rows {
		l := g.loops[p.key()]
		p.previous, p.missed = pg.ZeroIfNil(l.lastSlot), 0
		p.moved = p.owned && l.worker != "" && l.worker != p.worker
	}
	batch := g.beginApart()
	g.queueInsert(batch, slices.DeleteFunc(slices.Clone(g.rows), func(p *pendingRow) bool {
		_, stored := here[p.slotKey()]
		return stored || !g.loops[p.key()].takes(p)
	}), noteAge) // no group follows that would forget them
	if err := g.apart.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("insert results aside: %w", err)
	}
	if err := g.endApart(ctx); err != nil {
		return err
	}
	return g.readApart(ctx, here)
}

// noted brings what is known of the loops up to the newest of their notes.
func (g *groupTx) noted(ctx context.Context) error {
	keys := g.keys()
	found, err := g.apart.Query(ctx, `SELECT DISTINCT ON (u.check_id, u.region) u.check_id, u.region, u.slot, u.worker
		FROM unnest($1::uuid[], $2::text[]) AS k (check_id, region)
			JOIN uncounted_results AS u ON u.check_id = k.check_id AND u.region = k.region
		ORDER BY u.check_id, u.region, u.slot DESC`, keys.checks, keys.regions)
	if err != nil {
		return fmt.Errorf("read notes: %w", err)
	}
	var key loopKey
	var slot time.Time
	var worker string
	_, err = pgx.ForEachRow(found, []any{&key.check, &key.region, &slot, &worker}, func() error {
		if l := g.loops[key]; l.lastSlot == nil || slot.After(*l.lastSlot) {
			l.lastSlot, l.worker = new(slot), worker
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read notes: %w", err)
	}
	return nil
}

// endCount commits the rows of loops that were counted, and forgets their notes. A commit whose answer was lost may have stored a
// result here although its writer then stored it in the other database: that one stays.
func (g *groupTx) endCount(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apartLimit)
	defer cancel()
	here, err := storedResults(ctx, g.conn, g.rows)
	if err != nil {
		return err
	}
	g.writes.Queue("COMMIT")
	if err := g.conn.SendBatch(ctx, g.writes).Close(); err != nil {
		return fmt.Errorf("count results and commit: %w", err)
	}
	for _, p := range g.rows {
		if _, twice := here[p.slotKey()]; twice {
			if err := dropTwin(ctx, g.apart, p); err != nil {
				return fmt.Errorf("drop a result that is stored twice: %w", err)
			}
		}
	}
	c := newColumns(g.rows)
	if _, err := g.apart.Exec(ctx, forgetNotes, c.checks, c.regions, c.slots); err != nil {
		return fmt.Errorf("forget notes: %w", err)
	}
	return nil
}

// dropTwin deletes a result and sums its hour again, all of whose results are stored, since it is of the last hours.
func dropTwin(ctx context.Context, conn *pgx.Conn, p *pendingRow) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		check, region, hour := p.result.CheckID, p.result.Region, HourOf(p.result.Slot)
		if err := lockLoopApart(ctx, tx, check, region); err != nil {
			return err
		}
		for _, step := range []struct {
			sql string
			at  time.Time
		}{
			{"DELETE FROM results WHERE check_id = $1 AND region = $2 AND slot = $3", p.result.Slot},
			{`UPDATE result_rollups SET total = 0, successes = 0, sum_ms = 0, buckets = '{}', counts = '{}', excluded = 0, excluded_successes = 0
				WHERE check_id = $1 AND region = $2 AND hour = $3`, hour},
		} {
			if _, err := tx.Exec(ctx, step.sql, check, region, step.at); err != nil {
				return err
			}
		}
		return sumAgain(ctx, tx, vigil.ResultSpan{CheckID: check, Region: region}, loops.Span{From: hour, To: hour.Add(time.Hour)})
	})
}

// forget notes that the loops of rows know them: their notes go with the next group.
func (h *home) forget(rows []*pendingRow) {
	h.knownMu.Lock()
	defer h.knownMu.Unlock()
	h.known = append(h.known, rows...)
}

// forgotten returns the rows whose notes go, once. A transaction that fails leaves the notes: what they say changes nothing then.
func (h *home) forgotten() []*pendingRow {
	h.knownMu.Lock()
	defer h.knownMu.Unlock()
	rows := h.known
	h.known = nil
	return rows
}
