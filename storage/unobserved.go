package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"vigil"
)

// unobservedRow is a check that is known not to be probed.
type unobservedRow struct {
	bun.BaseModel `bun:"table:unobserved_checks,alias:u"`

	CheckID   uuid.UUID       `bun:"check_id,pk,type:uuid"`
	ID        uuid.UUID       `bun:"id,type:uuid"`
	OrgID     uuid.UUID       `bun:"org_id,type:uuid"`
	Since     time.Time       `bun:"since"`
	Regions   []string        `bun:"regions,array"`
	Described json.RawMessage `bun:"described,type:jsonb"`
	CreatedAt time.Time       `bun:"created_at"`
}

func (r *unobservedRow) check() vigil.UnobservedCheck {
	return vigil.UnobservedCheck{ID: r.ID, OrgID: r.OrgID, CheckID: r.CheckID, Since: r.Since.UTC(), Regions: r.Regions}
}

// describedCheck is what an event says of a check that may be deleted meanwhile.
type describedCheck struct {
	Name       string          `json:"name"`
	Type       vigil.CheckType `json:"type"`
	Target     string          `json:"target"`
	IntervalMS int64           `json:"interval_ms"`
	Regions    []string        `json:"regions"`
	Enabled    bool            `json:"enabled"`
	Labels     vigil.Labels    `json:"labels,omitempty"`
}

func (d *describedCheck) check(id, org uuid.UUID) vigil.Check {
	return vigil.Check{
		ID: id, OrgID: org, Name: d.Name, Type: d.Type, Target: d.Target, Interval: fromMilliseconds(d.IntervalMS),
		Regions: d.Regions, Enabled: d.Enabled, Labels: d.Labels,
	}
}

// whollyUnobserved is the condition that a check, alias c, is enabled and unobserved in all of
// its regions. The time before since, when the platform itself was down, does not count.
func whollyUnobserved(now, since time.Time) string {
	return `(c.enabled AND EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = c.id AND r.active)
		AND NOT EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = c.id AND r.active
			AND NOT (` + unobserved(at(now)) + ` AND greatest(r.next_due, ` + at(since) + `)
				+ (2 * r.interval_ms + r.deadline_ms) * interval '1 millisecond' < ` + at(now) + `)))`
}

// Unobserved returns up to limit checks of these shards that are not probed, and not known to
// be. Since is when the platform was last found to work; each check has time to be probed from
// then. Checks in maintenance are left out.
func (s *Store) Unobserved(ctx context.Context, now, since time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error) {
	var rows []struct {
		CheckID uuid.UUID `bun:"check_id"`
		OrgID   uuid.UUID `bun:"org_id"`
	}
	err := s.db.NewRaw(`SELECT c.id AS check_id, c.org_id FROM (SELECT `+at(now)+` AS now) AS clock, checks AS c
		WHERE c.id IN (SELECT r.check_id FROM check_regions AS r WHERE r.active AND r.next_due < `+at(now)+` AND ?0)
			AND `+whollyUnobserved(now, since)+`
			AND NOT EXISTS (SELECT FROM unobserved_checks AS u WHERE u.check_id = c.id)
			AND NOT EXISTS (SELECT `+runningOf+`)
		ORDER BY c.id LIMIT ?1`, inShards("r.check_id", shards), limit).Scan(ctx, &rows)
	if err != nil {
		return nil, wrap("find unobserved checks", err)
	}
	list := make([]vigil.UnobservedCheck, len(rows))
	for i, row := range rows {
		list[i] = vigil.UnobservedCheck{OrgID: row.OrgID, CheckID: row.CheckID}
	}
	return list, nil
}

// BeginUnobserved records that a check is not probed, and publishes its event, in one
// transaction. It changes nothing when this is known, when the check is probed again, or when
// the lease is of an older fence.
func (s *Store) BeginUnobserved(ctx context.Context, lease vigil.SweepLease, checkID uuid.UUID, since time.Time) error {
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		check, org, err := s.lockForIncident(ctx, tx, checkID)
		if vigil.ErrorCode(err) == vigil.CodeNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		now := s.instant()
		described, err := json.Marshal(describedCheck{
			check.Name, check.Type, check.Target, milliseconds(check.Interval), check.Regions, check.Enabled, check.Labels,
		})
		if err != nil {
			return fmt.Errorf("describe the check: %w", err)
		}
		var rows []unobservedRow
		err = tx.NewRaw(`INSERT INTO unobserved_checks AS u (check_id, id, org_id, since, regions, described, created_at)
			SELECT c.id, ?0, c.org_id, max(coalesce(r.last_slot, r.start_at)), array_agg(r.region ORDER BY r.region), ?1::jsonb, ?2
			FROM checks AS c JOIN check_regions AS r ON r.check_id = c.id AND r.active
			WHERE c.id = ?3 AND ?4 AND `+whollyUnobserved(now, since)+` GROUP BY c.id
			ON CONFLICT DO NOTHING RETURNING *`, uuid.New(), string(described), now, checkID, fenced(lease)).Scan(ctx, &rows)
		if err != nil || len(rows) == 0 {
			return wrap("insert", err)
		}
		return s.publishUnobserved(ctx, tx, &vigil.UnobservedContext{
			UnobservedCheck: rows[0].check(), Check: check, Organization: org, Time: now,
		})
	})
	return wrap("record an unobserved check", err)
}

// isObserved is the condition that a check that is known to be unobserved, alias u, with the
// row of the check, alias c, or without one, is not unobserved any more.
func isObserved(now time.Time) string {
	return `(c.id IS NULL OR NOT c.enabled OR EXISTS (SELECT FROM check_regions AS r
		WHERE r.check_id = c.id AND r.active AND NOT ` + unobserved(at(now)) + `))`
}

// ObservedAgain returns up to limit checks of these shards that are known to be unobserved and
// are not any more, because they have a result, or need none.
func (s *Store) ObservedAgain(ctx context.Context, now time.Time, shards []int, limit int) ([]vigil.UnobservedCheck, error) {
	var rows []unobservedRow
	err := s.db.NewRaw(`SELECT u.* FROM unobserved_checks AS u LEFT JOIN checks AS c ON c.id = u.check_id
		WHERE ?0 AND `+isObserved(now)+` ORDER BY u.created_at, u.check_id LIMIT ?1`, inShards("u.check_id", shards), limit).Scan(ctx, &rows)
	list := make([]vigil.UnobservedCheck, len(rows))
	for i := range rows {
		list[i] = rows[i].check()
	}
	return list, wrap("find checks that are observed again", err)
}

// EndUnobserved forgets that a check was not probed, and publishes its event, in one
// transaction. It changes nothing when this was done, or when the lease is of an older fence.
func (s *Store) EndUnobserved(ctx context.Context, lease vigil.SweepLease, checkID uuid.UUID) error {
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		now := s.instant()
		var rows []struct {
			unobservedRow `bun:",extend"`

			Known   bool `bun:"known"`
			Enabled bool `bun:"enabled"`
			Result  bool `bun:"result"`
		}
		err := tx.NewRaw(`WITH gone AS (
				DELETE FROM unobserved_checks AS d USING unobserved_checks AS u LEFT JOIN checks AS c ON c.id = u.check_id
				WHERE d.check_id = u.check_id AND u.check_id = ?0 AND ?1 AND `+isObserved(now)+` RETURNING d.*
			)
			SELECT g.*, c.id IS NOT NULL AS known, coalesce(c.enabled, false) AS enabled,
				EXISTS (SELECT FROM check_regions AS r WHERE r.check_id = g.check_id AND r.last_slot > g.since) AS result
			FROM gone AS g LEFT JOIN checks AS c ON c.id = g.check_id`, checkID, fenced(lease)).Scan(ctx, &rows)
		if err != nil || len(rows) == 0 {
			return wrap("delete", err)
		}
		row := &rows[0]
		var described describedCheck
		if err := json.Unmarshal(row.Described, &described); err != nil {
			return fmt.Errorf("read the description of the check: %w", err)
		}
		end := vigil.UnobservedChanged
		switch {
		case !row.Known:
			end = vigil.UnobservedDeleted
		case !row.Enabled:
			end = vigil.UnobservedDisabled
		case row.Result:
			end = vigil.ObservedAgain
		}
		var org orgRow
		if err := tx.NewSelect().Model(&org).Where("o.id = ?", row.OrgID).Scan(ctx); err != nil {
			return found("organization", err)
		}
		check := described.check(row.CheckID, row.OrgID)
		check.Enabled = row.Enabled
		return s.publishUnobserved(ctx, tx, &vigil.UnobservedContext{
			UnobservedCheck: row.check(), Check: check, Organization: org.organization(), Time: now, End: end,
		})
	})
	return wrap("record an observed check", err)
}

func (s *Store) publishUnobserved(ctx context.Context, tx bun.Tx, c *vigil.UnobservedContext) error {
	event, err := vigil.NewUnobservedEvent(c)
	if err != nil {
		return err
	}
	return s.publish(ctx, tx, event, nil)
}

// UnobservedLoops returns how many loops of all organizations are not probed although they
// should be, by region. Regions without any are left out.
func (s *Store) UnobservedLoops(ctx context.Context) (map[string]int64, error) {
	var rows []struct {
		Region string
		N      int64
	}
	err := s.db.NewRaw("SELECT r.region, count(*) AS n FROM check_regions AS r JOIN checks AS c ON c.id = r.check_id WHERE "+
		unobserved(at(s.instant()))+" GROUP BY r.region").Scan(ctx, &rows)
	counts := make(map[string]int64, len(rows))
	for _, row := range rows {
		counts[row.Region] = row.N
	}
	return counts, wrap("count unobserved loops", err)
}
