// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// usageStore sums up what an organization uses.
type usageStore interface {
	Usage(ctx context.Context, orgID uuid.UUID) (account.Usage, error)
}

type usage struct {
	store usageStore
	plans resource.Plans
}

// usageView is what the organization uses of its plan.
type usageView struct {
	Tier              account.Tier   `json:"tier" enum:"free,paid,enterprise"`
	ExecutionsPerHour executionsView `json:"executions_per_hour"`
	Checks            int64          `json:"checks" doc:"How many checks there are, disabled ones included."`
	RateLimit         rateView       `json:"rate_limit"`

	Limits map[account.Limited]limitView `json:"limits" doc:"What the tier limits by number: checks, channels, rules_per_check (used: by the check with the most), api_keys, status_pages, maintenance_windows, subscriptions, locations and members (open invitations included)."`
}

// limitView is a resource whose number the tier limits.
type limitView struct {
	Used  int64  `json:"used" doc:"How many there are. What exceeds a limit, after a change of the tier, stays."`
	Limit *int64 `json:"limit" doc:"How many the tier allows; null without a limit."`
}

type executionsView struct {
	Used  float64 `json:"used" doc:"Sum over the enabled checks of (3600 / interval_seconds) x number of regions."`
	Limit *int64  `json:"limit" doc:"What the tier allows; null without a limit."`
}

type rateView struct {
	Limit           *int64 `json:"limit" doc:"Requests that a window admits; null without a limit."`
	Remaining       *int64 `json:"remaining" doc:"Requests that are left of this window; null without a limit."`
	WindowSeconds   int64  `json:"window_seconds" example:"60"`
	ResetsInSeconds int64  `json:"resets_in_seconds" doc:"Seconds until the window ends."`
}

func (u *usage) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/usage", ID: "get-usage", Tag: resource.TagAccount,
		Summary: "Get the organization's usage",
	}, u.getUsage)
}

func (u *usage) getUsage(ctx context.Context, _ *struct{}) (*rest.Answer[usageView], error) {
	who := rest.CallerOf(ctx)
	used, err := u.store.Usage(ctx, who.Org.ID)
	if err != nil {
		return nil, err
	}
	plan := u.plans.Of(who)
	limits := make(map[account.Limited]limitView)
	for kind, n := range used.Counts {
		limits[kind] = limitView{Used: n, Limit: limitOf(plan.Tier.Limit(kind))}
	}
	return rest.NewAnswer(usageView{
		Tier:              plan.Tier,
		ExecutionsPerHour: executionsView{Used: used.ExecutionsPerHour, Limit: limitOf(plan.ExecutionsPerHour)},
		Checks:            used.Counts[account.LimitChecks],
		RateLimit:         u.showRate(ctx, who),
		Limits:            limits,
	}), nil
}

// showRate says where the rate limit stands, this request included.
func (u *usage) showRate(ctx context.Context, who *rest.Caller) rateView {
	rate := rest.RequestOf(ctx).Rate
	view := rateView{
		Limit: limitOf(u.plans.Rate(who.Org.Tier)), WindowSeconds: int64(account.RateWindow.Seconds()), ResetsInSeconds: rate.Resets,
	}
	if view.Limit != nil {
		view.Remaining = &rate.Left
	}
	return view
}

// limitOf shows a limit, or null for one that does not bind.
func limitOf(n int64) *int64 {
	if n == account.Unlimited {
		return nil
	}
	return &n
}
