// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// seriesView are the results of a check in equal steps of time.
type seriesView struct {
	Period      string             `json:"period" enum:"1h,24h,7d,30d,90d"`
	Start       time.Time          `json:"start" doc:"Beginning of the oldest step."`
	StepSeconds int64              `json:"step_seconds" doc:"Seconds from a step to the next one."`
	Regions     []regionSeriesView `json:"regions"`
}

// regionSeriesView has the steps as columns, as the slots of a summary are.
type regionSeriesView struct {
	Region         string     `json:"region" example:"na-east-ewr"`
	Results        []int      `json:"results" doc:"How many results each step has, oldest first; 0 for a gap."`
	Failures       []int      `json:"failures" doc:"How many of them failed."`
	ResponseTimeMS []*float64 `json:"response_time_ms" doc:"Mean response time of those that succeeded; null when none did."`
}

type seriesInput struct {
	rest.IDPath
	Period string `query:"period" enum:"1h,24h,7d,30d,90d" default:"24h" doc:"How far to look back."`
}

func (res *results) registerSeries(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:   http.MethodGet,
		Path:     "/v1/checks/{id}/series",
		ID:       "get-series",
		Tag:      resource.TagResults,
		Resource: ResourceCheck,
		Summary:  "Get the response times of a check over a period, for a chart",
		Description: "Steps are 1 minute of 1h, 5 minutes of 24h, 1 hour of 7d, 4 hours of 30d and 12 hours of 90d. " +
			"The newest one is not over yet.",
	}, res.series)
}

// seriesSteps returns the length of a period and of its steps.
func seriesSteps(period string) (whole, step time.Duration) {
	const day = 24 * time.Hour
	switch period {
	case "1h":
		return time.Hour, time.Minute
	case "7d":
		return 7 * day, time.Hour
	case "30d":
		return 30 * day, 4 * time.Hour
	case "90d":
		return 90 * day, 12 * time.Hour
	}
	return day, 5 * time.Minute
}

func (res *results) series(ctx context.Context, in *seriesInput) (*rest.Answer[seriesView], error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	period, step := seriesSteps(in.Period)
	series, err := res.store.Series(ctx, rest.CallerOf(ctx).Org.ID, id, period, step)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showSeries(in.Period, series)), nil
}

func showSeries(period string, series overview.Series) seriesView {
	view := seriesView{
		Period:      period,
		Start:       series.Start.UTC(),
		StepSeconds: int64(series.Step / time.Second),
		Regions:     make([]regionSeriesView, len(series.Regions)),
	}
	for i, region := range series.Regions {
		n := len(region.Steps)
		row := regionSeriesView{Region: region.Region, Results: make([]int, n), Failures: make([]int, n), ResponseTimeMS: make([]*float64, n)}
		for j, step := range region.Steps {
			row.Results[j], row.Failures[j] = step.Results, step.Failures
			if mean, ok := step.MeanMS(); ok {
				row.ResponseTimeMS[j] = new(roundMS(mean))
			}
		}
		view.Regions[i] = row
	}
	return view
}
