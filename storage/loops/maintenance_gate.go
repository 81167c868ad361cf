// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/maintenance"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// MaintenanceNow is the present by the clock that begins and ends maintenance, in SQL.
func (s *Store) MaintenanceNow() any {
	if now := s.MaintenanceEdge(); now != nil {
		return *now
	}
	return bun.Safe("clock_timestamp()")
}

// MaintenanceEdge is the same for a prepared statement: nil is the clock of Postgres.
func (s *Store) MaintenanceEdge() *time.Time {
	if s.edges == nil {
		return nil
	}
	now := pg.Micro(s.edges())
	return &now
}

// RunningOf is an SQL query for the occurrences that run at the instant of the alias clock
// and cover the check of the alias c: those with alias o of the window w.
const RunningOf = `FROM maintenance_occurrences AS o JOIN maintenance_windows AS w ON w.id = o.window_id
	WHERE o.org_id = c.org_id AND o.removed_at IS NULL AND o.starts_at <= clock.now AND o.ends_at > clock.now AND ` + Covers

// Running is the maintenance that a check is in.
type Running struct {
	WindowID uuid.UUID `bun:"window_id"`
	EndsAt   time.Time `bun:"ends_at"`
	Now      time.Time `bun:"now"`
}

// RunningMaintenance returns the occurrence that covers a check now and ends last, nil
// without one.
func (s *Store) RunningMaintenance(ctx context.Context, tx bun.IDB, checkID uuid.UUID) (*Running, error) {
	rows, err := pg.Rows[Running](ctx, s.db.In(tx), `WITH clock AS MATERIALIZED (SELECT coalesce($1, clock_timestamp()) AS now)
		SELECT m.window_id, m.ends_at, clock.now FROM clock, checks AS c,
			LATERAL (SELECT o.window_id, o.ends_at `+RunningOf+` ORDER BY o.ends_at DESC, o.window_id LIMIT 1) AS m
		WHERE c.id = $2`, s.MaintenanceEdge(), checkID)
	if err != nil || len(rows) == 0 {
		return nil, pg.Wrap("read the maintenance of a check", err)
	}
	return &rows[0], nil
}

// InMaintenance returns those of the checks of an organization that are in maintenance now.
func (s *Store) InMaintenance(ctx context.Context, orgID uuid.UUID, checks ...uuid.UUID) (map[uuid.UUID]maintenance.Current, error) {
	rows, err := pg.Rows[struct {
		CheckID  uuid.UUID `bun:"check_id"`
		WindowID uuid.UUID `bun:"window_id"`
		Name     string    `bun:"name"`
		EndsAt   time.Time `bun:"ends_at"`
		Probing  string    `bun:"probing"`
	}](ctx, s.db, `WITH clock AS MATERIALIZED (SELECT coalesce($1, clock_timestamp()) AS now)
		SELECT c.id AS check_id, m.window_id, m.name, m.ends_at, m.probing FROM clock, checks AS c,
			LATERAL (SELECT o.window_id, w.name, o.ends_at, w.probing `+RunningOf+`) AS m
		WHERE c.org_id = $2 AND c.id = ANY($3) ORDER BY m.ends_at, m.window_id`, s.MaintenanceEdge(), orgID, checks)
	if err != nil {
		return nil, pg.Wrap("read which checks are in maintenance", err)
	}
	found := make(map[uuid.UUID]maintenance.Current)
	for _, row := range rows { // the last one of a check stays
		probing := maintenance.Probing(row.Probing)
		if found[row.CheckID].Probing == maintenance.ProbingPause {
			probing = maintenance.ProbingPause
		}
		found[row.CheckID] = maintenance.Current{WindowID: row.WindowID, Name: row.Name, Until: row.EndsAt.UTC(), Probing: probing}
	}
	return found, nil
}

// Hold records that the incident workflow of a check is about to know that no incident may
// open: when the maintenance is over, for any reason, the sweep wakes it.
func (s *Store) Hold(ctx context.Context, checkID, orgID uuid.UUID, in *Running) error {
	_, err := s.db.NewRaw(`INSERT INTO maintenance_holds AS h (check_id, org_id, held_at, until_at, swept_at) VALUES (?0, ?1, ?2, ?3, ?2)
		ON CONFLICT (check_id) DO UPDATE SET held_at = greatest(h.held_at + interval '1 microsecond', excluded.held_at),
			until_at = excluded.until_at, swept_at = excluded.swept_at, sweep_wait_ms = 0`,
		checkID, orgID, pg.Micro(in.Now), in.EndsAt).Exec(ctx)
	if pg.Violates(err, "maintenance_holds_check_id_fkey") {
		return nil // deleted meanwhile
	}
	return pg.Wrap("record that incidents are held back", err)
}

// commitDelay is by how much the commit of a change may follow its time: a hold that is stored in between does not see it.
const commitDelay = "interval '1 minute'"

// EndedHolds returns checks of these shards whose incident workflow knows that they are in
// maintenance although they are not any more: an occurrence or its window ended, was
// deleted or was changed, or the labels of the check were. One whose repair failed is left
// out for its wait.
func (s *Store) EndedHolds(ctx context.Context, shards []int, limit int) ([]maintenance.Hold, error) {
	var rows []struct {
		CheckID   uuid.UUID `bun:"check_id"`
		OrgID     uuid.UUID `bun:"org_id"`
		HeldAt    time.Time `bun:"held_at"`
		CheckName string    `bun:"name"`
		Target    string    `bun:"target"`
		Firing    bool      `bun:"firing"`
	}
	err := s.db.NewRaw(`WITH clock AS MATERIALIZED (SELECT ?::timestamptz AS now)
		SELECT h.check_id, h.org_id, h.held_at, c.name, c.target,
			EXISTS (SELECT FROM region_votes AS v WHERE v.check_id = c.id AND v.firing <> '{}') AS firing
		FROM clock, maintenance_holds AS h JOIN checks AS c ON c.id = h.check_id
		WHERE h.swept_at + h.sweep_wait_ms * interval '1 millisecond' <= clock.now AND ?
			AND (h.until_at <= clock.now OR c.changed_at >= h.held_at - `+commitDelay+`
				OR EXISTS (SELECT FROM maintenance_occurrences AS o WHERE o.org_id = h.org_id AND o.changed_at >= h.held_at - `+commitDelay+`))
			AND NOT EXISTS (SELECT `+RunningOf+`)
		ORDER BY h.swept_at, h.check_id LIMIT ?`, s.MaintenanceNow(), InShards("h.check_id", shards), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, pg.Wrap("find the checks whose maintenance is over", err)
	}
	holds := make([]maintenance.Hold, len(rows))
	for i, row := range rows {
		holds[i] = maintenance.Hold(row)
	}
	return holds, nil
}

// ReleaseHold records that the incident workflow of a check was woken. A workflow that has
// read meanwhile that the check is in maintenance again is not affected. It changes nothing
// when the lease is of an older fence.
func (s *Store) ReleaseHold(ctx context.Context, lease fleet.SweepLease, hold maintenance.Hold) error {
	_, err := s.db.NewRaw("DELETE FROM maintenance_holds WHERE check_id = ? AND held_at = ? AND ?", hold.CheckID, hold.HeldAt, Fenced(lease)).
		Exec(ctx)
	return pg.Wrap("record the end of maintenance", err)
}

// PutOffHold leaves out a check whose workflow could not be woken, for a time that doubles
// from a second to a minute.
func (s *Store) PutOffHold(ctx context.Context, lease fleet.SweepLease, hold maintenance.Hold) error {
	const shortest, longest = time.Second, time.Minute
	_, err := s.db.NewRaw(`UPDATE maintenance_holds
		SET swept_at = ?now, sweep_wait_ms = least(greatest(sweep_wait_ms * 2, ?least_ms), ?most_ms)
		WHERE check_id = ?check AND held_at = ?held_at AND ?fenced`,
		pg.Named{
			"now": s.MaintenanceNow(), "least_ms": pg.Milliseconds(shortest), "most_ms": pg.Milliseconds(longest),
			"check": hold.CheckID, "held_at": hold.HeldAt, "fenced": Fenced(lease),
		}).
		Exec(ctx)
	return pg.Wrap("put off the end of maintenance", err)
}

// EndedMaintenance is the maintenance that kept an incident from opening.
type EndedMaintenance struct {
	Name   string    `bun:"name"`
	EndsAt time.Time `bun:"ends_at"`
}

// MaintenanceBefore returns the occurrence that covers a check, has ended by now, after
// since, and ended last; nil without one.
func (s *Store) MaintenanceBefore(ctx context.Context, tx bun.IDB, checkID uuid.UUID, since time.Time) (*EndedMaintenance, error) {
	rows, err := pg.Rows[EndedMaintenance](ctx, s.db.In(tx), `SELECT w.name, o.ends_at FROM checks AS c
		JOIN maintenance_occurrences AS o ON o.org_id = c.org_id AND o.removed_at IS NULL
			AND o.ends_at > $1 AND o.ends_at <= coalesce($2, clock_timestamp())
		JOIN maintenance_windows AS w ON w.id = o.window_id AND `+Covers+`
		WHERE c.id = $3 ORDER BY o.ends_at DESC, w.name LIMIT 1`, pg.Micro(since), s.MaintenanceEdge(), checkID)
	if err != nil {
		return nil, fmt.Errorf("read the last maintenance: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil //nolint:nilnil // there was none
	}
	return &rows[0], nil
}

// Delay moves the start of an incident to the end of the maintenance that kept it from
// opening, and says so in its description.
func (m *EndedMaintenance) Delay(incident *vigil.Incident) {
	if m == nil || !m.EndsAt.After(incident.StartedAt) {
		return
	}
	incident.Description += fmt.Sprintf(" Failing since %s; the maintenance window %q ended at %s.",
		incident.StartedAt.UTC().Format(time.RFC3339), m.Name, m.EndsAt.UTC().Format(time.RFC3339))
	incident.StartedAt = m.EndsAt.UTC()
}
