// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/beats"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CreateCheck stores a new check and the rows of its loops, whose slot 0 is now. It
// fills in zero ids and times and sets anchor and revision. A check that exceeds the
// plan's number of checks, its hourly budgets of executions and of bytes, or the hourly
// allowance of creations, is a CodePlanLimit error with limit, current and requested values
// in its details. An id, or a managed_by, that exists is a CodeConflict error.
//
// Rules are stored with the check, or nothing is; their errors are those of CreateRule. Then the check and
// each rule have an audit entry of their own.
func (s *Store) CreateCheck(
	ctx context.Context, c vigil.Check, plan account.Plan, allow account.Allowance, rules ...vigil.Rule,
) (vigil.Check, error) {
	if len(rules) > 0 {
		return s.createWithRules(ctx, c, plan, allow, rules)
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := accounts.LockForCheck(ctx, tx, c.OrgID, plan, allow); err != nil {
			return err
		}
		return s.createLocked(ctx, tx, &c, plan, allow)
	})
	if err != nil {
		return vigil.Check{}, pg.Wrap("create check", err)
	}
	return c, nil
}

// createWithRules is CreateCheck with rules.
func (s *Store) createWithRules(
	ctx context.Context, c vigil.Check, plan account.Plan, allow account.Allowance, rules []vigil.Rule,
) (vigil.Check, error) {
	err := s.editMany(ctx, func(ctx context.Context, tx bun.Tx, entry *audit.Entry) error {
		if err := accounts.LockForCheck(ctx, tx, c.OrgID, plan, allow); err != nil {
			return err
		}
		edits := s.Edits(tx, c.OrgID, plan, allow)
		edits.entry, edits.rulesAt = entry, "rules"
		changes := &project.Changes{Checks: []project.Edit[vigil.Check]{{After: &c}}, Rules: make([]project.Edit[vigil.Rule], len(rules))}
		for i := range rules {
			changes.Rules[i].After = &rules[i]
		}
		if entry != nil {
			changes.Checks[0].Members = entry.Members
		}
		if err := edits.Change(ctx, changes); err != nil {
			return err
		}
		return accounts.KeepAnswer(ctx, tx, c)
	})
	if err != nil {
		return vigil.Check{}, pg.Wrap("create check", err)
	}
	return c, nil
}

// createLocked stores a new check of an organization that is locked.
func (s *Store) createLocked(ctx context.Context, tx bun.Tx, c *vigil.Check, plan account.Plan, allow account.Allowance) error {
	changes := &project.Changes{Checks: []project.Edit[vigil.Check]{{After: c}}}
	if err := s.Edits(tx, c.OrgID, plan, allow).Change(ctx, changes); err != nil {
		return err
	}
	return accounts.KeepAnswer(ctx, tx, *c)
}

// errSlugTaken ends the transaction of a heartbeat whose slug another one has.
var errSlugTaken = errors.New("the slug is taken")

// CreatePinged is CreateCheck for a heartbeat that a ping with a ping key asks for. Where one of the
// organization has the slug already, nothing is stored, and created is false. A key that has ended
// is a CodeNotFound error.
func (s *Store) CreatePinged(
	ctx context.Context, key account.PingKey, slug string, c vigil.Check, plan account.Plan, allow account.Allowance,
) (check vigil.Check, created bool, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		switch err := accounts.LockForCheck(ctx, tx, c.OrgID, plan, allow); {
		case vigil.ErrorCode(err) == vigil.CodeUnauthorized: // the organization was deleted, and its key with it
			return vigil.NotFound("ping key")
		case err != nil:
			return err
		}
		if free, err := beats.LockSlug(ctx, tx, key, slug); err != nil {
			return err
		} else if !free {
			return errSlugTaken
		}
		return s.createLocked(ctx, tx, &c, plan, allow)
	})
	if errors.Is(err, errSlugTaken) {
		return vigil.Check{}, false, nil
	}
	if err != nil {
		return vigil.Check{}, false, pg.Wrap("create a heartbeat", err)
	}
	return c, true, nil
}

// Check finds a check of the organization. An unknown check, or one of another
// organization, is a CodeNotFound error.
func (s *Store) Check(ctx context.Context, orgID, id uuid.UUID) (vigil.Check, error) {
	var row definitions.CheckRow
	err := s.definitions.SelectChecks(s.db, &row).Where("c.id = ? AND c.org_id = ? AND c."+pg.NotDrill, id, orgID).Scan(ctx)
	if err != nil {
		return vigil.Check{}, pg.Found("check", err)
	}
	check, err := s.definitions.Opened(&row)
	return check, pg.Wrap("read check", err)
}

// DeleteCheck deletes a check of the organization, its rules and its loops, adds a
// tombstone for each loop and returns their regions. Its open incident ends, and the channels
// that are notified of that are in the edit. The check's results, incidents and
// deliveries are not found any more; PurgeLoop deletes their rows. An unknown check is a
// CodeNotFound error, and a version that match does not accept a CodePrecondition error.
func (s *Store) DeleteCheck(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) (edit vigil.CheckEdit, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockCheck(ctx, tx, orgID, id); err != nil {
			return err
		}
		if err := pg.MatchStored(ctx, tx, "check", "SELECT version FROM checks WHERE id = ?", id, match); err != nil {
			return err
		}
		edit, err = s.deleteLocked(ctx, tx, orgID, id)
		return err
	})
	return edit, pg.Wrap("delete check", err)
}

// deleteLocked deletes a check whose row is locked.
func (s *Store) deleteLocked(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) (vigil.CheckEdit, error) {
	e := s.Edits(tx, orgID, account.Plan{}, account.Allowance{})
	if err := e.Change(ctx, Deletion(vigil.Check{ID: id, OrgID: orgID})); err != nil {
		return vigil.CheckEdit{}, err
	}
	return e.woken[0], nil
}

// Deletion returns the edits that delete checks.
func Deletion(checks ...vigil.Check) *project.Changes {
	edits := make([]project.Edit[vigil.Check], len(checks))
	for i := range checks {
		edits[i].Before = &checks[i]
	}
	return &project.Changes{Checks: edits}
}

// lockCheck serializes changes of a check; that of a drill is not found. The lock mode, FOR NO KEY UPDATE, still
// lets other transactions insert rows that refer to the check: the result writer
// holds the locks of the loops and must not wait for this one.
func lockCheck(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) error {
	var locked uuid.UUID
	err := tx.NewRaw("SELECT id FROM checks WHERE id = ? AND org_id = ? AND "+pg.NotDrill+" FOR NO KEY UPDATE", id, orgID).Scan(ctx, &locked)
	return pg.Found("check", err)
}

// lockAnyCheck is lockCheck for that of a drill as well.
func lockAnyCheck(ctx context.Context, tx bun.Tx, orgID, id uuid.UUID) error {
	var locked uuid.UUID
	err := tx.NewRaw("SELECT id FROM checks WHERE id = ? AND org_id = ? FOR NO KEY UPDATE", id, orgID).Scan(ctx, &locked)
	return pg.Found("check", err)
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
	err = s.db.NewRaw("SELECT id, org_id FROM checks WHERE expires_at <= ? ORDER BY expires_at LIMIT ?", pg.Micro(now), batch).Scan(ctx, &due)
	if err != nil {
		return 0, pg.Wrap("find expired checks", err)
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
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockAnyCheck(ctx, tx, orgID, id); err != nil {
			return err
		}
		var due bool
		err := tx.NewRaw("SELECT coalesce(expires_at <= ?, false) FROM checks WHERE id = ?", pg.Micro(now), id).Scan(ctx, &due)
		if err != nil || !due {
			return err
		}
		const permanently = "UPDATE checks SET expires_at = NULL WHERE id = ? AND " + pg.NotDrill + " AND " + accounts.HasVerifiedEmail
		permanent, err := tx.NewRaw(permanently, id, orgID).Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := permanent.RowsAffected(); err != nil || n > 0 {
			return err
		}
		_, err = s.deleteLocked(ctx, tx, orgID, id)
		deleted = err == nil
		return err
	})
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return false, nil
	}
	return deleted && err == nil, pg.Wrap("expire check", err)
}
