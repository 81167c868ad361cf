// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/beats"
	"github.com/vigil-monitor/vigil/storage/definitions"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// UpdateCheck changes a check of the organization: change edits a copy of the stored
// check, and may return an error, which UpdateCheck returns unchanged. Only the
// definition can be changed (name, type, config, target, interval, regions, enabled,
// simultaneous, retry, evidence, labels, managed_by). When change leaves all of it equal,
// nothing is stored.
//
// A change raises the revision and the version by one and updates the loops. The schedule restarts, with
// slot 0 now, when the check is enabled, when its type, interval or Simultaneous changes,
// or when the regions of a staggered check change; a region that is added to a
// simultaneous check starts its own schedule only. A change that raises the hourly cost
// above the plan's budget is a CodePlanLimit error, an unknown check a CodeNotFound error.
func (s *Store) UpdateCheck(
	ctx context.Context, orgID, id uuid.UUID, plan account.Plan, change func(*vigil.Check) error,
) (vigil.Check, error) {
	var after vigil.Check
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := accounts.LockOrganization(ctx, tx, orgID); vigil.ErrorCode(err) == vigil.CodeNotFound {
			return vigil.NotFound("check")
		} else if err != nil {
			return err
		}
		if err := lockCheck(ctx, tx, orgID, id); err != nil {
			return err
		}
		stored, err := s.readChecks(ctx, tx, id)
		if err != nil {
			return err
		}
		if after, err = applyEdit(stored[0], change); err != nil {
			return err
		}
		changes := &project.Changes{Checks: []project.Edit[vigil.Check]{{Before: &stored[0], After: &after}}}
		if err := s.Edits(tx, orgID, plan, account.Allowance{}).Change(ctx, changes); err != nil {
			return err
		}
		return s.readHealth(ctx, tx, changes.Checks)
	})
	if err != nil {
		return vigil.Check{}, pg.Wrap("update check", err)
	}
	return after, nil
}

// readChecks reads checks, in the order of their ids.
func (s *Store) readChecks(ctx context.Context, tx bun.Tx, ids ...uuid.UUID) ([]vigil.Check, error) {
	var rows []definitions.CheckRow
	if err := s.definitions.SelectChecks(tx, &rows).
		Where("c.id = ANY(?::uuid[])", pgdialect.Array(ids)).
		OrderExpr("c.id").
		Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the checks: %w", err)
	}
	return s.definitions.OpenedChecks(rows)
}

// readHealth reads the health of the checks that changed, which is another one when a region
// was removed.
func (s *Store) readHealth(ctx context.Context, tx bun.Tx, edits []project.Edit[vigil.Check]) error {
	changed := make(map[uuid.UUID]*vigil.Check, len(edits))
	for _, edit := range edits {
		if edit.After.Revision != edit.Before.Revision {
			changed[edit.After.ID] = edit.After
		}
	}
	if len(changed) == 0 {
		return nil
	}
	var rows []definitions.CheckRow
	err := tx.NewSelect().Model(&rows).Column("c.id").ColumnExpr(definitions.LatestHealth).Join(s.definitions.LatestResult()).
		Where("c.id = ANY(?)", pgdialect.Array(slices.Collect(maps.Keys(changed)))).Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the health: %w", err)
	}
	for _, row := range rows {
		changed[row.ID].Health, changed[row.ID].LastChecked = vigil.Health(row.Health), row.LastChecked
	}
	return nil
}

// applyEdit applies change to a copy and returns before with the members of the
// definition taken from that copy.
func applyEdit(before vigil.Check, change func(*vigil.Check) error) (vigil.Check, error) {
	draft := before
	draft.Config, draft.Regions = slices.Clone(before.Config), slices.Clone(before.Regions)
	if err := change(&draft); err != nil {
		return vigil.Check{}, err
	}
	after := before
	after.Name, after.Type, after.Config, after.Target = draft.Name, draft.Type, draft.Config, draft.Target
	after.Interval, after.Regions = draft.Interval, draft.Regions
	after.Enabled, after.Simultaneous, after.Retry, after.Labels = draft.Enabled, draft.Simultaneous, draft.Retry, draft.Labels
	after.NoEvidence = draft.NoEvidence
	after.ManagedBy, after.AppliedVersion = draft.ManagedBy, definitions.ManagedChange(
		before.ManagedBy,
		draft.ManagedBy,
		before.AppliedVersion,
	)
	return after, nil
}

func sameDefinition(a, b *vigil.Check) bool {
	return a.Name == b.Name && a.Type == b.Type && a.Target == b.Target && a.Interval == b.Interval &&
		a.Enabled == b.Enabled && a.Simultaneous == b.Simultaneous && a.Retry.Normal() == b.Retry.Normal() &&
		a.NoEvidence == b.NoEvidence &&
		slices.Equal(a.Regions, b.Regions) && maps.Equal(a.Labels, b.Labels) && definitions.SameConfig(a.Config, b.Config)
}

// storeManager stores what manages a check whose definition stays. No loop needs to know,
// so only the version grows.
func (s *Store) storeManager(ctx context.Context, tx bun.Tx, before, after *vigil.Check) error {
	if vigil.SameManager(before.ManagedBy, after.ManagedBy) {
		return nil
	}
	after.Version, after.UpdatedAt = before.Version+1, s.db.Instant()
	row := &definitions.CheckRow{ID: after.ID, Version: after.Version, UpdatedAt: after.UpdatedAt}
	row.ManagedRow = definitions.ManagedColumns(after.ManagedBy, after.AppliedVersion)
	_, err := tx.NewUpdate().Model(row).WherePK().
		Column("version", "updated_at", "managed_tool", "managed_project", "managed_key", "applied_version").Exec(ctx)
	if err != nil {
		return definitions.ManagedTaken(fmt.Errorf("store what manages the check: %w", err), "check", after.ManagedBy)
	}
	return nil
}

// changeDefinition stores the new definition and updates the loops, which are locked.
func (s *Store) changeDefinition(ctx context.Context, tx bun.Tx, before, after *vigil.Check, loops []loops.Row) error {
	now := s.db.Instant()
	after.Revision, after.Version, after.UpdatedAt = before.Revision+1, before.Version+1, now
	restart := restarts(before, after)
	if restart {
		after.Anchor = vigil.NewAnchor(after.ID, now, after.Interval)
	}
	row, err := s.definitions.SealedRow(after)
	if err != nil {
		return err
	}
	_, err = tx.NewUpdate().Model(row).WherePK().Value("changed_at", "clock_timestamp()").
		Value("changed_xid", "pg_current_xact_id()").
		ExcludeColumn("id", "org_id", "expires_at", "created_at").Exec(ctx)
	if err != nil {
		return definitions.ManagedTaken(definitions.Unstorable(fmt.Errorf("store the definition: %w", err)), "check", after.ManagedBy)
	}
	if err := beats.EnsureTokens(ctx, tx, s.definitions.Keyring, after); err != nil {
		return err
	}
	return updateLoops(ctx, tx, loops, before, after, restart, now)
}

// restarts reports whether the change restarts the schedule of every region.
func restarts(before, after *vigil.Check) bool {
	switch {
	case !after.Enabled:
		return false
	case !before.Enabled, before.Type != after.Type, before.Interval != after.Interval, before.Simultaneous != after.Simultaneous,
		!before.SameTimes(after):
		return true
	default:
		return !after.Simultaneous && !slices.Equal(before.Regions, after.Regions)
	}
}

// updateLoops brings the rows of the locked loops to the new definition: a removed region gets a
// tombstone, an added region starts now, and the others get the new revision and, after a
// restart, the new schedule. Slots of an ended schedule that have no result count as
// missed.
func updateLoops(ctx context.Context, tx bun.Tx, locked []loops.Row, before, after *vigil.Check, restart bool, now time.Time) error {
	var removed []string
	existing := make(map[string]bool, len(locked))
	for i := range locked {
		loop := &locked[i]
		existing[loop.Region] = true
		isRemoved := !slices.Contains(after.Regions, loop.Region)
		if loop.Active && (restart || isRemoved || !after.Enabled) {
			if err := closeSchedule(ctx, tx, loop, now); err != nil {
				return err
			}
		}
		if isRemoved {
			removed = append(removed, loop.Region)
			continue
		}
		if restart {
			loop.KeepState(before, after)
		}
		loop.ApplyDefinition(after, restart, now)
		if _, err := tx.NewUpdate().Model(loop).WherePK().Exec(ctx); err != nil {
			return fmt.Errorf("store a loop: %w", err)
		}
	}
	if err := loops.AddTombstones(ctx, tx, after.ID, removed, after.Revision); err != nil {
		return err
	}
	if !after.Enabled {
		if err := incidents.DropVotes(ctx, tx, after.ID); err != nil {
			return err
		}
	}
	added := slices.DeleteFunc(slices.Clone(after.Regions), func(region string) bool { return existing[region] })
	if err := loops.Insert(ctx, tx, loops.NewRows(after, added, now)); err != nil {
		return err
	}
	return restoreMissed(ctx, tx, after.ID, added)
}

// restoreMissed sets the missed count of added loops from the gaps of an earlier time in
// these regions: the gaps are still stored, and a late result may still fill one.
func restoreMissed(ctx context.Context, tx bun.Tx, checkID uuid.UUID, regions []string) error {
	if len(regions) == 0 {
		return nil
	}
	_, err := tx.NewRaw(`UPDATE check_regions AS r SET missed = g.missed
		FROM (SELECT region, sum(count) AS missed FROM result_gaps WHERE check_id = ?0 AND region = ANY(?1) GROUP BY region) AS g
		WHERE r.check_id = ?0 AND r.region = g.region`, checkID, pgdialect.Array(regions)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("restore the count of missed slots: %w", err)
	}
	return nil
}

// closeSchedule ends the schedule of a locked loop: its past slots without a result
// become gaps, except those in maintenance that pauses probing. When a slot is still being probed, its result later fills the gap.
func closeSchedule(ctx context.Context, tx bun.Tx, loop *loops.Row, now time.Time) error {
	if len(loops.GapsBetween(loop.Schedule(), loop.CountedUntil, now)) > 0 {
		var err error
		if loop.Pauses, err = loops.PausesOf(ctx, tx, loop.CheckID, loop.CountedUntil, now); err != nil {
			return err
		}
	}
	for _, g := range loops.GapsOutside(loop.Schedule(), loop.CountedUntil, now, loop.Pauses) {
		_, err := tx.NewRaw(`INSERT INTO result_gaps (check_id, region, first_slot, last_slot, step_ms, count)
			VALUES (?check, ?region, ?first, ?last, ?step_ms, ?count)`,
			pg.Named{
				"check": loop.CheckID, "region": loop.Region, "first": g.First, "last": g.Last, "step_ms": pg.Milliseconds(g.Step),
				"count": g.Count,
			}).Exec(ctx)
		if err != nil {
			return fmt.Errorf("record missed slots: %w", err)
		}
		loop.Missed += g.Count
	}
	if loop.CountedUntil.Before(now) {
		loop.CountedUntil = now
	}
	return nil
}
