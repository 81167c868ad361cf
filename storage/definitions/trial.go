// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// BeginTrial makes a check that is not saved known to the workers under its id, so that
// its config need not pass through Temporal, until EndTrial or for the duration. A check
// whose config cannot be stored is a CodeInvalid error.
func (s *Store) BeginTrial(ctx context.Context, c vigil.Check, longest time.Duration) error {
	row, err := s.SealedRow(&c)
	if err != nil {
		return pg.Wrap("begin a trial", err)
	}
	_, err = s.db.NewRaw(`INSERT INTO check_trials (id, org_id, type, config, target, interval_ms, ends)
		VALUES (?id, ?org, ?type, ?config::jsonb, ?target, ?interval_ms, clock_timestamp() + ?longest_ms * interval '1 millisecond')`,
		pg.Named{
			"id": row.ID, "org": row.OrgID, "type": row.Type, "config": string(row.Config), "target": row.Target,
			"interval_ms": row.IntervalMS, "longest_ms": pg.Milliseconds(longest),
		}).Exec(ctx)
	return pg.Wrap("begin a trial", Unstorable(err))
}

// EndTrial deletes what BeginTrial stored.
func (s *Store) EndTrial(ctx context.Context, id uuid.UUID) error {
	_, err := s.db.NewRaw("DELETE FROM check_trials WHERE id = ?", id).Exec(ctx)
	return pg.Wrap("end a trial", err)
}

// trial returns the definition of a trial, which has no schedule and no rules. An unknown
// id, and a trial whose time is over, is a CodeNotFound error.
func (s *Store) trial(ctx context.Context, id uuid.UUID) (vigil.Definition, error) {
	var row struct {
		OrgID      uuid.UUID       `bun:"org_id,type:uuid"`
		Type       string          `bun:"type"`
		Config     json.RawMessage `bun:"config,type:jsonb"`
		Target     string          `bun:"target"`
		IntervalMS int64           `bun:"interval_ms"`
	}
	err := s.db.NewRaw(`SELECT org_id, type, config, target, interval_ms FROM check_trials
		WHERE id = ? AND ends > clock_timestamp()`, id).Scan(ctx, &row)
	if err != nil {
		return vigil.Definition{}, pg.Found("check", err)
	}
	check, err := s.Opened(&CheckRow{
		ID: id, OrgID: row.OrgID, Type: row.Type, Config: row.Config, Target: row.Target, IntervalMS: row.IntervalMS,
	})
	return vigil.Definition{Check: check}, pg.Wrap("read a trial", err)
}
