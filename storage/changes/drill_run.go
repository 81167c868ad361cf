// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// drillCheckRetention is for how long the hidden check of a drill is kept after its end, with what
// its loops stored: the receipt has what people read.
const drillCheckRetention = 7 * 24 * time.Hour

// drillConfig is the config of a hidden check; see probe.DrillConfig.
func drillConfig(fails bool) json.RawMessage { return fmt.Appendf(nil, `{"fails": %t}`, fails) }

// lockDrill reads a drill and locks it.
func lockDrill(ctx context.Context, tx bun.Tx, id uuid.UUID) (drillRow, drills.Drill, error) {
	var row drillRow
	if err := tx.NewSelect().Model(&row).Where("dr.id = ?", id).For("UPDATE").Scan(ctx); err != nil {
		return row, drills.Drill{}, pg.Found("drill", err)
	}
	drill, err := row.drill()
	return row, drill, err
}

// drillEdits are edits of a hidden check, which no plan limits and no audit log has.
func (s *Store) drillEdits(tx bun.Tx, orgID uuid.UUID) *Edits {
	e := s.Edits(tx, orgID, account.Plan{}, account.Allowance{CreationsPerHour: account.Unlimited})
	e.unjudged = true
	return e
}

// StageDrill creates the check of a drill, with its rules and loops, and returns the loops, which
// are to be started. Repeated, it changes nothing. A drill that was canceled before has none. When
// none of its channels is left, that is a CodeInvalid error.
func (s *Store) StageDrill(ctx context.Context, id uuid.UUID) ([]vigil.Loop, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := lockOrganizationOfDrill(ctx, tx, id); err != nil {
			return err
		}
		row, drill, err := lockDrill(ctx, tx, id)
		if err != nil || drill.State != drills.Asked || drill.CanceledAt != nil {
			return err
		}
		if drill.Rules, err = keptRules(ctx, tx, &drill); err != nil {
			return err
		}
		check := vigil.Check{
			ID: drill.ID, OrgID: drill.OrgID, DrillID: drill.ID, Name: "Drill", Type: vigil.TypeDrill, Config: drillConfig(true), Target: "drill",
			Interval: drills.Interval, Regions: drill.Regions, Enabled: true, Simultaneous: true, NoEvidence: true, Labels: drill.Labels,
		}
		changes := &project.Changes{Checks: []project.Edit[vigil.Check]{{After: &check}}}
		for i := range drill.Rules {
			changes.Rules = append(changes.Rules, project.Edit[vigil.Rule]{After: &drill.Rules[i]})
		}
		if err := s.drillEdits(tx, drill.OrgID).Change(ctx, changes); err != nil {
			return err
		}
		if _, err := tx.NewRaw("UPDATE alert_rules SET drill_id = check_id WHERE check_id = ?", id).Exec(ctx); err != nil {
			return fmt.Errorf("mark the rules: %w", err)
		}
		now := s.db.Instant()
		row.State, row.StagedAt, row.ProgressAt = string(drills.Failing), &now, now
		return storeDrill(ctx, tx, &row, "state", "staged_at", "progress_at")
	})
	if err != nil {
		return nil, pg.Wrap("stage a drill", err)
	}
	return s.loops.LoopsOf(ctx, id)
}

// lockOrganizationOfDrill refuses a drill whose organization was deleted meanwhile: its checks are
// deleted once. That is a CodeInvalid error.
func lockOrganizationOfDrill(ctx context.Context, tx bun.Tx, id uuid.UUID) error {
	var orgID uuid.UUID
	if err := tx.NewRaw("SELECT org_id FROM drills WHERE id = ?", id).Scan(ctx, &orgID); err != nil {
		return pg.Found("drill", err)
	}
	_, err := accounts.LockOrganization(ctx, tx, orgID)
	if vigil.ErrorCode(err) == vigil.CodeUnauthorized {
		return vigil.Invalid("channel_ids", "the organization of the drill has been deleted")
	}
	return err
}

func storeDrill(ctx context.Context, tx bun.Tx, row *drillRow, columns ...string) error {
	if _, err := tx.NewUpdate().Model(row).WherePK().Column(columns...).Exec(ctx); err != nil {
		return fmt.Errorf("store the drill: %w", err)
	}
	return nil
}

// keptRules are the rules of a drill without the channels that were deleted since it was asked for.
func keptRules(ctx context.Context, tx bun.Tx, drill *drills.Drill) ([]vigil.Rule, error) {
	var named, known []uuid.UUID
	for _, rule := range drill.Rules {
		named = append(named, rule.Channels...)
	}
	err := tx.NewRaw("SELECT id FROM channels WHERE org_id = ? AND id = ANY(?) ORDER BY id FOR SHARE", drill.OrgID, pgdialect.Array(named)).
		Scan(ctx, &known)
	if err != nil {
		return nil, fmt.Errorf("read the channels: %w", err)
	}
	var rules []vigil.Rule
	for _, rule := range drill.Rules {
		rule.Channels = slices.DeleteFunc(rule.Channels, func(id uuid.UUID) bool { return !slices.Contains(known, id) })
		if len(rule.Channels) > 0 || len(drill.Request.SubscriptionIDs) > 0 {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		return nil, vigil.Invalid("channel_ids", "none of the channels of the drill exists any more")
	}
	return rules, nil
}

// HealDrill makes the check of a drill healthy and returns its loops, which are to be woken.
// Repeated, it changes nothing.
func (s *Store) HealDrill(ctx context.Context, id uuid.UUID) ([]vigil.Loop, error) {
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		row, drill, err := lockDrill(ctx, tx, id)
		if err != nil || drill.State != drills.Failing {
			return err
		}
		if err := s.editDrillCheck(ctx, tx, &drill, func(c *vigil.Check) { c.Config = drillConfig(false) }); err != nil {
			return err
		}
		now := s.db.Instant()
		row.State, row.HealedAt, row.ProgressAt = string(drills.Recovering), &now, now
		return storeDrill(ctx, tx, &row, "state", "healed_at", "progress_at")
	})
	if err != nil {
		return nil, pg.Wrap("heal a drill", err)
	}
	return s.loops.LoopsOf(ctx, id)
}

// editDrillCheck changes the hidden check of a drill. One that is gone stays so.
func (s *Store) editDrillCheck(ctx context.Context, tx bun.Tx, drill *drills.Drill, change func(*vigil.Check)) error {
	err := lockAnyCheck(ctx, tx, drill.OrgID, drill.ID)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	before, err := s.readChecks(ctx, tx, drill.ID)
	if err != nil {
		return err
	}
	after := before[0]
	change(&after)
	return s.drillEdits(tx, drill.OrgID).Change(ctx, &project.Changes{
		Checks: []project.Edit[vigil.Check]{{Before: &before[0], After: &after}},
	})
}

// CloseDrill ends a drill: it stores the receipt, ends what was not sent, and disables the hidden
// check, whose loops and incident are to be woken. The receipt is made from what is stored, with
// the version of the program, and sign returns a signature of its text, which may be empty.
// Repeated, it changes nothing and returns the drill as it is; closed is then false. A drill that
// was not canceled is followed by the event drill.passed or drill.failed.
func (s *Store) CloseDrill(
	ctx context.Context, id uuid.UUID, version string, sign func(receipt []byte) (string, error),
) (drill drills.Drill, closed bool, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		row, read, err := lockDrill(ctx, tx, id)
		if drill = read; err != nil || drill.State == drills.Closed {
			return err
		}
		facts, _, err := s.drillFacts(ctx, tx, &row)
		if err != nil {
			return err
		}
		var organization string
		if err := tx.NewRaw("SELECT name FROM organizations WHERE id = ?", drill.OrgID).Scan(ctx, &organization); err != nil {
			return pg.Found("organization", err)
		}
		now := s.db.Instant()
		receipt := drills.NewReceipt(&drill, &facts, organization, version, now)
		text, err := json.Marshal(receipt)
		if err != nil {
			return fmt.Errorf("encode the receipt: %w", err)
		}
		if row.Signature, err = sign(text); err != nil {
			return fmt.Errorf("sign the receipt: %w", err)
		}
		if err := s.endDrillCheck(ctx, tx, &drill, now); err != nil {
			return err
		}
		row.State, row.ClosedAt, row.ProgressAt, row.Verdict = string(drills.Closed), &now, now, string(receipt.Verdict)
		row.Receipt = new(string(text))
		if receipt.Verdict == drills.Failed {
			row.NoticeDueAt = &now
		}
		err = storeDrill(ctx, tx, &row, "state", "closed_at", "progress_at", "verdict", "receipt", "signature", "notice_due_at")
		if err != nil {
			return err
		}
		if err := noteLastDrill(ctx, tx, &row, now); err != nil {
			return err
		}
		if drill, err = row.drill(); err != nil {
			return err
		}
		closed = true
		if drill.CanceledAt != nil {
			return nil
		}
		return s.incidents.PublishSystem(ctx, tx, drills.Event(drill.Receipt, now))
	})
	return drill, closed && err == nil, pg.Wrap("close a drill", err)
}

// endDrillCheck disables the hidden check of a drill, lets it expire later, and ends the messages
// that have not arrived: nothing of a drill may arrive hours after its end.
func (s *Store) endDrillCheck(ctx context.Context, tx bun.Tx, drill *drills.Drill, now time.Time) error {
	if err := s.editDrillCheck(ctx, tx, drill, func(c *vigil.Check) { c.Enabled = false }); err != nil {
		return err
	}
	_, err := tx.NewRaw("UPDATE checks SET expires_at = ? WHERE id = ?", pg.Micro(now.Add(drillCheckRetention)), drill.ID).Exec(ctx)
	if err != nil {
		return fmt.Errorf("let the check expire: %w", err)
	}
	return s.incidents.CancelDeliveries(ctx, tx, drill.ID)
}

// drillSilence is for how long the workflow of a drill may leave no trace until it counts as lost.
const drillSilence = 30 * time.Second

// StalledDrills returns up to limit drills without progress for 30 s, or that should have ended.
func (s *Store) StalledDrills(ctx context.Context, limit int) ([]drills.Stalled, error) {
	var rows []drills.Stalled
	now := s.db.Instant()
	err := s.db.NewRaw(`SELECT id, org_id, asked_at <= ?0 AS old FROM drills
		WHERE state <> 'closed' AND (progress_at <= ?1 OR asked_at <= ?0) ORDER BY progress_at LIMIT ?2`,
		now.Add(-drills.MaxTime), now.Add(-drillSilence), limit).Scan(ctx, &rows)
	return rows, pg.Wrap("find stalled drills", err)
}
