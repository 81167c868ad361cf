// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/account"
)

// CreateCheck stores a new check and the rows of its loops, whose slot 0 is now. It
// fills in zero ids and times and sets anchor and revision. A check that exceeds the
// plan's number of checks, its hourly budget of executions, or the hourly allowance of
// creations, is a CodePlanLimit error with limit, current and requested values in its
// details. An id, or a managed_by, that exists is a CodeConflict error.
func (s *Store) CreateCheck(ctx context.Context, c vigil.Check, plan account.Plan, allow account.Allowance) (vigil.Check, error) {
	now := s.instant()
	c.ID = idOrNew(c.ID)
	c.CreatedAt, c.UpdatedAt = timeOrDefault(c.CreatedAt, now), timeOrDefault(c.UpdatedAt, now)
	c.Anchor, c.Revision, c.Version = vigil.NewAnchor(c.ID, now, c.Interval), 1, 1
	c.Health, c.LastChecked = vigil.Unknown, nil
	if c.ExpiresAt != nil {
		expires := micro(*c.ExpiresAt)
		c.ExpiresAt = &expires
	}
	row, err := s.sealedRow(&c)
	if err != nil {
		return vigil.Check{}, wrap("create check", err)
	}
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockForCheck(ctx, tx, c.OrgID, plan, allow); err != nil {
			return err
		}
		if err := checkLimit(ctx, tx, plan.Tier, account.LimitChecks, c.OrgID); err != nil {
			return err
		}
		if err := checkBudget(ctx, tx, &c, plan); err != nil {
			return err
		}
		if err := checkThroughput(ctx, tx, &c, plan); err != nil {
			return err
		}
		if err := countCreation(ctx, tx, c.OrgID, plan.Tier, allow, now); err != nil {
			return err
		}
		if _, err := tx.NewInsert().Model(row).Exec(ctx); err != nil {
			if violates(err, "checks_pkey") {
				return vigil.Errorf(vigil.CodeConflict, "A check with this id exists already.")
			}
			return managedTaken(unstorable(fmt.Errorf("insert: %w", err)), "check", c.ManagedBy)
		}
		if err := insertLoops(ctx, tx, &c, c.Regions, now); err != nil {
			return err
		}
		return keepAnswer(ctx, tx, c)
	})
	if err != nil {
		return vigil.Check{}, wrap("create check", err)
	}
	return c, nil
}

// checkBudget returns a CodePlanLimit error when the check would raise the cost of the
// organization's enabled checks above the hourly budget of its plan.
func checkBudget(ctx context.Context, tx bun.Tx, c *vigil.Check, plan account.Plan) error {
	cost := c.HourlyCost()
	if plan.ExecutionsPerHour == account.Unlimited || cost == 0 {
		return nil
	}
	var used float64
	err := tx.NewRaw("SELECT "+hourlyCost+" FROM checks WHERE org_id = ? AND enabled AND id <> ?", c.OrgID, c.ID).Scan(ctx, &used)
	if err != nil {
		return fmt.Errorf("sum the budget: %w", err)
	}
	const tolerance = 1e-6 // the sum adds fractions
	if used+cost <= float64(plan.ExecutionsPerHour)+tolerance {
		return nil
	}
	return planLimit(plan.Tier, plan.ExecutionsPerHour, used, cost,
		"The check needs %g executions an hour, and the organization's enabled checks already use %g of the %d that the %s plan allows. "+
			"Choose a longer interval or fewer regions, disable other checks, or change the plan.")
}

// hourlyCost is an SQL expression: the sum of vigil.Check.HourlyCost over rows of
// checks, in executions an hour.
const hourlyCost = "coalesce(sum(3600000.0 / interval_ms * cardinality(regions)), 0)::float8"

// creationWindow is the time in which creations are counted.
const creationWindow = time.Hour

const creationLimitText = "Creating %g more check would make more than the hour's allowance: " +
	"%g of %d were created within the last hour on the %s plan. Try again later."

// countCreation records a creation, or returns a CodePlanLimit error when the
// allowance of the last hour is used up. Deleting a check does not restore the
// allowance. Creations without a limit are not counted.
func countCreation(ctx context.Context, tx bun.Tx, orgID uuid.UUID, tier account.Tier, allow account.Allowance, now time.Time) error {
	if allow.CreationsPerHour == account.Unlimited {
		return nil
	}
	_, err := tx.NewRaw("DELETE FROM check_creations WHERE org_id = ? AND at <= ?", orgID, now.Add(-creationWindow)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete old creations: %w", err)
	}
	var n int64
	if err := tx.NewRaw("SELECT count(*) FROM check_creations WHERE org_id = ?", orgID).Scan(ctx, &n); err != nil {
		return fmt.Errorf("count creations: %w", err)
	}
	if n >= allow.CreationsPerHour {
		return planLimit(tier, allow.CreationsPerHour, float64(n), 1, creationLimitText)
	}
	if _, err := tx.NewRaw("INSERT INTO check_creations (org_id, at) VALUES (?, ?)", orgID, now).Exec(ctx); err != nil {
		return fmt.Errorf("record the creation: %w", err)
	}
	return nil
}

// Check finds a check of the organization. An unknown check, or one of another
// organization, is a CodeNotFound error.
func (s *Store) Check(ctx context.Context, orgID, id uuid.UUID) (vigil.Check, error) {
	var row checkRow
	err := s.selectChecks(s.db, &row).Where("c.id = ? AND c.org_id = ?", id, orgID).Scan(ctx)
	if err != nil {
		return vigil.Check{}, found("check", err)
	}
	check, err := s.opened(&row)
	return check, wrap("read check", err)
}

// DeleteCheck deletes a check of the organization, its rules and its loops, adds a
// tombstone for each loop and returns their regions. Its open incident ends, and the channels
// that are notified of that are in the edit. The check's results, incidents and
// deliveries are not found any more; PurgeLoop deletes their rows. An unknown check is a
// CodeNotFound error, and a version that match does not accept a CodePrecondition error.
func (s *Store) DeleteCheck(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) (vigil.CheckEdit, error) {
	edit := vigil.CheckEdit{Before: vigil.Check{ID: id, OrgID: orgID}, Changed: true}
	err := s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCheck(ctx, tx, orgID, id); err != nil {
			return err
		}
		if err := matchStored(ctx, tx, "check", "SELECT version FROM checks WHERE id = ?", id, match); err != nil {
			return err
		}
		if err := s.leavePages(ctx, tx, id); err != nil {
			return err
		}
		if err := s.leaveMaintenance(ctx, tx, id); err != nil {
			return err
		}
		return s.deleteLocked(ctx, tx, []*vigil.CheckEdit{&edit})
	})
	return edit, wrap("delete check", err)
}

// lockCheck serializes changes of a check. The lock mode, FOR NO KEY UPDATE, still
// lets other transactions insert rows that refer to the check: the result writer
// holds the locks of the loops and must not wait for this one.
func lockCheck(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) error {
	var locked uuid.UUID
	err := tx.NewRaw("SELECT id FROM checks WHERE id = ? AND org_id = ? FOR NO KEY UPDATE", id, orgID).Scan(ctx, &locked)
	return found("check", err)
}

// deleteLocked deletes checks whose rows are locked and publishes the ends of their
// incidents, which must be the last statements of the transaction. It adds the regions and
// the deliveries to the edits.
func (s *Store) deleteLocked(ctx context.Context, tx bun.Tx, edits []*vigil.CheckEdit) error {
	ends, err := s.endIncidents(ctx, tx, edits)
	if err != nil {
		return err
	}
	for _, edit := range edits {
		if edit.Stopped, err = deleteOne(ctx, tx, edit.Before.ID); err != nil {
			return err
		}
	}
	return s.publishEnds(ctx, tx, ends, edits)
}

// deleteOne deletes a check whose row is locked, and returns its regions. It first
// locks the loops, so that no writer adds results. A writer that waits for these locks
// delays the results of other checks too, so all that may be many rows is deleted
// later (see purge).
func deleteOne(ctx context.Context, tx bun.Tx, id uuid.UUID) ([]string, error) {
	loops, err := lockLoops(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	regions := make([]string, len(loops))
	for i := range loops {
		regions[i] = loops[i].Region
	}
	if err := addTombstones(ctx, tx, id, regions, 0); err != nil {
		return nil, err
	}
	if _, err := tx.NewRaw("DELETE FROM checks WHERE id = ?", id).Exec(ctx); err != nil {
		return nil, fmt.Errorf("delete: %w", err)
	}
	return regions, nil
}

// ExpireChecks deletes up to 1,000 checks whose ExpiresAt is not after now, as
// DeleteCheck does, and returns how many it deleted. A check that cannot be deleted
// does not stop the others; its error is part of the returned one.
func (s *Store) ExpireChecks(ctx context.Context, now time.Time) (n int, err error) {
	var due []struct {
		ID    uuid.UUID `bun:"id"`
		OrgID uuid.UUID `bun:"org_id"`
	}
	const batch = 1000
	err = s.db.NewRaw("SELECT id, org_id FROM checks WHERE expires_at <= ? ORDER BY expires_at LIMIT ?", micro(now), batch).Scan(ctx, &due)
	if err != nil {
		return 0, wrap("find expired checks", err)
	}
	for _, check := range due {
		deleted, deleteErr := s.expire(ctx, check.OrgID, check.ID, now)
		if deleted {
			n++
		}
		err = errors.Join(err, deleteErr)
	}
	return n, err
}

// expire deletes a check unless it has been made permanent, or deleted, in the
// meantime. A check that was created while the organization verified an address may
// still have an expiry time: expire clears that time instead, since checks of such an
// organization are permanent.
func (s *Store) expire(ctx context.Context, orgID, id uuid.UUID, now time.Time) (deleted bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCheck(ctx, tx, orgID, id); err != nil {
			return err
		}
		var due bool
		err := tx.NewRaw("SELECT coalesce(expires_at <= ?, false) FROM checks WHERE id = ?", micro(now), id).Scan(ctx, &due)
		if err != nil || !due {
			return err
		}
		permanent, err := tx.NewRaw("UPDATE checks SET expires_at = NULL WHERE id = ? AND "+orgHasVerifiedEmail, id, orgID).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := permanent.RowsAffected(); err != nil || n > 0 {
			return err
		}
		if err := s.leavePages(ctx, tx, id); err != nil {
			return err
		}
		if err := s.leaveMaintenance(ctx, tx, id); err != nil {
			return err
		}
		err = s.deleteLocked(ctx, tx, []*vigil.CheckEdit{{Before: vigil.Check{ID: id, OrgID: orgID}}})
		deleted = err == nil
		return err
	})
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return false, nil
	}
	return deleted && err == nil, wrap("expire check", err)
}
