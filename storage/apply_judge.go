// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/account"
	"github.com/vigil-monitor/vigil/project"
)

// judge returns a CodePlanLimit error when the edits together exceed the plan.
func (a *applyRun) judge(ctx context.Context, changes *project.Changes) error {
	if err := a.judgeNumbers(ctx, changes); err != nil {
		return err
	}
	if err := a.judgeBudgets(ctx, changes); err != nil {
		return err
	}
	created, _ := countEdits(changes.Checks)
	if created == 0 || a.request.Allow.CreationsPerHour == account.Unlimited {
		return nil
	}
	var n int64
	err := a.tx.NewRaw("SELECT count(*) FROM check_creations WHERE org_id = ? AND at > ?", a.request.OrgID, a.now.Add(-creationWindow)).
		Scan(ctx, &n)
	if err != nil {
		return fmt.Errorf("count creations: %w", err)
	}
	if limit := a.request.Allow.CreationsPerHour; n+created > limit {
		return planLimit(a.request.Plan.Tier, limit, float64(n), float64(created), creationLimitText)
	}
	return nil
}

// countEdits counts what is created and what is deleted.
func countEdits[T any](edits []project.Edit[T]) (created, deleted int64) {
	for _, edit := range edits {
		switch {
		case edit.Before == nil:
			created++
		case edit.After == nil:
			deleted++
		}
	}
	return created, deleted
}

// judgeNumbers compares how many definitions there are at the end with the plan.
func (a *applyRun) judgeNumbers(ctx context.Context, changes *project.Changes) error {
	type number struct {
		kind             account.Limited
		owner            uuid.UUID
		created, deleted int64
	}
	org := a.request.OrgID
	numbers := []number{
		{kind: account.LimitChannels, owner: org},
		{kind: account.LimitChecks, owner: org},
		{kind: account.LimitStatusPages, owner: org},
		{kind: account.LimitMaintenanceWindows, owner: org},
	}
	numbers[0].created, numbers[0].deleted = countEdits(changes.Channels)
	numbers[1].created, numbers[1].deleted = countEdits(changes.Checks)
	numbers[2].created, numbers[2].deleted = countEdits(changes.Pages)
	numbers[3].created, numbers[3].deleted = countEdits(changes.Windows)
	rules := make(map[uuid.UUID]*number)
	var order []uuid.UUID
	for _, edit := range changes.Rules {
		rule := edit.After
		if rule == nil {
			rule = edit.Before
		}
		of := rules[rule.CheckID]
		if of == nil {
			of = &number{kind: account.LimitRulesPerCheck, owner: rule.CheckID}
			rules[rule.CheckID], order = of, append(order, rule.CheckID)
		}
		created, deleted := countEdits([]project.Edit[vigil.Rule]{edit})
		of.created, of.deleted = of.created+created, of.deleted+deleted
	}
	fresh := make(map[uuid.UUID]bool)
	for _, edit := range changes.Checks {
		if edit.Before == nil {
			fresh[edit.After.ID] = true
		}
	}
	for _, check := range order {
		limit := a.request.Plan.Tier.Limit(account.LimitRulesPerCheck)
		if !fresh[check] || limit != account.Unlimited && rules[check].created > limit { // else there is room without asking
			numbers = append(numbers, *rules[check])
		}
	}
	for _, one := range numbers {
		if one.created <= one.deleted {
			continue
		}
		if err := checkRoom(ctx, a.tx, a.request.Plan.Tier, one.kind, one.owner, one.created-one.deleted); err != nil {
			return err
		}
	}
	return nil
}

// judgeBudgets compares what the checks need at the end with the plan.
func (a *applyRun) judgeBudgets(ctx context.Context, changes *project.Changes) error {
	addedRuns, addedBytes := 0.0, 0.0
	for _, edit := range changes.Checks {
		if edit.Before != nil {
			addedRuns, addedBytes = addedRuns-edit.Before.HourlyCost(), addedBytes-edit.Before.HourlyBytes()
		}
		if edit.After != nil {
			addedRuns, addedBytes = addedRuns+edit.After.HourlyCost(), addedBytes+edit.After.HourlyBytes()
		}
	}
	org := a.request.OrgID
	used := 0.0
	if err := a.tx.NewRaw("SELECT "+hourlyCost+" FROM checks WHERE org_id = ? AND enabled", org).Scan(ctx, &used); err != nil {
		return fmt.Errorf("sum the budget: %w", err)
	}
	a.applied.ExecutionsBefore, a.applied.ExecutionsAfter = used, max(0, used+addedRuns)
	return checkBudgets(ctx, a.tx, org, addedRuns, addedBytes, a.request.Plan)
}
