// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// definitionRow is a check with its rules and the slot 0 of each region
// (microseconds since 1970), all read by one statement.
type definitionRow struct {
	CheckRow `bun:",extend"`

	Starts json.RawMessage `bun:"starts,scanonly"`
	// StatesFrom are the starts of states that are older than their schedules.
	StatesFrom json.RawMessage `bun:"states_from,scanonly"`
	Rules      json.RawMessage `bun:"rules,scanonly"`

	Restored int64 `bun:"restored,scanonly"`
}

func (s *Store) selectDefinitions(into any) *bun.SelectQuery {
	return s.SelectChecks(s.db, into).ColumnExpr(`(
		SELECT jsonb_object_agg(r.region, (extract(epoch FROM r.start_at) * 1000000)::bigint)
		FROM check_regions AS r WHERE r.check_id = c.id) AS starts`).
		ColumnExpr(`(
		SELECT jsonb_object_agg(r.region, (extract(epoch FROM r.state_from) * 1000000)::bigint)
		FROM check_regions AS r WHERE r.check_id = c.id AND r.state_from IS NOT NULL) AS states_from`).
		ColumnExpr(`(SELECT jsonb_agg(to_jsonb(ar) ORDER BY ar.created_at, ar.id) FROM alert_rules AS ar WHERE ar.check_id = c.id) AS rules`).
		ColumnExpr("c.restored")
}

func (s *Store) definition(row *definitionRow) (vigil.Definition, error) {
	check, err := s.Opened(&row.CheckRow)
	if err != nil {
		return vigil.Definition{}, err
	}
	starts, err := timesOf(row.Starts)
	if err != nil {
		return vigil.Definition{}, fmt.Errorf("read the starts of check %s: %w", row.ID, err)
	}
	def := vigil.Definition{Check: check, Starts: starts, Restored: row.Restored}
	if len(row.StatesFrom) > 0 {
		if def.StatesFrom, err = timesOf(row.StatesFrom); err != nil {
			return vigil.Definition{}, fmt.Errorf("read the starts of the states of check %s: %w", row.ID, err)
		}
	}
	def.Rules, err = row.rules()
	return def, err
}

// timesOf decodes the times of regions, in microseconds since 1970.
func timesOf(text json.RawMessage) (map[string]time.Time, error) {
	var micros map[string]int64
	if err := json.Unmarshal(text, &micros); err != nil {
		return nil, err
	}
	times := make(map[string]time.Time, len(micros))
	for region, us := range micros {
		times[region] = time.UnixMicro(us).UTC()
	}
	return times, nil
}

func (r *definitionRow) rules() ([]vigil.Rule, error) {
	if len(r.Rules) == 0 {
		return nil, nil
	}
	var rows []RuleRow
	if err := json.Unmarshal(r.Rules, &rows); err != nil {
		return nil, fmt.Errorf("read the rules of check %s: %w", r.ID, err)
	}
	return RulesOf(rows)
}

// Definitions returns the checks that workers of these regions run, and a cursor for the next
// call. With an empty cursor it returns every enabled check that has one of the regions, and
// gone is empty. Otherwise it returns every check that changed since the call that the cursor
// is of, disabled checks included, and gone holds the tombstones that were created in these
// regions since then. Each change is returned once its transaction has committed, also when
// others that began later have committed before it; one that commits during the call may be
// returned twice. An empty next says that the cursor is of another database, so that
// everything must be read again.
//
// A check that cannot be read (its key is missing) is skipped and logged, so that
// the other checks still run.
func (s *Store) Definitions(
	ctx context.Context, regions []string, cursor string,
) (defs []vigil.Definition, gone []vigil.Tombstone, next string, err error) {
	named := pgdialect.Array(append([]string{}, regions...))
	return s.changed(ctx, cursor, running{
		checks: bun.SafeQuery("(c.regions && ?0::text[] OR ?1 = ANY(?0::text[]) AND EXISTS "+
			"(SELECT FROM check_regions AS r WHERE r.check_id = c.id AND r.worker_region = ?1))", named, vigil.LocationsRegion),
		loops: bun.SafeQuery("("+loops.WorkerRegion("t.region")+") = ANY(?::text[])", named),
	})
}

// LocationDefinitions is Definitions for one region, of an organization unless its ID is zero.
func (s *Store) LocationDefinitions(
	ctx context.Context, orgID uuid.UUID, region, cursor string,
) (defs []vigil.Definition, gone []vigil.Tombstone, next string, err error) {
	return s.changed(ctx, cursor, running{
		checks: bun.SafeQuery("c.regions @> ARRAY[?0::text] AND (?1 = ?2::uuid OR c.org_id = ?1)", region, orgID, uuid.Nil),
		loops:  bun.SafeQuery("t.region = ?0 AND (?1 = ?2::uuid OR t.org_id = ?1)", region, orgID, uuid.Nil),
	})
}

// running are the conditions of checks (c) and of tombstones of loops (t).
type running struct{ checks, loops schema.QueryWithArgs }

func (s *Store) changed(
	ctx context.Context, cursor string, which running,
) (defs []vigil.Definition, gone []vigil.Tombstone, next string, err error) {
	// What is not visible in the next cursor is returned by the next call.
	since, err := pg.Row[struct {
		Next  string `bun:"next"`
		Ahead bool   `bun:"ahead"`
		Defs  bool   `bun:"defs"`
		Gone  bool   `bun:"gone"`
	}](ctx, s.db, `SELECT now.snapshot::text AS next, `+pg.IsAhead+` AS ahead,
			EXISTS (SELECT FROM checks WHERE `+pg.Committed("changed_xid", "last.snapshot", "now.snapshot")+`) AS defs,
			EXISTS (SELECT FROM loop_tombstones WHERE `+pg.Committed("created_xid", "last.snapshot", "now.snapshot")+`) AS gone
		FROM `+pg.Snapshots, cursor)
	if err != nil || since.Ahead {
		return nil, nil, "", pg.Wrap("look for new definitions", err)
	}
	next = since.Next
	if cursor == "" || since.Defs {
		if defs, err = s.definitionsSince(ctx, which.checks, cursor); err != nil {
			return nil, nil, "", err
		}
	}
	if cursor == "" || !since.Gone {
		return defs, nil, next, nil
	}
	var tombstones []loops.TombstoneRow
	err = s.db.NewSelect().Model(&tombstones).Column("check_id", "region", "org_id", "revision", "created_at").
		Where("?", which.loops).
		Where("?", pg.ChangedSince("t.created_xid", cursor)).
		OrderExpr("t.created_at").Scan(ctx)
	return defs, loops.TombstonesOf(tombstones), next, pg.Wrap("read tombstones", err)
}

func (s *Store) definitionsSince(ctx context.Context, which schema.QueryWithArgs, cursor string) ([]vigil.Definition, error) {
	var rows []definitionRow
	query := s.selectDefinitions(&rows).Where("?", which)
	if cursor == "" {
		query = query.Where("c.enabled")
	} else {
		query = query.Where("?", pg.ChangedSince("c.changed_xid", cursor))
	}
	query = query.OrderExpr("c.id")
	var err error
	if cursor == "" {
		err = s.readAll(ctx, query)
	} else {
		err = query.Scan(ctx)
	}
	if err != nil {
		return nil, pg.Wrap("read definitions", err)
	}
	defs := make([]vigil.Definition, 0, len(rows))
	for i := range rows {
		def, err := s.definition(&rows[i])
		if err != nil {
			s.db.Log.ErrorContext(ctx, "check cannot be read and is not probed", "check", rows[i].ID, "error", err)
			continue
		}
		defs = append(defs, def)
	}
	return defs, nil
}

// definitionsLimit is how long reading every definition of a region may take.
const definitionsLimit = 2 * time.Minute

// readAll runs a query that reads many rows and may take longer than others.
func (s *Store) readAll(ctx context.Context, query *bun.SelectQuery) error {
	ctx = pg.WithQueryLimit(ctx, definitionsLimit)
	return s.db.Transact(ctx, &sql.TxOptions{ReadOnly: true}, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", pg.Milliseconds(definitionsLimit))); err != nil {
			return err
		}
		return query.Conn(tx).Scan(ctx)
	})
}

// Definition returns one check of any organization, enabled or not, or a trial (see
// BeginTrial). An unknown check is a CodeNotFound error.
func (s *Store) Definition(ctx context.Context, checkID uuid.UUID) (vigil.Definition, error) {
	var row definitionRow
	err := s.selectDefinitions(&row).Where("c.id = ?", checkID).Scan(ctx)
	if pg.IsNoRow(err) {
		return s.trial(ctx, checkID)
	}
	if err != nil {
		return vigil.Definition{}, pg.Wrap("read definition", err)
	}
	def, err := s.definition(&row)
	return def, pg.Wrap("read definition", err)
}
