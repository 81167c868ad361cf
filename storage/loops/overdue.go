// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Overdue returns up to limit active loops of these regions and shards that have no
// result although their next slot, its probe deadline and grace are over, the longest
// overdue first. A loop that was nudged is skipped until its backoff ends (see
// MarkNudged), and so is one whose probing is paused or whose region is blind, until it had
// time to go on: a nudge helps neither. One that
// Temporal does not know yet is lagging: its start waits behind others, and a nudge would be a
// second start. When it has started, it has grace from then.
func (s *Store) Overdue(
	ctx context.Context, now time.Time, grace time.Duration, regions []string, shards []int, limit int,
) ([]vigil.Loop, error) {
	if len(regions) == 0 {
		return nil, nil
	}
	if due, err := AnyDue(ctx, s.db, now.Add(-grace)); err != nil || !due {
		return nil, err
	}
	var rows []Row
	err := s.selectLoops(&rows).
		Where("r.worker_region = ANY(?::text[])", pgdialect.Array(regions)).
		Where(probed).
		Where(DueBefore(pg.SQLTime(now.Add(-grace)))). // what the indexes have
		Where("r.applied > 0 AND r.next_due + (r.deadline_ms + ?) * interval '1 millisecond' < ?", pg.Milliseconds(grace), pg.Micro(now)).
		Where("NOT "+Paused, pg.Micro(now), pg.Milliseconds(grace)).
		Where("NOT "+blind, pg.Micro(now), pg.Milliseconds(grace)).
		Where("r.nudged_at IS NULL OR r.nudged_at + coalesce(nullif(r.nudge_wait_ms, 0), ?) * interval '1 millisecond' <= clock_timestamp()",
			pg.Milliseconds(grace)).
		Where(notPutOff).
		Where(`NOT EXISTS (SELECT FROM uncounted_results AS u WHERE u.check_id = r.check_id AND u.region = r.region
			AND u.slot + (r.interval_ms + r.deadline_ms + ?) * interval '1 millisecond' >= ?)`, pg.Milliseconds(grace), pg.Micro(now)).
		Where("?", InShards("r.check_id", shards)).
		OrderExpr("r.next_due, r.check_id, r.region").Limit(int64(limit)).Scan(ctx)
	return loopsOf(rows), pg.Wrap("find overdue loops", err)
}

// NotBegun returns up to limit active loops of these regions and shards that Temporal has accepted some grace ago, of which no
// turn has begun: no worker is named in their rows. They are not overdue where their first slot is far away, as that of a
// job which runs once a day, and whose pings wait for a turn. A loop that was nudged is skipped as by Overdue.
func (s *Store) NotBegun(ctx context.Context, grace time.Duration, regions []string, shards []int, limit int) ([]vigil.Loop, error) {
	var rows []Row
	err := s.selectLoops(&rows).
		Where(notBegun).
		Where("r.worker_region = ANY(?::text[])", pgdialect.Array(regions)).
		Where("r.desired <= r.applied AND greatest(r.applied_at, r.start_at, r.nudged_at) < clock_timestamp() - ? * interval '1 millisecond'",
			pg.Milliseconds(grace)).
		Where("r.nudged_at IS NULL OR r.nudged_at + r.nudge_wait_ms * interval '1 millisecond' <= clock_timestamp()").
		Where(notPutOff).
		Where("?", InShards("r.check_id", shards)).
		OrderExpr("r.applied_at, r.check_id, r.region").Limit(int64(limit)).Scan(ctx)
	return loopsOf(rows), pg.Wrap("find loops that have not begun", err)
}

// notBegun is what an index has of the loops (r) of which no turn has begun. AnyNotBegun is SQL for whether there is one.
const (
	notBegun    = "r.active AND r.worker = ''"
	AnyNotBegun = "coalesce((SELECT true FROM check_regions AS r WHERE " + notBegun + " ORDER BY r.worker LIMIT 1), false)"
)

// probed is the condition that a loop (r) should go on: no agents send its results, or one waits.
const probed = `(r.worker_region <> '` + vigil.LocationsRegion + `'
	AND NOT EXISTS (SELECT FROM locations AS l WHERE l.org_id IS NULL AND l.key = r.region) OR EXISTS (SELECT FROM agent_results AS a
	WHERE a.check_id = r.check_id AND a.region = r.region AND a.received_at < clock_timestamp() - interval '10 s'))`

// blind is the condition that the region of a loop (r) is blind, or was so lately that the loop had no time to go on, which is two
// intervals, the deadline and the grace of its arguments. These are the present and the grace in milliseconds.
const blind = `EXISTS (SELECT FROM blind_regions AS b WHERE b.region = r.region AND (b.ended_at IS NULL
	OR b.ended_at >= ?0::timestamptz - (2 * r.interval_ms + r.deadline_ms + ?1) * interval '1 millisecond'))`

// The backoff after a nudge. It doubles with each nudge, from minNudgeWait to
// maxNudgeWait.
const (
	minNudgeWait = 5 * time.Second
	maxNudgeWait = 10 * time.Minute
)

// MarkNudged records a nudge by the database's clock, and doubles the time before the
// loop counts as overdue again, from 5 s to 10 min. The next stored result of its
// schedule ends that time. It changes nothing when the lease is of an older fence. It does
// not wait for the disk: after a crash of the database the loop may be nudged again.
func (s *Store) MarkNudged(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, region string) error {
	_, err := s.db.NewRaw(`WITH unawaited AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
		UPDATE check_regions
		SET nudged_at = clock_timestamp(), nudge_after = NULL, nudge_wait_ms = least(greatest(nudge_wait_ms * 2, ?least_ms), ?most_ms)
		FROM unawaited WHERE setting = 'off' AND check_id = ?check AND region = ?region AND ?fenced`,
		pg.Named{
			"least_ms": pg.Milliseconds(minNudgeWait), "most_ms": pg.Milliseconds(maxNudgeWait), "check": checkID, "region": region,
			"fenced": Fenced(lease),
		}).Exec(ctx)
	return pg.Wrap("record a nudge", err)
}

// nudgePutOff is for how long a loop is passed over whose nudge failed.
const nudgePutOff = 5 * time.Second

// notPutOff is the condition that no nudge of a loop (r) has failed lately.
const notPutOff = "(r.nudge_after IS NULL OR r.nudge_after <= clock_timestamp())"

// PutOffNudge records that a nudge failed: Overdue and AbandonedLoops leave the loop out for
// 5 s, so that it does not displace others, and it does not count as nudged. It changes nothing
// when the lease is of an older fence, and does not wait for the disk.
func (s *Store) PutOffNudge(ctx context.Context, lease fleet.SweepLease, checkID uuid.UUID, region string) error {
	_, err := s.db.NewRaw(`WITH unawaited AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
		UPDATE check_regions SET nudge_after = clock_timestamp() + ? * interval '1 millisecond' FROM unawaited
		WHERE setting = 'off' AND check_id = ? AND region = ? AND ?`,
		pg.Milliseconds(nudgePutOff), checkID, region, Fenced(lease)).Exec(ctx)
	return pg.Wrap("put off a nudge", err)
}
