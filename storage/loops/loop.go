// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Row is the row of a loop: one check in one region. Desired is the revision that
// the loop must reach and Applied the newest that Temporal has accepted. Slots before
// CountedUntil have a result or are counted as missed.
type Row struct {
	bun.BaseModel `bun:"table:check_regions,alias:r"`

	CheckID       uuid.UUID  `bun:"check_id,pk,type:uuid"`
	Region        string     `bun:"region,pk"`
	OrgID         uuid.UUID  `bun:"org_id,type:uuid"`
	Desired       int64      `bun:"desired"`
	Applied       int64      `bun:"applied"`
	Active        bool       `bun:"active"`
	StartAt       time.Time  `bun:"start_at"`
	StateFrom     *time.Time `bun:"state_from"` // nil: StartAt
	Anchor        time.Time  `bun:"anchor"`
	IntervalMS    int64      `bun:"interval_ms"`
	OffsetMS      int64      `bun:"offset_ms"`
	Cron          string     `bun:"cron"` // empty: the grid
	Timezone      string     `bun:"timezone"`
	CountedUntil  time.Time  `bun:"counted_until"`
	LastSlot      *time.Time `bun:"last_slot"`
	LastTime      *time.Time `bun:"last_time"`
	LastScheduled *time.Time `bun:"last_scheduled"`
	NextDue       *time.Time `bun:"next_due"`
	DeadlineMS    int64      `bun:"deadline_ms"`
	Health        string     `bun:"health"`
	Missed        int64      `bun:"missed"`
	Worker        string     `bun:"worker"`
	TurnSlots     int        `bun:"turn_slots"`
	TurnRun       *uuid.UUID `bun:"turn_run,type:uuid"`
	TurnActivity  *string    `bun:"turn_activity"`
	TurnEnds      *time.Time `bun:"turn_ends"`
	NudgedAt      *time.Time `bun:"nudged_at"`
	NudgeWaitMS   int64      `bun:"nudge_wait_ms"`

	Name       string `bun:"name,scanonly"`
	Target     string `bun:"target,scanonly"`
	Generation int64  `bun:"store_generation,scanonly"`
	Unobserved bool   `bun:"unobserved,scanonly"`

	// Pauses are the maintenance that pauses probing where slots are counted.
	Pauses []Span `bun:"-"`
}

// defaultDeadline is the deadline of one attempt of a loop without a result: the longest
// timeout that a check may have.
const defaultDeadline = time.Minute

// Schedule returns the schedule of a loop.
func (r *Row) Schedule() vigil.Schedule {
	return vigil.Schedule{
		Start: r.StartAt, Anchor: r.Anchor,
		Interval: pg.FromMilliseconds(r.IntervalMS), Offset: pg.FromMilliseconds(r.OffsetMS), Times: TimesOf(r.Cron, r.Timezone),
	}
}

// TimesOf returns the timetable of a row, nil for one on the grid.
func TimesOf(cron, timezone string) *vigil.Timetable {
	if cron == "" {
		return nil
	}
	times, err := vigil.NewTimetable(cron, timezone)
	if err != nil {
		return nil // it was judged before it was stored
	}
	return times
}

func (r *Row) loop() vigil.Loop {
	loop := vigil.Loop{
		CheckID: r.CheckID, OrgID: r.OrgID, Region: r.Region, Name: r.Name, Target: r.Target,
		Desired: r.Desired, Applied: r.Applied, Active: r.Active, Start: r.StartAt,
		LastSlot: pg.ZeroIfNil(r.LastSlot), LastScheduled: pg.ZeroIfNil(r.LastScheduled), NextDue: pg.ZeroIfNil(r.NextDue),
		Health: vigil.Health(r.Health), Unobserved: r.Unobserved, Missed: r.Missed, Worker: r.Worker, TurnSlots: r.TurnSlots,
		Generation: r.Generation,
	}
	if r.TurnRun != nil && r.TurnActivity != nil {
		loop.Turn = vigil.TurnActivity{RunID: *r.TurnRun, ActivityID: *r.TurnActivity, Ends: pg.ZeroIfNil(r.TurnEnds)}
	}
	return loop
}

// Insert inserts the rows of new loops.
func Insert(ctx context.Context, tx bun.Tx, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := tx.NewInsert().Model(&rows).Exec(ctx); err != nil {
		return fmt.Errorf("insert loops: %w", err)
	}
	return nil
}

// NewRows returns the rows of new loops of a check, with slot 0 at start.
func NewRows(check *vigil.Check, regions []string, start time.Time) []Row {
	rows := make([]Row, len(regions))
	for i, region := range regions {
		rows[i] = Row{
			CheckID: check.ID, Region: region, OrgID: check.OrgID, Desired: check.Revision, Active: check.Enabled,
			DeadlineMS: pg.Milliseconds(expectedDeadline(check)), Health: string(vigil.Unknown),
		}
		rows[i].setSchedule(check, start)
	}
	return rows
}

// Lock reads and locks the loops of checks, in the lock order of the result
// writer, which prevents deadlocks.
func Lock(ctx context.Context, tx bun.Tx, checks []uuid.UUID) (map[uuid.UUID][]Row, error) {
	var rows []Row
	err := tx.NewSelect().Model(&rows).Where("r.check_id = ANY(?)", pgdialect.Array(checks)).OrderExpr("r.check_id, r.region").
		For("UPDATE").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock the loops: %w", err)
	}
	loops := make(map[uuid.UUID][]Row, len(checks))
	for _, row := range rows {
		loops[row.CheckID] = append(loops[row.CheckID], row)
	}
	return loops, nil
}

// selectLoops starts a query for loops with the names and targets of their checks, and the
// generation of Temporal's store.
func (s *Store) selectLoops(into *[]Row) *bun.SelectQuery {
	return s.db.NewSelect().Model(into).ColumnExpr("r.*").ColumnExpr("c.name, c.target").
		ColumnExpr("(SELECT generation FROM temporal_generation) AS store_generation").
		Join("JOIN checks AS c ON c.id = r.check_id")
}

func loopsOf(rows []Row) []vigil.Loop {
	return pg.Map(rows, (*Row).loop)
}

// Loops returns the loops of a check of the organization, in the order of the check's
// regions, as they are now: an unobserved one has no health, and slots that were due since
// its newest result count as missed. An unknown check is a CodeNotFound error.
func (s *Store) Loops(ctx context.Context, orgID, checkID uuid.UUID) ([]vigil.Loop, error) {
	var rows []Row
	now := s.db.Instant()
	err := s.selectLoops(&rows).
		ColumnExpr(Unobserved(pg.SQLTime(now))+" AS unobserved").
		Where("c.id = ? AND c.org_id = ? AND c."+pg.NotDrill, checkID, orgID).
		OrderExpr("array_position(c.regions, r.region)").
		Scan(ctx)
	if err != nil {
		return nil, pg.Wrap("read the loops", err)
	}
	if len(rows) == 0 {
		return nil, vigil.NotFound("check") // every check has a region
	}
	since := now
	for i := range rows {
		since = timing.Earlier(since, rows[i].CountedUntil)
	}
	if err := AddPauses(ctx, s.db.Pool, rows, since, now, now); err != nil {
		return nil, pg.Wrap("read the loops", err)
	}
	loops := loopsOf(rows)
	for i := range loops {
		loops[i].Missed += rows[i].MissedBetween(since, now, now)
		if loops[i].Unobserved {
			loops[i].Health = vigil.Unknown
		}
	}
	return loops, nil
}

// LoopsOf returns the loops of a check of any organization, also of that of a drill.
func (s *Store) LoopsOf(ctx context.Context, checkID uuid.UUID) ([]vigil.Loop, error) {
	var rows []Row
	err := s.selectLoops(&rows).Where("c.id = ?", checkID).OrderExpr("r.region").Scan(ctx)
	return loopsOf(rows), pg.Wrap("read the loops", err)
}

// AnyLagging is SQL for whether any loop is behind its revision, or was accepted by an older generation of Temporal's store.
// Each is the first entry of an index, which no estimate of Postgres turns into a scan of all loops.
const AnyLagging = `((SELECT check_id FROM check_regions WHERE desired > applied ORDER BY check_id, region LIMIT 1) IS NOT NULL
		OR coalesce((SELECT min(generation) FROM check_regions WHERE active) < (SELECT generation FROM temporal_generation), false))`

// Lagging returns up to limit loops of these shards whose newest revision Temporal has
// not accepted, active or not, and active ones that an older generation of Temporal's
// store accepted, which lost them. Loops that never ran come last, since they may be many
// and wait for room. Otherwise the order is random, so that loops that cannot be repaired do
// not block the others.
func (s *Store) Lagging(ctx context.Context, shards []int, limit int) ([]vigil.Loop, error) {
	lag, err := pg.Row[struct {
		Generation int64 `bun:"generation"`
		Lagging    bool  `bun:"lagging"`
	}](ctx, s.db, "SELECT generation, "+AnyLagging+" AS lagging FROM temporal_generation")
	if err != nil || !lag.Lagging {
		return nil, pg.Wrap("find lagging loops", err)
	}
	// Each part has an index of its own. The generation is a literal, so that the planner
	// knows that few rows have an older one.
	// They are chosen before the join: there may be ten thousand.
	mine := InShards("check_id", shards)
	var rows []Row
	err = s.selectLoops(&rows).ModelTableExpr(`(SELECT * FROM (
			SELECT * FROM check_regions WHERE desired > applied AND ?1
			UNION ALL SELECT * FROM check_regions WHERE active AND generation < ?0 AND desired <= applied AND ?1) AS lagging
			ORDER BY applied = 0, random() LIMIT ?2) AS r`, lag.Generation, mine, limit).
		OrderExpr("r.applied = 0").Scan(ctx)
	return loopsOf(rows), pg.Wrap("find lagging loops", err)
}

// Starting returns how many loops of these shards Temporal has accepted whose first turn
// has not begun, by the region of the workers that run them (vigil.WorkerRegion).
func (s *Store) Starting(ctx context.Context, shards []int) (map[string]int, error) {
	var rows []struct {
		Region string
		Count  int
	}
	err := s.db.NewRaw(`SELECT worker_region AS region, count(*) AS count FROM check_regions
		WHERE active AND worker = '' AND desired <= applied AND ? GROUP BY worker_region`, InShards("check_id", shards)).Scan(ctx, &rows)
	starting := make(map[string]int, len(rows))
	for _, row := range rows {
		starting[row.Region] = row.Count
	}
	return starting, pg.Wrap("count starting loops", err)
}

// WaitingToStart returns how many new loops of these shards that Temporal does not know yet
// began after an instant, and when the oldest of all of them began; zero without one.
func (s *Store) WaitingToStart(ctx context.Context, shards []int, after time.Time) (recent int, oldest time.Time, err error) {
	var first bun.NullTime
	err = s.db.NewRaw(`SELECT count(*) FILTER (WHERE start_at > ?), min(start_at) FROM check_regions
		WHERE active AND worker = '' AND applied = 0 AND desired > applied AND ?`, pg.Micro(after), InShards("check_id", shards)).
		Scan(ctx, &recent, &first)
	return recent, first.Time, pg.Wrap("count the loops that wait for their start", err)
}

// MarkApplied records that Temporal has accepted the desired revision of a loop, as it was
// read, in the generation of its store that it was read with. An older revision, or an
// unknown loop, changes nothing. It does not wait for the disk: a mark that a crash of
// the database loses is made again, when the revision was applied again. A loop that waited for
// its start is late already and cannot have a result yet: Overdue gives it grace from now.
func (s *Store) MarkApplied(ctx context.Context, loop vigil.Loop) error {
	err := pg.Exec(ctx, s.db, `WITH unawaited AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
		UPDATE check_regions SET applied = greatest(applied, $1), generation = greatest(generation, $2),
			applied_at = coalesce(applied_at, clock_timestamp()),
			nudged_at = CASE WHEN applied = 0 AND next_due < clock_timestamp() THEN clock_timestamp() ELSE nudged_at END
		FROM unawaited
		WHERE setting = 'off' AND check_id = $3 AND region = $4 AND (applied < $1 OR generation < $2)`,
		loop.Desired, loop.Generation, loop.CheckID, loop.Region)
	return pg.Wrap("record an applied revision", err)
}

// setSchedule starts a new schedule of a loop, with slot 0 at start. CountedUntil never
// moves back, even when the clock does, so that no slot is counted twice.
func (r *Row) setSchedule(check *vigil.Check, start time.Time) {
	schedule := check.Schedule(r.Region, start)
	r.StartAt, r.Anchor, r.CountedUntil = start, schedule.Anchor, timing.Later(r.CountedUntil, start)
	r.IntervalMS, r.OffsetMS = pg.Milliseconds(schedule.Interval), pg.Milliseconds(schedule.Offset)
	r.Cron, r.Timezone = check.Timetable()
	r.NextDue = nil
	if check.Enabled {
		first := schedule.First()
		r.NextDue = &first
	}
}

// ApplyDefinition sets a loop to the new definition of its check.
func (r *Row) ApplyDefinition(check *vigil.Check, restart bool, now time.Time) {
	r.Desired, r.Active = check.Revision, check.Enabled
	if check.Retry.Attempts > 0 || check.Type == vigil.TypeHeartbeat { // the next result says how long it really is
		r.DeadlineMS = max(r.DeadlineMS, pg.Milliseconds(expectedDeadline(check)))
	}
	if restart {
		r.setSchedule(check, now)
	}
	if !check.Enabled {
		r.NextDue = nil
	}
}

// KeepState sets from when on results count for the state of a loop whose schedule restarts:
// from the new schedule on when the check is enabled again or gets another type, and from where
// they counted before after another edit.
func (r *Row) KeepState(before, after *vigil.Check) {
	switch {
	case !before.Enabled, before.Type != after.Type:
		r.StateFrom = nil
	case r.StateFrom == nil:
		r.StateFrom = new(r.StartAt)
	}
}

// expectedDeadline is the deadline of a loop without a result at the present definition.
// The check type knows how long an attempt takes; here it is the longest timeout.
func expectedDeadline(check *vigil.Check) time.Duration {
	if check.Type == vigil.TypeHeartbeat {
		if h, err := vigil.HeartbeatOf(check.Config); err == nil {
			return h.Wait()
		}
	}
	return max(defaultDeadline, min(check.Retry.Deadline(defaultDeadline), check.Interval))
}
