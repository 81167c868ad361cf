// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// This file is what other rooms read of single results that they know by their keys. They do not join results with their own tables:
// results may be in another database.

// Key is the key of a result.
type Key struct {
	CheckID uuid.UUID
	Region  string
	Slot    time.Time
}

// Brief is what lists show of a result.
type Brief struct {
	Success    bool
	Response   time.Duration
	StatusCode int      // 0: none
	Error      string   // empty: none
	Days       *float64 // until the certificate or the domain ends; nil: it does not say
}

// keyColumnsOf are keys as columns, and the first and the last slot, which leave few partitions to plan for.
func keyColumnsOf(keys []Key) pg.Named {
	checks, regions, slots := make([]string, len(keys)), make([]string, len(keys)), make([]time.Time, len(keys))
	for i, key := range keys {
		checks[i], regions[i], slots[i] = key.CheckID.String(), key.Region, pg.Micro(key.Slot)
	}
	return pg.Named{
		"checks": checks, "regions": regions, "slots": slots,
		"first": slices.MinFunc(slots, time.Time.Compare), "last": slices.MaxFunc(slots, time.Time.Compare),
	}
}

// ofKeys selects the results (r) of keys (k), which are numbered from 1 (n).
const ofKeys = ` FROM unnest(@checks::text[], @regions::text[], @slots::timestamptz[]) WITH ORDINALITY AS k (check_id, region, slot, n)
	JOIN results AS r ON r.check_id = k.check_id::uuid AND r.region = k.region AND r.slot = k.slot
	WHERE r.slot >= @first::timestamptz AND r.slot <= @last::timestamptz`

// daysOf is a number in the metadata of a result, in SQL.
func daysOf(member string) string {
	return fmt.Sprintf("CASE WHEN jsonb_typeof(r.metadata->'%[1]s') = 'number' THEN (r.metadata->>'%[1]s')::float8 END", member)
}

// in is where a statement runs: in a transaction of the database of the definitions, if that is what it is.
func (h *home) in(db bun.IDB) pg.Runner {
	if h.own || db == nil {
		return h.DB
	}
	return h.In(db)
}

// Briefs returns the results of keys, in their order; nil for one that is not stored, or whose database is away. db is the
// transaction of the caller, or nil.
func (s *Store) Briefs(ctx context.Context, db bun.IDB, keys []Key) ([]*Brief, error) {
	out := make([]*Brief, len(keys))
	if len(keys) == 0 {
		return out, nil
	}
	type row struct {
		N          int
		Success    bool
		MS         float64
		StatusCode int
		Error      string
		Days       *float64
	}
	query := "SELECT k.n, r.success, r.response_time_ms AS ms, coalesce(r.status_code, 0) AS status_code, " +
		"coalesce(r.error_message, '') AS error, coalesce(" + daysOf(
		vigil.MetadataDays,
	) + ", " + daysOf(
		vigil.MetadataCertDays,
	) + ") AS days" + ofKeys
	found, err := readAll(ctx, s.homes.ofKeys(keys), func(ctx context.Context, h *home) ([]row, error) {
		return pg.Rows[row](h.patience(ctx, db), h.in(db), query, keyColumnsOf(keys))
	})
	if err != nil {
		return nil, pg.Wrap("read results", err)
	}
	for _, r := range slices.Concat(found...) {
		out[r.N-1] = &Brief{Success: r.Success, Response: ResponseTime(r.MS), StatusCode: r.StatusCode, Error: r.Error, Days: r.Days}
	}
	return out, nil
}

// WithError returns the checks of those keys whose result has a text in its error, without regard to upper case. db is the
// transaction of the caller, or nil.
func (s *Store) WithError(ctx context.Context, db bun.IDB, keys []Key, text string) ([]uuid.UUID, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	args := keyColumnsOf(keys)
	args["text"] = text
	found, err := readAll(ctx, s.homes.ofKeys(keys), func(ctx context.Context, h *home) ([]uuid.UUID, error) {
		return pg.Rows[uuid.UUID](h.patience(ctx, db), h.in(db), "SELECT DISTINCT r.check_id"+ofKeys+
			" AND strpos(lower(r.error_message), lower(@text::text)) > 0", args)
	})
	return slices.Concat(found...), pg.Wrap("find results by their errors", err)
}

// ofKeys returns the databases that may have the results of keys.
func (h *Homes) ofKeys(keys []Key) []*home {
	if len(h.all) == 1 {
		return h.all
	}
	var regions []string
	for _, key := range keys {
		if !slices.Contains(regions, key.Region) {
			regions = append(regions, key.Region)
		}
	}
	return h.with(regions...)
}

// One returns a result with its evidence; the zero one when it is not stored, or when its database is away. db is the transaction of
// the caller, or nil.
func (s *Store) One(ctx context.Context, db bun.IDB, key Key) (vigil.Result, error) {
	found, err := readAll(ctx, s.homes.with(key.Region), func(ctx context.Context, h *home) ([]Row, error) {
		return pg.Rows[Row](
			h.patience(ctx, db),
			h.in(db),
			"SELECT "+Columns+", r.evidence FROM results AS r WHERE r.check_id = $1 AND r.region = $2 AND r.slot = $3",
			key.CheckID,
			key.Region,
			pg.Micro(key.Slot),
		)
	})
	if err != nil {
		return vigil.Result{}, pg.Wrap("read a result", err)
	}
	for _, row := range slices.Concat(found...) {
		return row.Result()
	}
	return vigil.Result{}, nil
}

// Evidence returns what a failed probe saw of its target; nil when it is not stored, or when its database is away.
func (s *Store) Evidence(ctx context.Context, key Key) (*vigil.Evidence, error) {
	found, err := readAll(ctx, s.homes.with(key.Region), func(ctx context.Context, h *home) ([][]byte, error) {
		return pg.Rows[[]byte](ctx, h, "SELECT evidence FROM results WHERE check_id = $1 AND region = $2 AND slot = $3 AND evidence IS NOT NULL",
			key.CheckID, key.Region, pg.Micro(key.Slot))
	})
	if err != nil {
		return nil, pg.Wrap("read evidence", err)
	}
	for _, text := range slices.Concat(found...) {
		return vigil.DecodeEvidence(text)
	}
	return nil, nil
}

// FirstFailures returns the first failed result of each region of a check from a time on. db is the transaction of the caller, or nil.
func (s *Store) FirstFailures(ctx context.Context, db bun.IDB, checkID uuid.UUID, from time.Time) (map[string]vigil.Result, error) {
	type row struct {
		Region string
		Slot   time.Time
		Time   time.Time
	}
	found, err := readAll(ctx, s.homes.all, func(ctx context.Context, h *home) ([]row, error) {
		return pg.Rows[row](h.patience(ctx, db), h.in(db), `SELECT DISTINCT ON (region) region, slot, time FROM results
			WHERE check_id = $1 AND slot >= $2 AND NOT success ORDER BY region, slot`, checkID, pg.Micro(from))
	})
	firsts := make(map[string]vigil.Result)
	for _, r := range slices.Concat(found...) {
		if first, has := firsts[r.Region]; !has || r.Slot.Before(first.Slot) {
			firsts[r.Region] = vigil.Result{Region: r.Region, Slot: r.Slot.UTC(), Time: r.Time.UTC()}
		}
	}
	return firsts, pg.Wrap("find failed results", err)
}

// PurgeResults deletes a part of the results of a deleted check, in steps, and reports whether there were any: some rollups, or the results
// of one day and region. A database that is away is an error.
func (s *Store) PurgeResults(ctx context.Context, checkID uuid.UUID) (found bool, err error) {
	for _, h := range s.homes.all {
		if err := h.usable(ctx); err != nil {
			return false, fmt.Errorf("reach %s: %w", h.name(), err)
		}
		if found, err := h.purge(ctx, checkID); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func (h *home) purge(ctx context.Context, checkID uuid.UUID) (found bool, err error) {
	for _, table := range []string{"uncounted_results", "result_rollups"} {
		if n, err := h.DeleteSome(ctx, table, "t.check_id = ?", checkID); err != nil || n > 0 {
			return true, err
		}
	}
	return h.purgeResults(ctx, checkID)
}

// purgeResults deletes the results of one day and region of a deleted check, in steps,
// and reports whether there were any.
func (h *home) purgeResults(ctx context.Context, checkID uuid.UUID) (found bool, err error) {
	var first struct {
		Region string
		Slot   time.Time
	}
	err = h.NewRaw("SELECT region, slot FROM results WHERE check_id = ? LIMIT 1", checkID).Scan(ctx, &first)
	if pg.IsNoRow(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for results: %w", err)
	}
	from := first.Slot.UTC().Truncate(day)
	for end := from.AddDate(0, 0, 1); from.Before(end); {
		until := end
		// Literal bounds: Postgres then opens the partition of this day only.
		err := h.NewRaw(`SELECT slot FROM results WHERE check_id = ?check AND region = ?region AND slot >= ?from AND slot < ?end
			ORDER BY slot OFFSET ?batch LIMIT 1`,
			pg.Named{"check": checkID, "region": first.Region, "from": from, "end": end, "batch": pg.DeleteBatch}).Scan(ctx, &until)
		if err != nil && !pg.IsNoRow(err) {
			return false, fmt.Errorf("look for results: %w", err)
		}
		_, err = h.NewRaw("DELETE FROM results WHERE check_id = ? AND region = ? AND slot >= ? AND slot < ?",
			checkID, first.Region, from, until).Exec(ctx)
		if err != nil {
			return false, fmt.Errorf("delete results: %w", err)
		}
		from = until
	}
	return true, nil
}

// DropRows deletes single results of no partition, and rollups, that are before a time; DropPartitions drops the others.
func (s *Store) DropRows(ctx context.Context, table string, before time.Time) error {
	condition := "t.slot < ?"
	if table == "result_rollups" {
		condition = "t.hour < ?"
	}
	return s.homes.each(ctx, func(h *home) error { return h.DeleteAll(ctx, table, condition, before) })
}
