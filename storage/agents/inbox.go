// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// RunsOf returns how those of these checks run that are in a location, also those that are disabled.
func (s *Store) RunsOf(ctx context.Context, in location.Access, checks []uuid.UUID) (map[uuid.UUID]location.Runs, error) {
	rows, err := pg.Rows[struct {
		CheckID              uuid.UUID
		Revision             int64
		StartAt, Anchor      time.Time
		IntervalMS, OffsetMS int64
	}](ctx, s.db, `SELECT r.check_id, c.revision, r.start_at, r.anchor, r.interval_ms, r.offset_ms
		FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id
		WHERE r.check_id = ANY(@checks::uuid[]) AND r.region = @region AND (@org = @all::uuid OR r.org_id = @org)`,
		pg.Named{"checks": pg.UUIDTexts(checks), "region": in.Key, "org": in.OrgID, "all": uuid.Nil})
	runs := make(map[uuid.UUID]location.Runs, len(rows))
	for _, row := range rows {
		runs[row.CheckID] = location.Runs{Revision: row.Revision, Schedule: vigil.Schedule{
			Start: row.StartAt, Anchor: row.Anchor, Interval: pg.FromMilliseconds(row.IntervalMS), Offset: pg.FromMilliseconds(row.OffsetMS),
		}}
	}
	return runs, pg.Wrap("read the checks of a location", err)
}

// AddResults stores results of agents for the turns of their loops. They are committed when it
// returns. A slot that has one already keeps it.
func (s *Store) AddResults(ctx context.Context, region string, results []agentlink.Result) error {
	if len(results) == 0 {
		return nil
	}
	var checks, observations []string
	var slots, times []time.Time
	var revisions []int64
	for i := range results {
		r := &results[i]
		seen, err := json.Marshal(&r.Observation)
		if err != nil {
			return fmt.Errorf("encode an observation: %w", err)
		}
		checks, observations = append(checks, r.CheckID.String()), append(observations, string(seen))
		slots, times, revisions = append(slots, pg.Micro(r.Slot)), append(times, pg.Micro(r.Time)), append(revisions, r.Revision)
	}
	return pg.Wrap("store results of an agent", pg.Exec(ctx, s.db, `INSERT INTO agent_results
			(check_id, region, slot, time, revision, observation)
		SELECT check_id, @region, slot, time, revision, observation::jsonb
		FROM unnest(@checks::uuid[], @slots::timestamptz[], @times::timestamptz[], @revisions::bigint[], @observations::text[])
			AS n (check_id, slot, time, revision, observation)
		ON CONFLICT (check_id, region, slot) DO NOTHING`,
		pg.Named{"region": region, "checks": checks, "slots": slots, "times": times, "revisions": revisions, "observations": observations}))
}

// resultColumns are the columns of a resultRow.
const resultColumns = "id, check_id, region, slot, time, received_at, observation"

type resultRow struct {
	ID                     int64
	CheckID                uuid.UUID
	Region                 string
	Slot, Time, ReceivedAt time.Time
	Observation            json.RawMessage
}

func (r *resultRow) result() (location.Sent, error) {
	var seen agentlink.Observation
	if err := json.Unmarshal(r.Observation, &seen); err != nil {
		return location.Sent{}, fmt.Errorf("read a result of an agent: %w", err)
	}
	return location.Sent{
		Number: r.ID, Received: r.ReceivedAt.UTC(),
		Result: vigil.Result{
			ID: vigil.ResultID(r.CheckID, r.Region, r.Slot), CheckID: r.CheckID, Region: r.Region, Slot: r.Slot.UTC(), Time: r.Time.UTC(),
			Observation: seen.Observation(),
		},
	}, nil
}

// SentResults returns up to limit results of agents for a loop that are not taken, those with the
// oldest slots first.
func (s *Store) SentResults(ctx context.Context, checkID uuid.UUID, region string, limit int) ([]location.Sent, error) {
	rows, err := pg.Rows[resultRow](ctx, s.db, "SELECT "+resultColumns+` FROM agent_results
		WHERE check_id = @check AND region = @region ORDER BY slot LIMIT @limit`, pg.Named{"check": checkID, "region": region, "limit": limit})
	if err != nil {
		return nil, pg.Wrap("read results of agents", err)
	}
	return pg.TryMap(rows, (*resultRow).result)
}

// NewSentResults returns up to limit results of agents that were committed since the call that a cursor is of, and
// the cursor of the next call. One that commits during the call may be returned twice. Next is empty
// when the cursor is of another database, or there are more: then each loop must ask SentResults.
func (s *Store) NewSentResults(ctx context.Context, cursor string, limit int) (sent []location.Sent, next string, err error) {
	seen, err := pg.Row[struct {
		Snapshot     string
		Ahead, Found bool
	}](ctx, s.db, `SELECT now.snapshot::text AS snapshot, `+pg.IsAhead+` AS ahead,
			EXISTS (SELECT FROM agent_results WHERE `+pg.Committed("received_xid", "last.snapshot", "now.snapshot")+`) AS found
		FROM `+pg.Snapshots, cursor)
	if err != nil || seen.Ahead {
		return nil, "", pg.Wrap("look for results of agents", err)
	}
	if cursor == "" || !seen.Found {
		return nil, seen.Snapshot, nil
	}
	rows, err := pg.Rows[resultRow](ctx, s.db, "SELECT "+resultColumns+" FROM agent_results WHERE "+
		pg.Committed("received_xid", "@cursor::pg_snapshot", "pg_current_snapshot()")+" ORDER BY slot LIMIT @limit",
		pg.Named{"cursor": cursor, "limit": limit + 1})
	if err != nil || len(rows) > limit {
		return nil, "", pg.Wrap("read results of agents", err)
	}
	sent, err = pg.TryMap(rows, (*resultRow).result)
	return sent, seen.Snapshot, err
}

// TakeSentResults deletes results of agents that are stored in their slots. It does not wait for the disk: after
// a crash of the database they are found again, and their slots have them.
func (s *Store) TakeSentResults(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	return pg.Wrap("take results of agents", pg.Exec(ctx, s.db, `WITH unawaited AS MATERIALIZED (
			SELECT set_config('synchronous_commit', 'off', true) AS setting
		)
		DELETE FROM agent_results USING unawaited WHERE setting = 'off' AND id = ANY($1::bigint[])`, ids))
}
