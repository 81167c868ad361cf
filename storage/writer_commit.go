package storage

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"vigil"
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

// groupTx is the state of the transaction that stores a group.
type groupTx struct {
	tx       pgx.Tx
	rows     []*pendingRow             // sorted by loop and slot, one for each slot
	loops    map[loopKey]*loopProgress // of the loops that exist, locked
	inserted map[slotKey]bool          // slots that had no result before
	existing map[slotKey]vigil.Result  // of the other slots
}

// commit stores a group and returns the outcome of each row, in its order.
func (s *Store) commit(ctx context.Context, group []*pendingRow) ([]outcome, error) {
	tx, err := s.probing.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer func() {
		_ = tx.Rollback(context.WithoutCancel(ctx)) // does nothing after the commit
	}()
	g := &groupTx{tx: tx, rows: distinct(group)}
	for _, step := range []func(context.Context) error{
		g.lockLoops, g.insertRows, g.readExisting, g.fillGaps, g.addToRollups, g.storeProgress,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return g.outcomes(group), nil
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
		case g.loops[key.loop] == nil:
			out[i].err = vigil.NotFound("check")
		case g.refused(key):
			out[i].err = errTooLate()
		case g.inserted[key]:
			winner := winners[key]
			out[i].stored = vigil.StoredResult{Result: winner.result}
			if winner == p {
				out[i].stored.Inserted, out[i].stored.Missed, out[i].stored.Previous = true, p.missed, p.previous
			}
		default:
			out[i].stored = vigil.StoredResult{Result: g.existing[key]}
		}
	}
	return out
}

// lockLoops locks and reads the loops of the group, and drops the rows of loops that do
// not exist.
func (g *groupTx) lockLoops(ctx context.Context) error {
	var checks [][16]byte
	var regions []string
	for i, p := range g.rows {
		if i == 0 || g.rows[i-1].key() != p.key() {
			checks, regions = append(checks, p.result.CheckID), append(regions, p.result.Region)
		}
	}
	found, err := g.tx.Query(ctx, `
		SELECT r.check_id, r.region, r.active, r.start_at, r.anchor, r.interval_ms, r.offset_ms, r.counted_until,
			r.last_slot, r.last_time, r.last_scheduled, r.next_due, r.deadline_ms, r.health, r.missed, r.worker
		FROM check_regions AS r JOIN unnest($1::uuid[], $2::text[]) AS k (check_id, region)
			ON r.check_id = k.check_id AND r.region = k.region
		ORDER BY r.check_id, r.region FOR UPDATE OF r`, checks, regions)
	if err != nil {
		return fmt.Errorf("lock loops: %w", err)
	}
	loops, err := pgx.CollectRows(found, scanProgress)
	if err != nil {
		return fmt.Errorf("lock loops: %w", err)
	}
	g.loops = make(map[loopKey]*loopProgress, len(loops))
	for _, l := range loops {
		g.loops[l.key()] = l
	}
	g.rows = slices.DeleteFunc(g.rows, func(p *pendingRow) bool { return g.loops[p.key()] == nil })
	return nil
}

// insertRows inserts the rows whose slots have no result yet.
func (g *groupTx) insertRows(ctx context.Context) error {
	g.inserted = make(map[slotKey]bool, len(g.rows))
	rows := slices.DeleteFunc(slices.Clone(g.rows), func(p *pendingRow) bool { return g.loops[p.key()].tooLate(p) })
	if len(rows) == 0 {
		return nil
	}
	c := newColumns(rows)
	inserted, err := g.tx.Query(ctx, `
		INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, status_code, error_message, metadata)
		SELECT n.check_id, n.region, n.slot, n.id, n.time, n.manual, n.success, n.response_time_ms, n.status_code, n.error_message,
			n.metadata::jsonb
		FROM unnest($1::uuid[], $2::text[], $3::timestamptz[], $4::uuid[], $5::timestamptz[], $6::bool[], $7::bool[],
			$8::float8[], $9::int4[], $10::text[], $11::text[])
			AS n (check_id, region, slot, id, time, manual, success, response_time_ms, status_code, error_message, metadata)
		ON CONFLICT (check_id, region, slot) DO NOTHING
		RETURNING check_id, region, slot`,
		c.checks, c.regions, c.slots, c.ids, c.times, c.manual, c.success, c.responses, c.statuses, c.errors, c.metadata)
	if err != nil {
		return fmt.Errorf("insert results: %w", err)
	}
	var key slotKey
	_, err = pgx.ForEachRow(inserted, []any{&key.loop.check, &key.loop.region, &key.slot}, func() error {
		g.inserted[key] = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("insert results: %w", err)
	}
	return nil
}

// readExisting reads the results that slots of the group already had.
func (g *groupTx) readExisting(ctx context.Context) error {
	if len(g.inserted) == len(g.rows) {
		return nil
	}
	c := newColumns(slices.DeleteFunc(slices.Clone(g.rows), func(p *pendingRow) bool { return g.inserted[p.slotKey()] }))
	found, err := g.tx.Query(ctx, `
		SELECT r.check_id, r.region, r.slot, r.id, r.time, r.manual, r.success,
			r.response_time_ms, r.status_code, r.error_message, r.metadata
		FROM results AS r JOIN unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS k (check_id, region, slot)
			ON r.check_id = k.check_id AND r.region = k.region AND r.slot = k.slot`, c.checks, c.regions, c.slots)
	if err != nil {
		return fmt.Errorf("read stored results: %w", err)
	}
	existing, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (vigil.Result, error) {
		var r resultRow
		err := row.Scan(&r.CheckID, &r.Region, &r.Slot, &r.ID, &r.Time, &r.Manual, &r.Success,
			&r.ResponseTimeMS, &r.StatusCode, &r.ErrorMessage, &r.Metadata)
		if err != nil {
			return vigil.Result{}, err
		}
		return r.result()
	})
	if err != nil {
		return fmt.Errorf("read stored results: %w", err)
	}
	g.existing = make(map[slotKey]vigil.Result, len(existing))
	for _, r := range existing {
		g.existing[slotKey{loopKey{r.CheckID, r.Region}, r.Slot}] = r
	}
	return nil
}

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
}

func newColumns(rows []*pendingRow) columns {
	var c columns
	for _, p := range rows {
		r := &p.result
		c.checks, c.regions, c.slots = append(c.checks, r.CheckID), append(c.regions, r.Region), append(c.slots, r.Slot)
		c.ids, c.times = append(c.ids, r.ID), append(c.times, r.Time)
		c.manual, c.success = append(c.manual, r.Manual), append(c.success, r.Success)
		c.responses = append(c.responses, responseMS(r.ResponseTime))
		c.statuses, c.errors = append(c.statuses, vigil.NilIfZero(r.StatusCode)), append(c.errors, vigil.NilIfZero(r.Error))
		c.metadata = append(c.metadata, vigil.NilIfZero(string(p.metadata)))
	}
	return c
}
