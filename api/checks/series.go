// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// seriesView are the results of a check in equal steps of time.
type seriesView struct {
	Period      string              `json:"period" enum:"1h,24h,7d,30d,90d,custom" doc:"custom where from was sent."`
	Start       time.Time           `json:"start" doc:"Beginning of the oldest step."`
	End         time.Time           `json:"end" doc:"End of the newest step, which may not be over yet."`
	StepSeconds int64               `json:"step_seconds" doc:"Seconds from a step to the next one."`
	Resolution  overview.Resolution `json:"resolution" enum:"result,step,hour" doc:"result: a step has one result of each region. step: the results of a step are summed. hour: whole hours (UTC) are, as the time is long, or its results are past their retention; percentiles have an error of up to 2 % then."`
	Statistic   overview.Statistic  `json:"statistic" enum:"mean,p50,p95" doc:"What response_time_ms is of the results of a step."`
	KeptFrom    *time.Time          `json:"kept_from" doc:"Beginning of the oldest hour that something is kept of; null without a result. Before it nothing was measured, or it is past its retention."`
	Maintenance []seriesBreakView   `json:"maintenance" doc:"When the check was in maintenance, oldest first. Results of that time are in no step, unless the window counts them."`
	Regions     []regionSeriesView  `json:"regions"`
}

// seriesBreakView is a time in maintenance.
type seriesBreakView struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// regionSeriesView has the steps as columns, as the slots of a summary are.
type regionSeriesView struct {
	Region         string     `json:"region" example:"na-east-ewr"`
	Results        []int      `json:"results" doc:"How many results each step has, oldest first; 0 for a gap."`
	Failures       []int      `json:"failures" doc:"How many of them failed."`
	ResponseTimeMS []*float64 `json:"response_time_ms" doc:"Response time of those that succeeded, by statistic; null when none did."`
	Mbps           []*float64 `json:"mbps,omitempty" doc:"Rate of those that succeeded, in megabits (10^6) a second, by statistic: p95 is the rate that 95 % of them reach; null when none did. Only of throughput checks, and not with the resolution hour, for which response times alone are kept."`
}

type seriesInput struct {
	rest.IDPath
	Period    string             `query:"period" enum:"1h,24h,7d,30d,90d" default:"24h" doc:"How far to look back."`
	From      string             `query:"from" maxLength:"64" doc:"Where the time begins, in the place of period: an instant, or a day, which begins in timezone." example:"2026-10-01T11:00:00Z"`
	To        string             `query:"to" maxLength:"64" doc:"Where it ends, at most 366 days later. Default: the present." example:"2026-10-01T12:30:00Z"`
	Timezone  string             `query:"timezone" default:"UTC" maxLength:"64" doc:"IANA name of the time zone in which the days of from and to begin." example:"Europe/Berlin"`
	Statistic overview.Statistic `query:"statistic" enum:"mean,p50,p95" default:"mean" doc:"What response_time_ms is of the results of a step."`
}

func (res *results) registerSeries(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:   http.MethodGet,
		Path:     "/v1/checks/{id}/series",
		ID:       "get-series",
		Tag:      resource.TagResults,
		Resource: ResourceCheck,
		Summary:  "Get the response times of a check over a period, for a chart",
		Description: "There are at most 300 steps, and one more at each edge: a step is the interval of the check where that is enough, so " +
			"that each has one result of a region; and otherwise the shortest time that is, such as 5 minutes of 24h and 1 hour of 7d.",
	}, res.series)
}

func (res *results) series(ctx context.Context, in *seriesInput) (*rest.Answer[seriesView], error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	if _, err := zoneOf(in.Timezone); err != nil {
		return nil, err
	}
	period, query := in.Period, overview.SeriesQuery{Period: periods(in.Period), Statistic: in.Statistic}
	if in.From != "" || in.To != "" {
		period, query.Period = "custom", 0
		if query.Span, err = spanOf(in.From, in.To, in.Timezone, res.now()); err != nil {
			return nil, err
		}
	}
	series, err := res.store.Series(ctx, rest.CallerOf(ctx).Org.ID, id, query)
	if err != nil {
		return nil, err
	}
	view := showSeries(period, series)
	view.Statistic = in.Statistic
	return rest.NewAnswer(view), nil
}

func showSeries(period string, series overview.Series) seriesView {
	view := seriesView{
		Period:      period,
		Start:       series.Start.UTC(),
		StepSeconds: int64(series.Step / time.Second),
		Resolution:  series.Resolution,
		Maintenance: make([]seriesBreakView, len(series.Maintenance)),
		Regions:     make([]regionSeriesView, len(series.Regions)),
	}
	if !series.KeptFrom.IsZero() {
		view.KeptFrom = new(series.KeptFrom.UTC())
	}
	for i, pause := range series.Maintenance {
		view.Maintenance[i] = seriesBreakView{From: pause.From.UTC(), To: pause.To.UTC()}
	}
	view.End = view.Start
	for i, region := range series.Regions {
		n := len(region.Steps)
		view.End = view.Start.Add(time.Duration(n) * series.Step)
		row := regionSeriesView{Region: region.Region, Results: make([]int, n), Failures: make([]int, n), ResponseTimeMS: make([]*float64, n)}
		if series.Rated {
			row.Mbps = make([]*float64, n)
		}
		for j, step := range region.Steps {
			row.Results[j], row.Failures[j] = step.Results, step.Failures
			if step.MS != nil {
				row.ResponseTimeMS[j] = new(roundMS(*step.MS))
			}
			if step.Mbps != nil {
				row.Mbps[j] = new(math.Round(*step.Mbps*1000) / 1000)
			}
		}
		view.Regions[i] = row
	}
	return view
}
