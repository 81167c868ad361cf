package api

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const tagResults = "Results"

// resultView is a CheckResult (spec section 2).
type resultView struct {
	ID             uuid.UUID      `json:"id" format:"uuid"`
	CheckID        uuid.UUID      `json:"check_id" format:"uuid"`
	Region         string         `json:"region" example:"na-east-ewr"`
	Success        bool           `json:"success"`
	ResponseTimeMS int64          `json:"response_time_ms" minimum:"0"`
	StatusCode     *int           `json:"status_code" doc:"Status of the HTTP answer; null for other types and when there was none."`
	ErrorMessage   *string        `json:"error_message" doc:"Why the probe failed; null on success."`
	Metadata       map[string]any `json:"metadata" nullable:"true" doc:"What the check's type has to say besides; null when there is nothing."`
	Time           time.Time      `json:"time" doc:"When the probe began."`
}

func showResult(r vigil.Result) resultView {
	view := resultView{
		ID: r.ID, CheckID: r.CheckID, Region: r.Region, Success: r.Success,
		ResponseTimeMS: r.ResponseTime.Milliseconds(), Metadata: r.Metadata, Time: r.Time.UTC(),
	}
	if r.StatusCode != 0 {
		view.StatusCode = &r.StatusCode
	}
	if r.Error != "" {
		view.ErrorMessage = &r.Error
	}
	return view
}

func (s *Server) registerRuns() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/checks/{id}/results", id: "list-results", tag: tagResults, resource: resourceCheck,
		summary: "List the results of a check, newest first",
	}, s.listResults)
	register(s, operation{
		method: http.MethodGet, path: "/v1/checks/{id}/uptime", id: "get-uptime", tag: tagResults, resource: resourceCheck,
		summary: "Sum up the results of a check over a period",
	}, s.getUptime)
	register(s, operation{
		method: http.MethodPost, path: "/v1/checks/{id}/test", id: "test-check", tag: tagResults, resource: resourceCheck, audit: "check.test",
		summary: "Run a check now",
		description: "Runs in the check's first region, or the one asked for. On an enabled check it is an execution like any other. " +
			"With `dry_run`, and on a disabled check, nothing is stored and the metadata has `test: true`.",
		errors: []int{http.StatusServiceUnavailable},
	}, s.testCheck)
}

type resultsInput struct {
	IDPath
	From    optional[time.Time] `query:"from" doc:"Results taken at or after this instant."`
	To      optional[time.Time] `query:"to" doc:"Results taken before this instant."`
	Region  string              `query:"region" doc:"Results of one region, by its key or an alias."`
	Success optional[bool]      `query:"success" doc:"Only successes, or only failures."`
	Limit   int64               `query:"limit" default:"100" minimum:"1" doc:"How many to show. More than 1000 is read as 1000."`
	Offset  int64               `query:"offset" default:"0" minimum:"0" doc:"How many to pass over, counted from the newest."`
}

// maxResults is the largest page of results (spec section 8).
const maxResults = 1000

func (in *resultsInput) filter() (vigil.ResultFilter, error) {
	filter := vigil.ResultFilter{
		From: in.From.pointer(), To: in.To.pointer(), Success: in.Success.pointer(),
		Page: vigil.Page{Limit: int(min(in.Limit, maxResults)), Offset: int(in.Offset)},
	}
	if filter.From != nil && filter.To != nil && filter.To.Before(*filter.From) {
		return filter, vigil.Invalid("to", "must not be before from")
	}
	if in.Region != "" {
		region, ok := vigil.RegionByKey(in.Region)
		if !ok {
			return filter, errUnknownRegion("region")
		}
		filter.Region = region.Key
	}
	return filter, nil
}

func (s *Server) listResults(ctx context.Context, in *resultsInput) (*listOf[resultView], error) {
	id, err := in.parse(resourceCheck)
	if err != nil {
		return nil, err
	}
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	results, total, err := s.Store.Results(ctx, caller(ctx).org.ID, id, filter)
	if err != nil {
		return nil, err
	}
	return listing(results, total, showResult), nil
}

// UptimeNumbers are the numbers of a period, of all regions or of one.
type UptimeNumbers struct {
	UptimePercentage   float64 `json:"uptime_percentage" minimum:"0" maximum:"100" doc:"Share of the results that succeeded."`
	TotalChecks        int64   `json:"total_checks"`
	SuccessfulChecks   int64   `json:"successful_checks"`
	FailedChecks       int64   `json:"failed_checks"`
	AvgResponseTimeMS  float64 `json:"avg_response_time_ms" doc:"Over the successful results, as are the percentiles."`
	P50ResponseTimeMS  float64 `json:"p50_response_time_ms"`
	P95ResponseTimeMS  float64 `json:"p95_response_time_ms"`
	P99ResponseTimeMS  float64 `json:"p99_response_time_ms"`
	ExpectedChecks     int64   `json:"expected_checks" doc:"How many results were due, those of manual tests included: a test is due when it is asked for."`
	MissedChecks       int64   `json:"missed_checks" doc:"How many of them there are not."`
	CoveragePercentage float64 `json:"coverage_percentage" minimum:"0" maximum:"100" doc:"Share of the results that were due and are there."`
}

// uptimeView is an UptimeStats (spec section 2).
type uptimeView struct {
	UptimeNumbers
	Period   string                   `json:"period" enum:"1h,24h,7d,30d,90d"`
	ByRegion map[string]UptimeNumbers `json:"by_region" doc:"The same numbers for each region, by its key."`
}

func showUptimeNumbers(u vigil.Uptime) UptimeNumbers {
	return UptimeNumbers{
		UptimePercentage: u.Percentage(), TotalChecks: u.Total, SuccessfulChecks: u.Successful, FailedChecks: u.Failed,
		AvgResponseTimeMS: u.AvgMS, P50ResponseTimeMS: u.P50MS, P95ResponseTimeMS: u.P95MS, P99ResponseTimeMS: u.P99MS,
		ExpectedChecks: u.Expected(), MissedChecks: u.Missed, CoveragePercentage: u.Coverage(),
	}
}

type uptimeInput struct {
	IDPath
	Period string `query:"period" enum:"1h,24h,7d,30d,90d" default:"24h" doc:"How far to look back."`
}

// periods are the spans that uptime is summed up over, by their names.
func periods(name string) time.Duration {
	const day = 24 * time.Hour
	switch name {
	case "1h":
		return time.Hour
	case "7d":
		return 7 * day
	case "30d":
		return 30 * day
	case "90d":
		return 90 * day
	}
	return day
}

func (s *Server) getUptime(ctx context.Context, in *uptimeInput) (*answerOf[uptimeView], error) {
	id, err := in.parse(resourceCheck)
	if err != nil {
		return nil, err
	}
	uptime, err := s.Store.Uptime(ctx, caller(ctx).org.ID, id, periods(in.Period))
	if err != nil {
		return nil, err
	}
	view := uptimeView{UptimeNumbers: showUptimeNumbers(uptime), Period: in.Period, ByRegion: make(map[string]UptimeNumbers)}
	for region, numbers := range uptime.ByRegion {
		view.ByRegion[region] = showUptimeNumbers(numbers)
	}
	return answering(view), nil
}

type testInput struct {
	IDPath
	Region string `query:"region" doc:"Where to run, by a region's key or an alias. Without dry_run it must be one of the check's regions."`
	DryRun bool   `query:"dry_run" doc:"Store nothing and count nowhere."`
}

func (s *Server) testCheck(ctx context.Context, in *testInput) (*answerOf[resultView], error) {
	check, err := s.findCheck(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	dryRun := in.DryRun || !check.Enabled
	region := check.Regions[0]
	if in.Region != "" {
		if region, err = s.testRegion(ctx, check, in.Region, dryRun); err != nil {
			return nil, err
		}
	}
	result, err := s.Loops.Test(ctx, check, region, dryRun)
	if err != nil {
		return nil, err
	}
	if dryRun {
		result.Metadata = maps.Clone(result.Metadata)
		if result.Metadata == nil {
			result.Metadata = make(map[string]any)
		}
		result.Metadata["test"] = true
	}
	return answering(showResult(result)), nil
}

// testRegion is where a test runs that names its region. A result that is kept
// must belong to one of the check's regions; a dry run may look from any region
// of the plan.
func (s *Server) testRegion(ctx context.Context, check vigil.Check, name string, dryRun bool) (string, error) {
	region, ok := vigil.RegionByKey(name)
	if !ok {
		return "", errUnknownRegion("region")
	}
	if slices.Contains(check.Regions, region.Key) {
		return region.Key, nil
	}
	if !dryRun {
		return "", vigil.Invalid("region", "is not one of the check's regions (%s); add dry_run=true to try another", strings.Join(check.Regions, ", "))
	}
	if plan := s.plan(caller(ctx)); plan.PrimaryOnly && !region.Primary {
		return "", errRegionPlan("region", "the "+string(plan.Tier)+" tier may use the primary regions only")
	}
	return region.Key, nil
}
