// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/account"
)

// hourlyBytes is an SQL expression of a check c: vigil.Check.HourlyBytes of an enabled one.
const hourlyBytes = `3600000.0 / c.interval_ms * cardinality(c.regions) * (1 + c.retry_attempts) * (
	SELECT coalesce(sum(coalesce((m.config->>'max_bytes')::float8, ?)), 0) FROM (
		SELECT c.type AS type, c.config AS config
		UNION ALL
		SELECT step->>'type', step->'config' FROM jsonb_array_elements(
			CASE WHEN c.type = 'multistep' AND jsonb_typeof(c.config->'steps') = 'array' THEN c.config->'steps' ELSE '[]' END) AS step
	) AS m WHERE m.type = 'throughput')`

// checkThroughput returns a CodePlanLimit error when the check would raise what the
// throughput checks of the organization move in an hour above the budget of its plan. The
// organization must be locked.
func checkThroughput(ctx context.Context, tx bun.Tx, c *vigil.Check, plan account.Plan) error {
	return judgeThroughput(ctx, tx, c.OrgID, c.ID, c.HourlyBytes(), plan,
		"The check may move %.0f bytes an hour, and the organization's throughput checks already move up to %.0f ")
}

// bulkThroughput is checkThroughput for several changes, of which none is stored yet.
func bulkThroughput(ctx context.Context, tx bun.Tx, orgID uuid.UUID, added float64, plan account.Plan) error {
	return judgeThroughput(ctx, tx, orgID, uuid.Nil, added, plan,
		"The checks may move %.0f more bytes an hour, and the organization's throughput checks already move up to %.0f ")
}

// judgeThroughput compares what the checks of an organization, without one of them, and what is
// added to them move in an hour with the plan. The beginning of the error names both.
func judgeThroughput(
	ctx context.Context, tx bun.Tx, orgID, without uuid.UUID, added float64, plan account.Plan, beginning string,
) error {
	if plan.ThroughputBytesPerHour == account.Unlimited || added == 0 {
		return nil
	}
	used, err := usedThroughput(ctx, tx, orgID, without)
	if err != nil || used+added <= float64(plan.ThroughputBytesPerHour)+1 { // the sum adds fractions
		return err
	}
	return planLimit(plan.Tier, plan.ThroughputBytesPerHour, used, added, beginning+"of the %d that the %s plan allows. "+
		"Lower max_bytes or retry.attempts, choose a longer interval or fewer regions, or change the plan.")
}

// usedThroughput returns how many bytes an hour the enabled checks of an organization may
// move, without one check.
func usedThroughput(ctx context.Context, tx bun.Tx, orgID, without uuid.UUID) (used float64, err error) {
	err = tx.NewRaw("SELECT coalesce(sum("+hourlyBytes+"), 0) FROM checks AS c WHERE c.org_id = ? AND c.enabled AND c.id <> ?"+
		" AND c.type IN ('throughput', 'multistep')", vigil.DefaultThroughputBytes, orgID, without).Scan(ctx, &used)
	if err != nil {
		return 0, fmt.Errorf("sum the bytes of throughput checks: %w", err)
	}
	return used, nil
}
