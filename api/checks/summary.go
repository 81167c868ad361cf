// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// summaryStore reads what sums up a check.
type summaryStore interface {
	Summaries(ctx context.Context, orgID uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]overview.CheckSummary, error)
	Series(ctx context.Context, orgID, checkID uuid.UUID, q overview.SeriesQuery) (overview.Series, error)
	UptimeDays(ctx context.Context, orgID, checkID uuid.UUID, days int) ([]overview.UptimeDay, error)
}

// checkSummaryView is how a check did lately.
type checkSummaryView struct {
	Slots        slotsView           `json:"slots"`
	Uptime24H    *float64            `json:"uptime_24h" minimum:"0" maximum:"100" doc:"Share of the results that succeeded since the beginning of the hour 24 hours ago, in percent; null without a result."`
	State        listing.CheckState  `json:"state" enum:"failing,warning,passing,unknown,disabled" doc:"What the check needs: failing when the newest result of some region failed, warning when none did and an incident is open."`
	Regions      []regionSummaryView `json:"regions" doc:"What the newest result of each region says."`
	Incident     *openIncidentView   `json:"incident" doc:"The open incident; null without one."`
	SlowerThanMS *int64              `json:"slower_than_ms" doc:"The lowest response time beyond which an enabled rule fires; null without such a rule."`
	P95MS        *float64            `json:"p95_ms" doc:"95th percentile of the response times of the successful results in the slots; null without any. For intervals of an hour or more its error is up to 2 %."`
}

// slotsView are the newest slots as columns, which are much smaller than objects.
type slotsView struct {
	Start           time.Time  `json:"start" doc:"Instant of the first slot."`
	IntervalSeconds int64      `json:"interval_seconds" doc:"Seconds from a slot to the next one."`
	Results         []int      `json:"results" maxItems:"60" doc:"How many results each slot has, over all regions, oldest slot first; 0 for a slot that was missed."`
	Failures        []int      `json:"failures" maxItems:"60" doc:"How many of them failed."`
	ResponseTimeMS  []*float64 `json:"response_time_ms" maxItems:"60" doc:"Mean response time of those that succeeded; null when none did."`
}

// regionSummaryView is what the newest result of a region says.
type regionSummaryView struct {
	Region       string       `json:"region" example:"na-east-ewr"`
	HealthStatus vigil.Health `json:"health_status" enum:"healthy,unhealthy,unknown"`
	StatusCode   *int         `json:"status_code" doc:"Of a result that failed; null without an HTTP answer."`
	ErrorMessage *string      `json:"error_message" doc:"Why it failed; null for one that did not."`
}

// openIncidentView is what a list of checks says of an open incident.
type openIncidentView struct {
	ID             uuid.UUID                `json:"id" format:"uuid"`
	AlertRuleID    uuid.UUID                `json:"alert_rule_id" format:"uuid"`
	Status         vigil.IncidentStatus     `json:"status" enum:"active,acknowledged"`
	Severity       vigil.Severity           `json:"severity" enum:"critical,warning,info"`
	WorstSeverity  vigil.Severity           `json:"worst_severity" enum:"critical,warning,info" doc:"The most severe one of the rules that fired so far."`
	Rules          []resource.FiredRuleView `json:"rules" doc:"The rules that fired, in the order in which they began; those that opened the incident come first."`
	Title          string                   `json:"title"`
	Matched        []string                 `json:"matched" doc:"The keys of the rule's condition that matched."`
	Days           *int                     `json:"days" doc:"Days that the certificate had left when the incident opened; null for other rules."`
	StartedAt      time.Time                `json:"started_at"`
	AcknowledgedBy *string                  `json:"acknowledged_by"`
}

func showOpenIncident(i *vigil.Incident) *openIncidentView {
	if i == nil {
		return nil
	}
	return &openIncidentView{
		ID: i.ID, AlertRuleID: i.RuleID, Status: i.Status, Severity: i.Severity, Title: i.Title,
		WorstSeverity: i.WorstSeverity(), Rules: resource.ShowFiredRules(i.Rules),
		Matched: append([]string{}, i.Trigger.Matched...), Days: i.Trigger.Days, StartedAt: i.StartedAt.UTC(),
		AcknowledgedBy: vigil.NilIfZero(i.AcknowledgedBy),
	}
}

func showSummary(sum overview.CheckSummary) *checkSummaryView {
	view := &checkSummaryView{
		P95MS:        sum.P95MS,
		State:        sum.State,
		Incident:     showOpenIncident(sum.Incident),
		SlowerThanMS: sum.SlowerThanMS,
		Slots: slotsView{
			Start: sum.Start.UTC(), IntervalSeconds: int64(sum.Interval / time.Second),
			Results: make([]int, len(sum.Slots)), Failures: make([]int, len(sum.Slots)), ResponseTimeMS: make([]*float64, len(sum.Slots)),
		},
	}
	view.Regions = make([]regionSummaryView, len(sum.Regions))
	for i, region := range sum.Regions {
		view.Regions[i] = regionSummaryView{
			Region: region.Region, HealthStatus: region.Health, StatusCode: vigil.NilIfZero(region.StatusCode),
			ErrorMessage: vigil.NilIfZero(region.Error),
		}
	}
	if sum.P95MS != nil {
		view.P95MS = new(roundMS(*sum.P95MS))
	}
	if sum.Results > 0 {
		view.Uptime24H = new(100 * float64(sum.Successes) / float64(sum.Results))
	}
	for i, slot := range sum.Slots {
		view.Slots.Results[i], view.Slots.Failures[i] = slot.Results, slot.Failures
		if mean, ok := slot.MeanMS(); ok {
			view.Slots.ResponseTimeMS[i] = new(roundMS(mean))
		}
	}
	return view
}

// roundMS rounds to a tenth of a millisecond.
func roundMS(ms float64) float64 { return math.Round(ms*10) / 10 }

// addSummaries returns the checks of a page, each with its summary. A check that was
// deleted since the page was read has none and is left out.
func addSummaries(views []checkView, sums map[uuid.UUID]overview.CheckSummary) []checkView {
	kept := views[:0]
	for i := range views {
		if sum, ok := sums[views[i].ID]; ok {
			views[i].Summary = showSummary(sum)
			kept = append(kept, views[i])
		}
	}
	return kept
}

// uptimeDayView is the uptime of a day.
type uptimeDayView struct {
	Date               string  `json:"date" format:"date" doc:"The day, in UTC."`
	UptimePercentage   float64 `json:"uptime_percentage" minimum:"0" maximum:"100" doc:"Share of the results that succeeded; 0 without a result."`
	TotalChecks        int64   `json:"total_checks"`
	SuccessfulChecks   int64   `json:"successful_checks"`
	FailedChecks       int64   `json:"failed_checks"`
	ExpectedChecks     int64   `json:"expected_checks" doc:"How many results were due, including those of manual tests."`
	MissedChecks       int64   `json:"missed_checks" doc:"How many of the due results are missing."`
	CoveragePercentage float64 `json:"coverage_percentage" minimum:"0" maximum:"100" doc:"Share of the due results that exist."`
}

func showUptimeDay(d overview.UptimeDay) uptimeDayView {
	return uptimeDayView{
		Date: d.Day.Format(time.DateOnly), UptimePercentage: d.Percentage(), TotalChecks: d.Total, SuccessfulChecks: d.Successful,
		FailedChecks: d.Failed, ExpectedChecks: d.Expected(), MissedChecks: d.Missed, CoveragePercentage: d.Coverage(),
	}
}

type uptimeDaysInput struct {
	rest.IDPath
	Days int64 `query:"days" default:"90" minimum:"1" maximum:"366" doc:"How many days, today included."`
}

func (res *results) registerDays(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks/{id}/uptime/days", ID: "list-uptime-days", Tag: resource.TagResults, Resource: ResourceCheck,
		Summary:     "List the uptime of a check by day, today first",
		Description: "Days are those of UTC. A day without results is in the list, with zeros.",
	}, res.days)
}

func (res *results) days(ctx context.Context, in *uptimeDaysInput) (*rest.Listing[uptimeDayView], error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	days, err := res.store.UptimeDays(ctx, rest.CallerOf(ctx).Org.ID, id, int(in.Days))
	if err != nil {
		return nil, err
	}
	return rest.NewListing(days, len(days), showUptimeDay), nil
}
