package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"vigil"
)

// definitionRow is a check with its rules and the slot 0 of each region
// (microseconds since 1970), all read by one statement.
type definitionRow struct {
	checkRow `bun:",extend"`

	Starts json.RawMessage `bun:"starts,scanonly"`
	Rules  json.RawMessage `bun:"rules,scanonly"`
}

func (s *Store) selectDefinitions(into any) *bun.SelectQuery {
	return s.selectChecks(s.db, into).ColumnExpr(`(
		SELECT jsonb_object_agg(r.region, (extract(epoch FROM r.start_at) * 1000000)::bigint)
		FROM check_regions AS r WHERE r.check_id = c.id) AS starts`).
		ColumnExpr(`(SELECT jsonb_agg(to_jsonb(ar) ORDER BY ar.created_at, ar.id) FROM alert_rules AS ar WHERE ar.check_id = c.id) AS rules`)
}

func (s *Store) definition(row *definitionRow) (vigil.Definition, error) {
	check, err := s.opened(&row.checkRow)
	if err != nil {
		return vigil.Definition{}, err
	}
	var micros map[string]int64
	if err := json.Unmarshal(row.Starts, &micros); err != nil {
		return vigil.Definition{}, fmt.Errorf("read the starts of check %s: %w", row.ID, err)
	}
	starts := make(map[string]time.Time, len(micros))
	for region, us := range micros {
		starts[region] = time.UnixMicro(us).UTC()
	}
	rules, err := row.rules()
	return vigil.Definition{Check: check, Starts: starts, Rules: rules}, err
}

func (r *definitionRow) rules() ([]vigil.Rule, error) {
	if len(r.Rules) == 0 {
		return nil, nil
	}
	var rows []ruleRow
	if err := json.Unmarshal(r.Rules, &rows); err != nil {
		return nil, fmt.Errorf("read the rules of check %s: %w", r.ID, err)
	}
	return rulesOf(rows)
}

// Definitions returns the checks that workers of these regions run. With a zero
// since it returns every enabled check that has one of the regions, and gone is
// empty. Otherwise it returns every check that changed at or after since, disabled
// checks included, and gone holds the tombstones that were created in these regions
// since then. Since is compared with the database's clock (see Clock). A change
// becomes visible when its transaction commits, so a caller must overlap its reads
// by some seconds.
//
// A check that cannot be read (its key is missing) is skipped and logged, so that
// the other checks still run.
func (s *Store) Definitions(
	ctx context.Context, regions []string, since time.Time,
) (defs []vigil.Definition, gone []vigil.Tombstone, err error) {
	newDefs, newGone := true, true
	if !since.IsZero() {
		if newDefs, newGone, err = s.changedSince(ctx, since); err != nil {
			return nil, nil, wrap("read definitions", err)
		}
	}
	if newDefs {
		if defs, err = s.definitionsSince(ctx, regions, since); err != nil {
			return nil, nil, err
		}
	}
	if since.IsZero() || !newGone {
		return defs, nil, nil
	}
	var tombstones []tombstoneRow
	err = s.db.NewSelect().Model(&tombstones).Column("check_id", "region", "org_id", "revision", "created_at").
		Where("t.created_at >= ? AND t.region = ANY(?::text[])", micro(since), pgdialect.Array(append([]string{}, regions...))).
		OrderExpr("t.created_at").Scan(ctx)
	return defs, tombstonesOf(tombstones), wrap("read tombstones", err)
}

func (s *Store) definitionsSince(ctx context.Context, regions []string, since time.Time) ([]vigil.Definition, error) {
	var rows []definitionRow
	query := s.selectDefinitions(&rows).Where("c.regions && ?::text[]", pgdialect.Array(append([]string{}, regions...)))
	if since.IsZero() {
		query = query.Where("c.enabled")
	} else {
		query = query.Where("c.changed_at >= ?", micro(since))
	}
	query = query.OrderExpr("c.id")
	var err error
	if since.IsZero() {
		err = s.readAll(ctx, query)
	} else {
		err = query.Scan(ctx)
	}
	if err != nil {
		return nil, wrap("read definitions", err)
	}
	defs := make([]vigil.Definition, 0, len(rows))
	for i := range rows {
		def, err := s.definition(&rows[i])
		if err != nil {
			s.log.ErrorContext(ctx, "check cannot be read and is not probed", "check", rows[i].ID, "error", err)
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
	ctx = withQueryLimit(ctx, definitionsLimit)
	return s.transact(ctx, &sql.TxOptions{ReadOnly: true}, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", milliseconds(definitionsLimit))); err != nil {
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
	if isNoRow(err) {
		return s.trial(ctx, checkID)
	}
	if err != nil {
		return vigil.Definition{}, wrap("read definition", err)
	}
	def, err := s.definition(&row)
	return def, wrap("read definition", err)
}
