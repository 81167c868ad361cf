package api

import (
	"context"
	"net/http"

	"vigil"
)

// usageView is what the organization uses of its plan.
type usageView struct {
	Tier              vigil.Tier     `json:"tier" enum:"free,paid,enterprise"`
	ExecutionsPerHour executionsView `json:"executions_per_hour"`
	Checks            int64          `json:"checks" doc:"How many checks there are, disabled ones included."`
	RateLimit         rateView       `json:"rate_limit"`
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

func (s *Server) registerUsage() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/usage", id: "get-usage", tag: tagAccount,
		summary: "Show what the organization uses of its plan",
	}, s.getUsage)
}

func (s *Server) getUsage(ctx context.Context, _ *struct{}) (*answerOf[usageView], error) {
	who := caller(ctx)
	usage, err := s.Store.Usage(ctx, who.org.ID)
	if err != nil {
		return nil, err
	}
	plan := s.plan(who)
	return answering(usageView{
		Tier:              plan.Tier,
		ExecutionsPerHour: executionsView{Used: usage.ExecutionsPerHour, Limit: limitOf(plan.ExecutionsPerHour)},
		Checks:            usage.Checks,
		RateLimit:         s.showRate(ctx, who),
	}), nil
}

// showRate says where the rate limit stands, this request included.
func (s *Server) showRate(ctx context.Context, who *principal) rateView {
	rate := requestOf(ctx).rate
	view := rateView{
		Limit: limitOf(s.rateOf(who.org.Tier)), WindowSeconds: int64(vigil.RateWindow.Seconds()), ResetsInSeconds: rate.resets,
	}
	if view.Limit != nil {
		view.Remaining = &rate.left
	}
	return view
}

// limitOf shows a limit, or null for one that does not bind.
func limitOf(n int64) *int64 {
	if n == vigil.Unlimited {
		return nil
	}
	return &n
}
