// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/results"
)

// SaveVote stores the vote of a region, unless a newer one is stored. It fails with
// CodeNotFound for a region that was removed or is disabled, and for a vote from
// before the region was enabled.
func (s *Store) SaveVote(ctx context.Context, checkID uuid.UUID, v vigil.Vote) (vigil.VoteAck, error) {
	ack, err := s.saveVote(ctx, checkID, v, "FOR SHARE OF r SKIP LOCKED", "")
	if vigil.ErrorCode(err) != vigil.CodeNotFound {
		return ack, pg.Wrap("store a vote", err)
	}
	there, looked := pg.Row[bool](ctx, s.db, `SELECT EXISTS (SELECT FROM check_regions AS r
		WHERE r.check_id = $1 AND r.region = $2 AND r.active AND r.start_at <= $3)`, checkID, v.Region, pg.Micro(v.Slot))
	if looked != nil || !there {
		return ack, pg.Wrap("store a vote", cmp.Or(looked, err))
	}
	ack, err = s.saveVote(ctx, checkID, v, "FOR SHARE OF r", voteLockWait)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == results.LockNotAvailable {
		ack, err = s.saveVote(ctx, checkID, v, "", "")
	}
	return ack, pg.Wrap("store a vote", err)
}

// voteLockWait makes a vote wait for a transaction that has the row of its loop, such as one that
// disables the check: the vote must not be stored after that. An edit takes some milliseconds.
// A transaction that has the row for longer does not keep the vote from being stored, which
// writes nothing there: the loop does not probe until it is. A vote that is stored so while the
// transaction removes the region goes with the tombstone of the loop, or when the region is added
// again.
const voteLockWait = "SET LOCAL lock_timeout = '2s'"

// saveVote is one attempt of SaveVote, with the lock of the loop's row that it takes, and a
// statement that limits its wait.
func (s *Store) saveVote(ctx context.Context, checkID uuid.UUID, v vigil.Vote, lock, limit string) (vigil.VoteAck, error) {
	var ack vigil.VoteAck
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if limit != "" {
			if _, err := tx.ExecContext(ctx, limit); err != nil {
				return fmt.Errorf("limit the wait for the loop: %w", err)
			}
		}
		row, err := pg.Row[struct {
			OrgID  uuid.UUID `bun:"org_id"`
			Name   string    `bun:"name"`
			Target string    `bun:"target"`
			Open   bool      `bun:"open"`
			Voted  bool      `bun:"voted"`
			Trace  string    `bun:"trace"`
		}](ctx, s.db.In(tx), `SELECT c.org_id, c.name, c.target,
				EXISTS (SELECT FROM incidents AS i WHERE i.check_id = c.id AND (i.status <> 'resolved' OR i.latched)) AS open,
				EXISTS (SELECT FROM region_votes AS v WHERE v.check_id = c.id AND v.region = r.region) AS voted,
				coalesce((SELECT `+incidentTrace+` FROM incidents AS i
					WHERE i.check_id = c.id AND i.status <> 'resolved' LIMIT 1), '') AS trace
			FROM checks AS c JOIN check_regions AS r ON r.check_id = c.id
			WHERE c.id = $1 AND r.region = $2 AND r.active AND r.start_at <= $3
			`+lock, checkID, v.Region, pg.Micro(v.Slot))
		if err != nil {
			return pg.Found("check", err)
		}
		ack = vigil.VoteAck{
			Relevant:  row.Open || len(v.Firing) > 0,
			OrgID:     row.OrgID,
			CheckName: row.Name,
			Target:    row.Target,
			TraceID:   row.Trace,
		}
		return s.storeVote(ctx, tx, checkID, v, row.Voted || len(v.Firing) > 0)
	})
	return ack, err
}

// storeVote writes the vote, and its edge when edge is true.
func (s *Store) storeVote(ctx context.Context, tx bun.Tx, checkID uuid.UUID, v vigil.Vote, edge bool) error {
	firing := append([]uuid.UUID{}, v.Firing...)
	matches, err := encodeMatches(v)
	if err != nil {
		return err
	}
	err = pg.Exec(ctx, s.db.In(tx), `INSERT INTO region_votes AS old (check_id, region, revision, slot, failures, firing, matches, swept_at)
		VALUES (@check, @region, @revision, @slot, @failures, @firing, @matches, @now)
		ON CONFLICT (check_id, region) DO UPDATE
			SET revision = excluded.revision, slot = excluded.slot, failures = excluded.failures,
				firing = excluded.firing, matches = excluded.matches,
				silent = false, swept_at = excluded.swept_at, sweep_wait_ms = 0
			WHERE (old.revision, old.slot) <= (excluded.revision, excluded.slot)`,
		pg.Named{
			"check": checkID, "region": v.Region, "revision": v.Revision, "slot": pg.Micro(v.Slot), "failures": v.Failures,
			"firing": firing, "matches": matches, "now": s.db.Instant(),
		})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	if !edge {
		return nil
	}
	err = pg.Exec(ctx, s.db.In(tx), `INSERT INTO region_edges (check_id, slot, region, revision, failures, firing)
		VALUES (@check, @slot, @region, @revision, @failures, @firing) ON CONFLICT DO NOTHING`,
		pg.Named{
			"check": checkID, "slot": pg.Micro(v.Slot), "region": v.Region, "revision": v.Revision, "failures": v.Failures, "firing": firing,
		})
	if err != nil {
		return fmt.Errorf("store the edge: %w", err)
	}
	return nil
}

// encodeMatches returns nil for a vote without matches.
func encodeMatches(v vigil.Vote) (any, error) {
	if len(v.Matches) == 0 {
		return nil, nil //nolint:nilnil // SQL's NULL
	}
	text, err := json.Marshal(v.Matches)
	if err != nil {
		return nil, fmt.Errorf("encode the matches: %w", err)
	}
	return string(text), nil
}

// decodeMatches returns nil for a vote without matches.
func decodeMatches(text []byte) (matches []vigil.Match, err error) {
	if text == nil {
		return nil, nil
	}
	if err := json.Unmarshal(text, &matches); err != nil {
		return nil, fmt.Errorf("decode the matches: %w", err)
	}
	return matches, nil
}

// DropVotes deletes the votes of a check that is disabled: they must not count when it
// is enabled again.
func DropVotes(ctx context.Context, tx bun.Tx, checkID uuid.UUID) error {
	if _, err := tx.NewRaw("DELETE FROM region_votes WHERE check_id = ?", checkID).Exec(ctx); err != nil {
		return fmt.Errorf("drop the votes: %w", err)
	}
	return nil
}

// silentRegion is true for a region that was marked silent and has no newer result, or is a silent location. It
// uses the aliases r (check_regions) and v (region_votes).
func silentRegion(now string) string {
	return "coalesce(v.silent AND (r.next_due + (2 * r.interval_ms + r.deadline_ms) * interval '1 millisecond' < " + now +
		" OR " + silentLocation + "), false)"
}

// IncidentContext reads the context of a check's incidents in one snapshot, and records
// that its reader knows of the maintenance that the check is in. It fails with CodeNotFound
// when the check does not exist.
func (s *Store) IncidentContext(ctx context.Context, checkID uuid.UUID) (vigil.IncidentContext, error) {
	var read vigil.IncidentContext
	var in *loops.Running
	err := s.db.Transact(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, func(ctx context.Context, tx bun.Tx) error {
		check, err := pg.Row[definitions.CheckRow](ctx, s.db.In(tx), "SELECT id, org_id, enabled, revision FROM checks WHERE id = $1", checkID)
		if err != nil {
			return pg.Found("check", err)
		}
		read = vigil.IncidentContext{OrgID: check.OrgID, Enabled: check.Enabled, Revision: check.Revision}
		read.Rules, err = pg.Rows[vigil.RulePolicy](ctx, s.db.In(tx),
			"SELECT id, region_policy AS policy FROM alert_rules WHERE check_id = $1 AND enabled ORDER BY id", checkID)
		if err != nil {
			return fmt.Errorf("read the rules: %w", err)
		}
		if err := s.readRegions(ctx, tx, checkID, &read); err != nil {
			return err
		}
		if in, err = s.loops.RunningMaintenance(ctx, tx, checkID); err != nil {
			return err
		}
		return s.readIncidentHeads(ctx, tx, checkID, &read)
	})
	if err == nil && in != nil {
		read.Maintenance = &vigil.MaintenanceHead{WindowID: in.WindowID, Until: in.EndsAt.UTC()}
		err = s.loops.Hold(ctx, checkID, read.OrgID, in)
	}
	return read, pg.Wrap("read an incident context", err)
}

func (s *Store) readRegions(ctx context.Context, tx bun.Tx, checkID uuid.UUID, read *vigil.IncidentContext) error {
	rows, err := pg.Rows[struct {
		Region   string      `bun:"region"`
		Revision *int64      `bun:"revision"`
		Slot     *time.Time  `bun:"slot"`
		Failures int         `bun:"failures"`
		Firing   []uuid.UUID `bun:"firing,array"`
		Matches  []byte      `bun:"matches"`
		Silent   bool        `bun:"silent"`
	}](ctx, s.db.In(tx), `SELECT r.region, v.revision, v.slot, coalesce(v.failures, 0) AS failures, coalesce(v.firing, '{}') AS firing,
			v.matches, `+silentRegion("$1::timestamptz")+` AS silent
		FROM check_regions AS r LEFT JOIN region_votes AS v USING (check_id, region)
		WHERE r.check_id = $2 AND r.active ORDER BY r.region`, s.db.Instant(), checkID)
	if err != nil {
		return fmt.Errorf("read the votes: %w", err)
	}
	for _, row := range rows {
		region := vigil.RegionVote{Region: row.Region, Silent: row.Silent}
		if row.Revision != nil {
			region.Voted = true
			region.Vote = vigil.Vote{Region: row.Region, Revision: *row.Revision, Slot: row.Slot.UTC(), Failures: row.Failures}
			if len(row.Firing) > 0 {
				region.Vote.Firing = row.Firing
			}
			if region.Vote.Matches, err = decodeMatches(row.Matches); err != nil {
				return err
			}
		}
		read.Regions = append(read.Regions, region)
	}
	return nil
}

// readIncidentHeads fills in the open incident and the latch.
func (s *Store) readIncidentHeads(ctx context.Context, tx bun.Tx, checkID uuid.UUID, read *vigil.IncidentContext) error {
	rows, err := pg.Rows[Row](ctx, s.db.In(tx),
		"SELECT i.id, i.status, i.latched, i.quiet, i.rules, i.latch_rules, "+incidentTrace+` AS trace_id FROM incidents AS i
		WHERE i.check_id = $1 AND (i.status <> 'resolved' OR i.latched)`, checkID)
	if err != nil {
		return fmt.Errorf("read the open incident: %w", err)
	}
	for i := range rows {
		if rows[i].Latched {
			read.Latch = &vigil.Latch{IncidentID: rows[i].ID, Quiet: rows[i].Quiet, Rules: append([]uuid.UUID(nil), rows[i].LatchRules...)}
			continue
		}
		head, err := rows[i].head()
		if err != nil {
			return err
		}
		read.Incident = &head
	}
	return nil
}

// Silences returns regions that became silent or ceased to be, of checks of these shards
// with a firing rule or an open or latched incident. A region is silent when its next slot is
// overdue by two intervals and the deadline, or it is a silent location. The time before since, when the
// platform itself was down, does not count, nor does the time when probing is paused.
func (s *Store) Silences(ctx context.Context, now, since time.Time, shards []int, limit int) ([]vigil.RegionSilence, error) {
	var rows []struct {
		CheckID uuid.UUID `bun:"check_id"`
		OrgID   uuid.UUID `bun:"org_id"`
		Region  string    `bun:"region"`
		Silent  bool      `bun:"silent"`
	}
	err := s.db.NewRaw(`SELECT v.check_id, r.org_id, v.region, NOT v.silent AS silent
		FROM region_votes AS v, -- there are few: loops and checks one by one
			LATERAL (SELECT * FROM check_regions AS l WHERE l.check_id = v.check_id AND l.region = v.region LIMIT 1) AS r,
			LATERAL (SELECT * FROM checks WHERE id = v.check_id LIMIT 1) AS c,
			LATERAL (SELECT (2 * r.interval_ms + r.deadline_ms) * interval '1 millisecond' AS grace) AS g
		WHERE r.active AND v.check_id = ANY (ARRAY(
				SELECT i.check_id FROM incidents AS i WHERE (i.status <> 'resolved' OR i.latched) AND ?incidents_in_shards
				UNION SELECT f.check_id FROM region_votes AS f WHERE f.firing <> '{}' AND ?votes_in_shards))
			AND CASE WHEN v.silent THEN r.next_due + g.grace >= ?now AND NOT ?silent_location
				ELSE (greatest(r.next_due, ?since) + g.grace < ?now OR ?silent_location) AND NOT ?paused END
		ORDER BY v.check_id, v.region LIMIT ?limit`,
		pg.Named{
			"now": pg.Micro(now), "since": pg.Micro(since), "limit": limit, "paused": bun.SafeQuery(loops.Paused, pg.Micro(now), 0),
			"silent_location": bun.SafeQuery("(" + silentLocation + ")"),
			"votes_in_shards": loops.InShards("f.check_id", shards), "incidents_in_shards": loops.InShards("i.check_id", shards),
		}).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("find silent regions", err)
	}
	silences := make([]vigil.RegionSilence, len(rows))
	for i, row := range rows {
		silences[i] = vigil.RegionSilence(row)
	}
	return silences, nil
}

// MarkSilence records that a region became silent or ceased to be, and has the incident of
// the check swept soon. It changes nothing when the lease is of an older fence.
func (s *Store) MarkSilence(ctx context.Context, lease fleet.SweepLease, silence vigil.RegionSilence) error {
	err := s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var held bool
		if err := tx.NewRaw("SELECT ?", loops.Fenced(lease)).Scan(ctx, &held); err != nil || !held {
			return err
		}
		if err := SweepIncidentsSoon(ctx, tx, silence.CheckID); err != nil { // first, for its order of locks
			return err
		}
		_, err := tx.NewRaw("UPDATE region_votes SET silent = ? WHERE check_id = ? AND region = ? AND ?",
			silence.Silent, silence.CheckID, silence.Region, loops.Fenced(lease)).Exec(ctx)
		return err
	})
	return pg.Wrap("record a silence", err)
}

// UnhandledVotes returns votes with a firing rule of checks of these shards without an
// incident, 30 s after they were reported and outside of their wait, or at once when the
// workflow that had them was lost with Temporal's store. They exist after a rule was
// enabled or a region ceased to be silent, which cause no new vote, and as long as
// a region policy is not met.
func (s *Store) UnhandledVotes(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.UnhandledVote, error) {
	var rows []struct {
		CheckID   uuid.UUID `bun:"check_id"`
		Region    string    `bun:"region"`
		OrgID     uuid.UUID `bun:"org_id"`
		CheckName string    `bun:"name"`
		Target    string    `bun:"target"`
	}
	err := s.db.NewRaw(`SELECT v.check_id, v.region, c.org_id, c.name, c.target
		FROM region_votes AS v JOIN check_regions AS r USING (check_id, region) JOIN checks AS c ON c.id = v.check_id
		WHERE v.firing <> '{}' AND r.active AND NOT `+silentRegion("?now")+` AND (`+sweepable+` OR `+loops.LostSince+`) AND ?in_shards
			AND EXISTS (SELECT FROM alert_rules AS a WHERE a.check_id = v.check_id AND a.enabled AND a.id = ANY (v.firing))
			AND NOT EXISTS (SELECT FROM incidents AS i WHERE i.check_id = v.check_id AND (i.status <> 'resolved' OR i.latched))
		ORDER BY v.swept_at LIMIT ?limit`,
		pg.Named{
			"now": pg.Micro(now), "first_wait_ms": pg.Milliseconds(firstSweepWait), "in_shards": loops.InShards("v.check_id", shards),
			"limit": limit,
		}).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("find unhandled votes", err)
	}
	votes := make([]vigil.UnhandledVote, len(rows))
	for i, row := range rows {
		votes[i] = vigil.UnhandledVote(row)
	}
	return votes, nil
}

// MarkVoteSwept records a repair of a vote and doubles its wait.
func (s *Store) MarkVoteSwept(ctx context.Context, lease fleet.SweepLease, vote vigil.UnhandledVote, at time.Time) error {
	return s.markSwept(ctx, lease, "region_votes", at, bun.SafeQuery("check_id = ? AND region = ?", vote.CheckID, vote.Region))
}

// LastVote returns what is known of the newest vote of a region.
func (s *Store) LastVote(ctx context.Context, checkID uuid.UUID, region string) (vigil.LastVote, error) {
	row, err := pg.Row[struct {
		Slot  time.Time `bun:"slot"`
		Fires bool      `bun:"fires"`
	}](ctx, s.db, "SELECT slot, firing <> '{}' AS fires FROM region_votes WHERE check_id = $1 AND region = $2", checkID, region)
	if pg.IsNoRow(err) {
		return vigil.LastVote{}, nil
	}
	return vigil.LastVote{Slot: row.Slot.UTC(), Fires: row.Fires}, pg.Wrap("read the last vote", err)
}
