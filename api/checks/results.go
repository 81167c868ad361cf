// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// resultStore reads the results of checks.
type resultStore interface {
	placeStore
	Results(ctx context.Context, orgID, checkID uuid.UUID, filter listing.ResultFilter) ([]vigil.Result, listing.Extent, error)
	Uptime(ctx context.Context, orgID, checkID uuid.UUID, period time.Duration, withExcluded bool) (vigil.Uptime, error)
	UptimeBetween(ctx context.Context, orgID, checkID uuid.UUID, span overview.Span, withExcluded bool) (overview.SpanUptime, error)
	summaryStore
}

type results struct {
	store resultStore
	now   func() time.Time
	files *resource.AtOnce
}

// ResultView is a CheckResult (spec section 2).
type ResultView struct {
	ID             uuid.UUID      `json:"id" format:"uuid"`
	CheckID        uuid.UUID      `json:"check_id" format:"uuid"`
	Region         string         `json:"region" example:"na-east-ewr"`
	Success        bool           `json:"success"`
	ResponseTimeMS int64          `json:"response_time_ms" minimum:"0"`
	StatusCode     *int           `json:"status_code" doc:"Status of the HTTP answer; null for other types and when there was none."`
	ErrorMessage   *string        `json:"error_message" doc:"Why the probe failed; null on success."`
	Metadata       map[string]any `json:"metadata" nullable:"true" doc:"Details that depend on the check's type; null when there are none."`
	Time           time.Time      `json:"time" doc:"When the probe began: its first attempt."`

	HasEvidence bool            `json:"has_evidence" doc:"Whether the failure keeps what the probe saw of the target. The first 3 failures of an episode do, then one with a changed error, and else one an hour."`
	Evidence    *vigil.Evidence `json:"evidence,omitempty" doc:"What the probe saw of the target, as text from outside; secrets of the config are ***. Only where it is asked for: in a list with evidence=true, of an incident, and after a test or a try."`
}

// ShowResult returns a result as the API shows it.
func ShowResult(r vigil.Result) ResultView {
	view := ResultView{
		ID: r.ID, CheckID: r.CheckID, Region: r.Region, Success: r.Success,
		ResponseTimeMS: r.ResponseTime.Milliseconds(), Metadata: r.Metadata, Time: r.Time.UTC(),
		HasEvidence: r.HasEvidence || r.Evidence != nil, Evidence: r.Evidence,
	}
	if r.StatusCode != 0 {
		view.StatusCode = &r.StatusCode
	}
	if r.Error != "" {
		view.ErrorMessage = &r.Error
	}
	return view
}

func (res *results) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks/{id}/results", ID: "list-results", Tag: resource.TagResults, Resource: ResourceCheck,
		Summary: "List the results of a check, newest first",
	}, res.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks/{id}/uptime", ID: "get-uptime", Tag: resource.TagResults, Resource: ResourceCheck,
		Summary: "Get the uptime of a check over a period, or between two instants",
		Description: "from and to take the place of period. They are met to the slot while results are kept (edge exact), and to the whole " +
			"hour (UTC) afterwards: an hour that an edge divides belongs to the span in which it begins. Days that follow each other add up " +
			"to their month in every time zone.",
	}, res.uptime)
	res.registerFile(r)
	res.registerDays(r)
	res.registerSeries(r)
}

type resultsInput struct {
	rest.IDPath
	From    rest.Optional[time.Time] `query:"from" doc:"Results taken at or after this instant."`
	To      rest.Optional[time.Time] `query:"to" doc:"Results taken before this instant."`
	Region  string                   `query:"region" doc:"Results of one region, by its key or an alias, or of a location, by its key."`
	Success rest.Optional[bool]      `query:"success" doc:"Only successes, or only failures."`
	// Evidence is read only when it is asked for: it is large.
	Evidence bool `query:"evidence" doc:"Add the evidence of the failures that keep some. A page of 8 MiB has fewer results."`

	Cursor string `query:"cursor" maxLength:"2000" doc:"The next_cursor of a page, to get the page after it: as fast on the last page as on the first. Send the same filters again; not together with offset."`
	Limit  int64  `query:"limit" default:"100" minimum:"1" doc:"How many to show. More than 1000 is read as 1000. A page of very large results (8 MiB) has fewer: go on at offset plus the number of results received."`
	Offset int64  `query:"offset" default:"0" minimum:"0" doc:"How many to pass over, counted from the newest."`
}

// maxResults is the largest page of results (spec section 8).
const maxResults = 1000

func (in *resultsInput) filter(places *Places) (listing.ResultFilter, error) {
	filter := listing.ResultFilter{
		From: in.From.Pointer(), To: in.To.Pointer(), Success: in.Success.Pointer(), WithEvidence: in.Evidence,
	}
	if filter.From != nil && filter.To != nil && filter.To.Before(*filter.From) {
		return filter, vigil.Invalid("to", "must not be before from")
	}
	if in.Region != "" {
		var err error
		if filter.Region, err = places.filterKey("region", in.Region); err != nil {
			return filter, err
		}
	}
	return filter, nil
}

// open returns the page of the list that the filters select.
func (in *resultsInput) open(check uuid.UUID) (listing.Page, *rest.Cursor, error) {
	query := rest.ListQuery{PageQuery: rest.PageQuery{Limit: in.Limit, Offset: in.Offset}, Cursor: in.Cursor}
	return query.Open(maxResults, "results", check.String(), optionalTime(in.From), optionalTime(in.To), in.Region, Optional(in.Success))
}

// optionalTime writes a parameter for the binding of a cursor.
func optionalTime(value rest.Optional[time.Time]) string {
	if set := value.Pointer(); set != nil {
		return set.UTC().Format(time.RFC3339Nano)
	}
	return ""
}

func (res *results) list(ctx context.Context, in *resultsInput) (*rest.Listing[ResultView], error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	filter, err := in.filter(placesOf(ctx, res.store))
	if err != nil {
		return nil, err
	}
	page, cursor, err := in.open(id)
	if err != nil {
		return nil, err
	}
	filter.Page = page
	rows, extent, err := res.store.Results(ctx, rest.CallerOf(ctx).Org.ID, id, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, ShowResult), nil
}

// UptimeNumbers are the numbers of a period, of all regions or of one.
type UptimeNumbers struct {
	UptimePercentage   float64 `json:"uptime_percentage" minimum:"0" maximum:"100" doc:"Share of the results that succeeded; 0 without a result, so read coverage_percentage first: 0 there says that nothing was measured."`
	TotalChecks        int64   `json:"total_checks"`
	SuccessfulChecks   int64   `json:"successful_checks"`
	FailedChecks       int64   `json:"failed_checks"`
	AvgResponseTimeMS  float64 `json:"avg_response_time_ms" doc:"Over the successful results, as are the percentiles."`
	P50ResponseTimeMS  float64 `json:"p50_response_time_ms"`
	P95ResponseTimeMS  float64 `json:"p95_response_time_ms"`
	P99ResponseTimeMS  float64 `json:"p99_response_time_ms"`
	ExpectedChecks     int64   `json:"expected_checks" doc:"How many results were due, including those of manual tests."`
	MissedChecks       int64   `json:"missed_checks" doc:"How many of the due results are missing."`
	CoveragePercentage float64 `json:"coverage_percentage" minimum:"0" maximum:"100" doc:"Share of the due results that exist."`
	ExcludedChecks     int64   `json:"excluded_checks" doc:"How many results are in maintenance. No other number includes them, unless excluded is count."`
}

// uptimeView is an UptimeStats (spec section 2).
type uptimeView struct {
	UptimeNumbers
	Period   string                   `json:"period" enum:"1h,24h,7d,30d,90d,custom" doc:"custom where from was sent."`
	Span     *spanView                `json:"span" doc:"What was asked for with from and to; null for a period."`
	ByRegion map[string]UptimeNumbers `json:"by_region" doc:"The same numbers for each region, by its key."`
}

func showUptimeNumbers(u vigil.Uptime) UptimeNumbers {
	return UptimeNumbers{
		UptimePercentage: u.Percentage(), TotalChecks: u.Total, SuccessfulChecks: u.Successful, FailedChecks: u.Failed,
		AvgResponseTimeMS: u.AvgMS, P50ResponseTimeMS: u.P50MS, P95ResponseTimeMS: u.P95MS, P99ResponseTimeMS: u.P99MS,
		ExpectedChecks: u.Expected(), MissedChecks: u.Missed, CoveragePercentage: u.Coverage(),
		ExcludedChecks: u.Excluded,
	}
}

// spanView is the time between two edges.
type spanView struct {
	From            time.Time          `json:"from" doc:"Where the numbers begin."`
	To              time.Time          `json:"to" doc:"Where they end: the present where to is later."`
	Timezone        string             `json:"timezone" example:"Europe/Berlin"`
	FromEdge        overview.Precision `json:"from_edge" enum:"exact,hour" doc:"exact: from is met to the slot. hour: the results around it are past their retention, and the numbers begin with the next whole hour (UTC), which from says."`
	ToEdge          overview.Precision `json:"to_edge" enum:"exact,hour" doc:"As from_edge."`
	MeasuredSeconds float64            `json:"measured_seconds" minimum:"0" doc:"The time that results outside of maintenance stand for. An hour without results adds nothing."`
	DowntimeSeconds float64            `json:"downtime_seconds" minimum:"0" doc:"The part of it in which the target failed: of each hour, the share of its results that failed."`
}

type uptimeInput struct {
	rest.IDPath
	Period   string `query:"period" enum:"1h,24h,7d,30d,90d" default:"24h" doc:"How far to look back."`
	From     string `query:"from" maxLength:"64" doc:"Where the time begins, in the place of period: an instant, or a day, which begins in timezone." example:"2026-10-01"`
	To       string `query:"to" maxLength:"64" doc:"Where it ends, at most 366 days later. Default: the present." example:"2026-11-01"`
	Timezone string `query:"timezone" default:"UTC" maxLength:"64" doc:"IANA name of the time zone in which the days of from and to begin." example:"Europe/Berlin"`
	Excluded string `query:"excluded" enum:"omit,count" default:"omit" doc:"Whether results in maintenance count. Response times never include them."`
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

func (res *results) uptime(ctx context.Context, in *uptimeInput) (*rest.Answer[uptimeView], error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	org, withExcluded := rest.CallerOf(ctx).Org.ID, in.Excluded == "count"
	zone, err := zoneOf(in.Timezone)
	if err != nil {
		return nil, err
	}
	if in.From == "" && in.To == "" {
		uptime, err := res.store.Uptime(ctx, org, id, periods(in.Period), withExcluded)
		if err != nil {
			return nil, err
		}
		return rest.NewAnswer(showUptime(in.Period, uptime)), nil
	}
	span, err := spanOf(in.From, in.To, in.Timezone, res.now())
	if err != nil {
		return nil, err
	}
	uptime, err := res.store.UptimeBetween(ctx, org, id, span, withExcluded)
	if err != nil {
		return nil, err
	}
	view := showUptime("custom", uptime.Uptime)
	view.Span = &spanView{
		From: uptime.From.At.In(zone), To: uptime.To.At.In(zone), Timezone: zone.String(),
		FromEdge: uptime.From.Precision, ToEdge: uptime.To.Precision,
		MeasuredSeconds: uptime.Tally.Measured.Seconds(), DowntimeSeconds: uptime.Tally.Down.Seconds(),
	}
	return rest.NewAnswer(view), nil
}

func showUptime(period string, uptime vigil.Uptime) uptimeView {
	view := uptimeView{UptimeNumbers: showUptimeNumbers(uptime), Period: period, ByRegion: make(map[string]UptimeNumbers)}
	for region, numbers := range uptime.ByRegion {
		view.ByRegion[region] = showUptimeNumbers(numbers)
	}
	return view
}
