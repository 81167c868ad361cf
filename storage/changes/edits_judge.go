// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/storage/accounts"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// judge returns a CodePlanLimit error when the edits together exceed the plan: the numbers of
// definitions, what the checks need in an hour, and the creations of the last hour. None of
// the edits is stored yet.
func (e *Edits) judge(ctx context.Context, changes *project.Changes) error {
	e.now = e.db.db.Instant()
	if e.unjudged {
		return nil
	}
	for _, step := range []func(context.Context, *project.Changes) error{e.judgeNumbers, e.judgeRules, e.judgeBudgets, e.judgeCreations} {
		if err := step(ctx, changes); err != nil {
			return err
		}
	}
	return nil
}

// grown is how many more definitions there are after edits.
func grown[T any](edits []project.Edit[T]) (more int64) {
	for _, edit := range edits {
		switch {
		case edit.Before == nil:
			more++
		case edit.After == nil:
			more--
		}
	}
	return more
}

// judgeNumbers compares how many definitions the organization has at the end with the plan.
func (e *Edits) judgeNumbers(ctx context.Context, changes *project.Changes) error {
	for _, one := range []struct {
		kind account.Limited
		more int64
	}{
		{account.LimitChannels, grown(changes.Channels)},
		{account.LimitChecks, grown(changes.Checks)},
		{account.LimitStatusPages, grown(changes.Pages)},
		{account.LimitMaintenanceWindows, grown(changes.Windows)},
		{account.LimitSubscriptions, grown(changes.Subscriptions)},
	} {
		if err := accounts.CheckRoom(ctx, e.tx, e.plan.Tier, one.kind, e.orgID, one.more); err != nil {
			return err
		}
	}
	return nil
}

// judgeRules compares how many rules each check has at the end with the plan.
func (e *Edits) judgeRules(ctx context.Context, changes *project.Changes) error {
	more := make(map[uuid.UUID]int64)
	var order []uuid.UUID
	for i := range changes.Rules {
		check := ruleOf(&changes.Rules[i]).CheckID
		if _, known := more[check]; !known {
			order = append(order, check)
		}
		more[check] += grown(changes.Rules[i : i+1])
	}
	fresh := make(map[uuid.UUID]bool)
	for _, edit := range changes.Checks {
		if edit.Before == nil {
			fresh[edit.After.ID] = true
		}
	}
	for _, check := range order {
		if fresh[check] && more[check] <= e.plan.Tier.Limit(account.LimitRulesPerCheck) {
			continue // a new check has room, without asking
		}
		if err := accounts.CheckRoom(ctx, e.tx, e.plan.Tier, account.LimitRulesPerCheck, check, more[check]); err != nil {
			return err
		}
	}
	return nil
}

// ruleOf returns the rule of an edit as it is at the end, or was.
func ruleOf(edit *project.Edit[vigil.Rule]) *vigil.Rule {
	if edit.After != nil {
		return edit.After
	}
	return edit.Before
}

// judgeBudgets compares what the enabled checks need in an hour at the end, in executions and
// in bytes, with the plan.
func (e *Edits) judgeBudgets(ctx context.Context, changes *project.Changes) error {
	runs, bytes := addedNeeds(changes.Checks)
	if runs > 0 && e.plan.ExecutionsPerHour != account.Unlimited {
		used, err := e.usedExecutions(ctx)
		if err != nil {
			return err
		}
		const tolerance = 1e-6 // the sum adds fractions
		if used+runs > float64(e.plan.ExecutionsPerHour)+tolerance {
			return accounts.PlanLimit(e.plan.Tier, e.plan.ExecutionsPerHour, used, runs,
				"The change needs %g more executions an hour, and the organization's enabled checks already use %g of the %d that the "+
					"%s plan allows. Choose a longer interval or fewer regions, disable other checks, or change the plan.")
		}
	}
	if bytes > 0 && e.plan.ThroughputBytesPerHour != account.Unlimited {
		used, err := e.usedThroughput(ctx)
		if err != nil {
			return err
		}
		if used+bytes > float64(e.plan.ThroughputBytesPerHour)+1 { // the sum adds fractions
			return accounts.PlanLimit(e.plan.Tier, e.plan.ThroughputBytesPerHour, used, bytes,
				"The change may move %.0f more bytes an hour, and the organization's throughput checks already move up to %.0f of the %d "+
					"that the %s plan allows. Lower max_bytes or retry.attempts, choose a longer interval or fewer regions, "+
					"or change the plan.")
		}
	}
	return nil
}

// addedNeeds is by how much edits raise what checks need in an hour; below 0 they need less.
func addedNeeds(edits []project.Edit[vigil.Check]) (runs, bytes float64) {
	for _, edit := range edits {
		if edit.Before != nil {
			runs, bytes = runs-edit.Before.HourlyCost(), bytes-edit.Before.HourlyBytes()
		}
		if edit.After != nil {
			runs, bytes = runs+edit.After.HourlyCost(), bytes+edit.After.HourlyBytes()
		}
	}
	return runs, bytes
}

// hourlyBytes is an SQL expression of a check c: vigil.Check.HourlyBytes of an enabled one.
const hourlyBytes = `3600000.0 / c.interval_ms * cardinality(c.regions) * (1 + c.retry_attempts) * (
	SELECT coalesce(sum(coalesce((m.config->>'max_bytes')::float8, ?)), 0) FROM (
		SELECT c.type AS type, c.config AS config
		UNION ALL
		SELECT step->>'type', step->'config' FROM jsonb_array_elements(
			CASE WHEN c.type = 'multistep' AND jsonb_typeof(c.config->'steps') = 'array' THEN c.config->'steps' ELSE '[]' END) AS step
	) AS m WHERE m.type = 'throughput')`

// usedExecutions is what the stored and enabled checks need, in executions an hour.
func (e *Edits) usedExecutions(ctx context.Context) (used float64, err error) {
	err = e.tx.NewRaw("SELECT "+accounts.HourlyCost+" FROM checks WHERE org_id = ? AND enabled AND "+pg.NotDrill, e.orgID).Scan(ctx, &used)
	if err != nil {
		return 0, fmt.Errorf("sum the budget: %w", err)
	}
	return used, nil
}

// usedThroughput is how many bytes an hour the stored and enabled checks may move.
func (e *Edits) usedThroughput(ctx context.Context) (used float64, err error) {
	err = e.tx.NewRaw("SELECT coalesce(sum("+hourlyBytes+"), 0) FROM checks AS c WHERE c.org_id = ? AND c.enabled AND c."+pg.NotDrill+
		" AND c.type IN ('throughput', 'multistep')", vigil.DefaultThroughputBytes, e.orgID).Scan(ctx, &used)
	if err != nil {
		return 0, fmt.Errorf("sum the bytes of throughput checks: %w", err)
	}
	return used, nil
}

// creationWindow is the time in which creations are counted.
const creationWindow = time.Hour

// newChecks counts the checks that edits create.
func newChecks(edits []project.Edit[vigil.Check]) (n int64) {
	for _, edit := range edits {
		if edit.Before == nil {
			n++
		}
	}
	return n
}

// judgeCreations compares the creations of the last hour with the allowance. Deleting a check
// does not restore it.
func (e *Edits) judgeCreations(ctx context.Context, changes *project.Changes) error {
	created, limit := newChecks(changes.Checks), e.allow.CreationsPerHour
	if created == 0 || limit == account.Unlimited {
		return nil
	}
	var n int64
	err := e.tx.NewRaw("SELECT count(*) FROM check_creations WHERE org_id = ? AND at > ?", e.orgID, e.now.Add(-creationWindow)).
		Scan(ctx, &n)
	if err != nil {
		return fmt.Errorf("count creations: %w", err)
	}
	if n+created <= limit {
		return nil
	}
	return accounts.PlanLimit(
		e.plan.Tier,
		limit,
		float64(n),
		float64(created),
		"Creating %g more check would make more than the hour's allowance: "+
			"%g of %d were created within the last hour on the %s plan. Try again later.",
	)
}

// countCreations records the creations of checks. Those without a limit are not counted.
func (e *Edits) countCreations(ctx context.Context, created int) error {
	if created == 0 || e.allow.CreationsPerHour == account.Unlimited {
		return nil
	}
	_, err := e.tx.NewRaw("DELETE FROM check_creations WHERE org_id = ? AND at <= ?", e.orgID, e.now.Add(-creationWindow)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete old creations: %w", err)
	}
	_, err = e.tx.NewRaw("INSERT INTO check_creations (org_id, at) SELECT ?, ? FROM generate_series(1, ?)", e.orgID, e.now, created).
		Exec(ctx)
	if err != nil {
		return fmt.Errorf("record the creations: %w", err)
	}
	return nil
}
