// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// counted is how the resources of a plan's limit are counted and named.
type counted struct {
	// query counts them. Its argument is what they belong to: the check for the rules
	// of a check, otherwise the organization.
	query string
	// largest counts them for the usage of an organization, its argument; empty: query.
	largest string
	where   string // they are, for people
	noun    string // in the plural
}

func limitedResources() map[account.Limited]counted {
	return map[account.Limited]counted{
		account.LimitChecks: {
			query: "SELECT count(*) FROM checks WHERE org_id = ? AND " + pg.NotDrill,
			where: "The organization",
			noun:  "checks",
		},
		account.LimitChannels: {
			query: "SELECT count(*) FROM channels WHERE org_id = ?",
			where: "The organization",
			noun:  "notification channels",
		},
		account.LimitRulesPerCheck: {
			query: "SELECT count(*) FROM alert_rules WHERE check_id = ?",
			largest: "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM alert_rules WHERE org_id = ? AND " +
				pg.NotDrill + " GROUP BY check_id) AS c",
			where: "The check", noun: "alert rules",
		},
		account.LimitStatusPages: {
			query: "SELECT count(*) FROM status_pages WHERE org_id = ?", where: "The organization", noun: "status pages",
		},
		account.LimitMembers: {
			query: "SELECT count(*) FROM (SELECT org_id FROM users UNION ALL SELECT org_id FROM invitations) AS m WHERE m.org_id = ?",
			where: "The organization", noun: "members and invitations",
		},
		account.LimitMaintenanceWindows: {
			query: "SELECT count(*) FROM maintenance_windows WHERE org_id = ? AND deleted_at IS NULL",
			where: "The organization", noun: "maintenance windows",
		},
		account.LimitSubscriptions: {
			query: "SELECT count(*) FROM subscriptions WHERE org_id = ?", where: "The organization", noun: "subscriptions",
		},
		account.LimitLocations: {
			query: "SELECT count(*) FROM locations WHERE org_id = ?", where: "The organization", noun: "locations",
		},
		account.LimitSubscribers: {
			query: "SELECT count(*) FROM status_page_readers WHERE org_id = ? AND confirmed_at IS NOT NULL",
			where: "The organization", noun: "subscribers of status pages",
		},
		account.LimitAPIKeys: {query: "SELECT count(*) FROM api_keys WHERE org_id = ?", where: "The organization", noun: "API keys"},
	}
}

// LockOrganization serializes the transactions that use an organization's budget or add
// to what its plan limits, and returns its tier. It must be the first lock of such a
// transaction, which prevents deadlocks.
func LockOrganization(ctx context.Context, tx bun.Tx, orgID uuid.UUID) (account.Tier, error) {
	return lockTier(ctx, tx, orgID, "NO KEY UPDATE")
}

// LockForCheck locks an organization before a check is created. Where its plan limits
// nothing that is counted, other checks are created at the same time; the transactions
// that change the organization still wait for it.
func LockForCheck(ctx context.Context, tx bun.Tx, orgID uuid.UUID, plan account.Plan, allow account.Allowance) error {
	mode := "NO KEY UPDATE"
	if plan.Tier.Limit(account.LimitChecks) == account.Unlimited && plan.ExecutionsPerHour == account.Unlimited &&
		plan.ThroughputBytesPerHour == account.Unlimited && allow.CreationsPerHour == account.Unlimited {
		mode = "SHARE"
	}
	_, err := lockTier(ctx, tx, orgID, mode)
	return err
}

// lockTier refuses, with a CodeUnauthorized error, an organization that was deleted: a caller
// that still has a credential of it gets what every process answers a few seconds later.
func lockTier(ctx context.Context, tx bun.Tx, orgID uuid.UUID, mode string) (account.Tier, error) {
	var tier string
	var deleted bool
	err := tx.NewRaw("SELECT tier, deleted_at IS NOT NULL FROM organizations WHERE id = ? FOR "+mode, orgID).Scan(ctx, &tier, &deleted)
	if err == nil && deleted {
		return "", vigil.Errorf(vigil.CodeUnauthorized, "The organization of the credential has been deleted.")
	}
	return account.Tier(tier), pg.Found("organization", err)
}

// checkLimit returns a CodePlanLimit error when one more resource would exceed the limit
// of the tier. The owner (the check of a rule, otherwise the organization) must be
// locked, so that no other transaction adds one meanwhile. What exists above a limit
// stays.
func checkLimit(ctx context.Context, tx bun.Tx, tier account.Tier, kind account.Limited, owner uuid.UUID) error {
	return CheckRoom(ctx, tx, tier, kind, owner, 1)
}

// CheckRoom is checkLimit for several more resources; 0 or fewer always have room.
func CheckRoom(ctx context.Context, tx bun.Tx, tier account.Tier, kind account.Limited, owner uuid.UUID, more int64) error {
	limit := tier.Limit(kind)
	if limit == account.Unlimited || more <= 0 {
		return nil
	}
	resource := limitedResources()[kind]
	var n int64
	if err := tx.NewRaw(resource.query, owner).Scan(ctx, &n); err != nil {
		return fmt.Errorf("count the %s: %w", resource.noun, err)
	}
	if n+more <= limit {
		return nil
	}
	return PlanLimit(tier, limit, float64(n), float64(more), resource.where+" cannot have %g more: it has %g "+resource.noun+
		", and the %[4]s plan allows %[3]d. Delete one that is not needed, or change the plan.")
}

// PlanLimit is the CodePlanLimit error of a limit. format has the verbs %[1]g for what was
// requested, %[2]g for what there is, %[3]d for the limit and %[4]s for the tier.
func PlanLimit(tier account.Tier, limit int64, current, requested float64, format string) error {
	current, requested = math.Round(current*100)/100, math.Round(requested*100)/100
	err := vigil.Errorf(vigil.CodePlanLimit, format, requested, current, limit, tier)
	err.Details = map[string]any{"limit": limit, "current": current, "requested": requested, "tier": string(tier)}
	return err
}

// Usage returns how many resources an organization has of each kind that plans limit, and
// how many executions an hour its enabled checks need. It is zero for an unknown
// organization.
func (s *Store) Usage(ctx context.Context, orgID uuid.UUID) (account.Usage, error) {
	usage := account.Usage{Counts: make(map[account.Limited]int64)}
	columns := []string{"(SELECT " + HourlyCost + " FROM checks WHERE org_id = ? AND enabled AND " + pg.NotDrill + ")"}
	args, into := []any{orgID}, []any{&usage.ExecutionsPerHour}
	counts := make(map[account.Limited]*int64)
	for kind, resource := range limitedResources() {
		query := resource.query
		if resource.largest != "" {
			query = resource.largest
		}
		counts[kind] = new(int64)
		columns, args, into = append(columns, "("+query+")"), append(args, orgID), append(into, counts[kind])
	}
	if err := s.db.NewRaw("SELECT "+strings.Join(columns, ", "), args...).Scan(ctx, into...); err != nil {
		return account.Usage{}, pg.Wrap("sum usage", err)
	}
	for kind, n := range counts {
		usage.Counts[kind] = *n
	}
	return usage, nil
}

// HourlyCost is an SQL expression: the sum of vigil.Check.HourlyCost over rows of
// checks, in executions an hour.
const HourlyCost = "coalesce(sum(3600000.0 / interval_ms * cardinality(regions)), 0)::float8"
