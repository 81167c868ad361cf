// SPDX-License-Identifier: Apache-2.0

package backtests

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
)

// backtestView is the answer of a backtest.
type backtestView struct {
	Period      backtestPeriod       `json:"period"`
	Results     int                  `json:"results" doc:"How many stored results of the period were replayed."`
	SlotsMissed int64                `json:"slots_missed" doc:"How many slots of the period have no result."`
	Rules       []backtestReportView `json:"rules" doc:"In the order of the request."`
	Compare     *backtestCompareView `json:"compare" doc:"The incidents of two rules side by side; null for one rule."`
	Actual      *backtestActualView  `json:"actual" doc:"The incidents that were recorded, with all rules of the check; null unless they are asked for."`
	Assumptions []string             `json:"assumptions" doc:"What the answer takes for granted."`
}

// backtestActualView are the recorded incidents of a check, beside those of the first rule.
// Incidents that overlap are the same.
type backtestActualView struct {
	Incidents  []recordedIncidentView `json:"incidents" maxItems:"500" doc:"Those that were open in the period, oldest first."`
	Total      int64                  `json:"total"`
	Both       int                    `json:"both" doc:"Of the incidents here, those that the first rule would have opened, too."`
	OnlyActual int                    `json:"only_actual" doc:"Those that it would not have opened."`
	OnlyFirst  int                    `json:"only_first" doc:"Incidents of the first rule that were not recorded."`
}

// recordedIncidentView is an incident that was recorded.
type recordedIncidentView struct {
	ID              uuid.UUID      `json:"id" format:"uuid"`
	Title           string         `json:"title"`
	Severity        vigil.Severity `json:"severity" enum:"critical,warning,info"`
	AlertRuleID     uuid.UUID      `json:"alert_rule_id" format:"uuid" doc:"The rule that names the incident; it may have been deleted since."`
	OpenedAt        time.Time      `json:"opened_at"`
	ResolvedAt      *time.Time     `json:"resolved_at" doc:"Null: it is open."`
	DurationSeconds float64        `json:"duration_seconds" doc:"Until it was resolved, or until the end of the period."`
	Regions         []string       `json:"regions" doc:"In which a rule fired when it opened."`
	Matched         []string       `json:"matched" doc:"Keys of the rule's condition that matched."`
	TriggerResultID *uuid.UUID     `json:"trigger_result_id" format:"uuid" nullable:"true" doc:"The result that opened it; null when it is not known any more."`
	ByFirstRule     bool           `json:"by_first_rule" doc:"Whether the first rule would have opened it, too."`
}

type backtestPeriod struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// backtestReportView is what a rule would have done.
type backtestReportView struct {
	ID        *uuid.UUID             `json:"id" format:"uuid" nullable:"true" doc:"The stored rule; null for one that is not saved."`
	Name      string                 `json:"name"`
	Incidents []backtestIncidentView `json:"incidents" maxItems:"500" doc:"Oldest first; the totals count all."`
	Totals    backtestTotals         `json:"totals"`
}

// backtestIncidentView is an incident that would have opened.
type backtestIncidentView struct {
	OpenedAt         time.Time  `json:"opened_at"`
	ResolvedAt       *time.Time `json:"resolved_at" doc:"Null: open at the end of the period."`
	DurationSeconds  float64    `json:"duration_seconds" doc:"Within the period."`
	OpenBefore       bool       `json:"open_before" doc:"The incident was open when the period began."`
	Regions          []string   `json:"regions" doc:"In which the rule fired when the incident opened."`
	Matched          []string   `json:"matched" doc:"Keys of the condition that matched."`
	TriggerResultID  *uuid.UUID `json:"trigger_result_id" format:"uuid" nullable:"true" doc:"The result that opened it; null when none did, as at the end of maintenance."`
	DetectionSeconds float64    `json:"detection_seconds" doc:"From the first failure in a row to the opening."`
}

// backtestTotals add up the incidents of a rule.
type backtestTotals struct {
	Incidents       int            `json:"incidents"`
	Messages        int            `json:"messages" doc:"That each channel would have received."`
	PagesByChannel  map[string]int `json:"pages_by_channel" doc:"Messages by the id of the channel."`
	MinutesOpen     float64        `json:"minutes_open"`
	LongestSeconds  float64        `json:"longest_seconds"`
	ShortestSeconds float64        `json:"shortest_seconds"`
	Flaps           int            `json:"flaps" doc:"Incidents that opened within 10 minutes after the one before."`
}

// backtestCompareView lays two rules side by side; incidents that overlap are the same.
type backtestCompareView struct {
	OnlyFirst         int     `json:"only_first"`
	OnlySecond        int     `json:"only_second"`
	Both              int     `json:"both"`
	EarlierSecondsP50 float64 `json:"earlier_seconds_p50" doc:"Median of how much earlier the first rule opened what both opened; negative: later."`
}

// show fills the answer with the reports of a replay.
func (v *backtestView) show(r *checkReplay) {
	v.Period = backtestPeriod{From: r.From, To: r.To}
	v.Results, v.SlotsMissed = r.rows, r.extent.Missed
	for i := range r.reports {
		v.Rules = append(v.Rules, showBacktest(&r.Rules[i], &r.reports[i], r.To))
	}
	if len(r.reports) == backtest.MaxRules {
		c := backtest.Compare(r.reports[0], r.reports[1])
		v.Compare = showComparison(&c)
	}
}

func showComparison(c *backtest.Comparison) *backtestCompareView {
	return &backtestCompareView{
		OnlyFirst: c.OnlyFirst, OnlySecond: c.OnlySecond, Both: c.Both, EarlierSecondsP50: c.EarlierP50().Seconds(),
	}
}

// showRecorded shows the recorded incidents of a period that ends at an instant, beside the
// report of the first rule.
func showRecorded(recorded []vigil.Incident, total int64, first backtest.Report, end time.Time) *backtestActualView {
	both, only := backtest.CompareRecorded(recorded, first)
	view := &backtestActualView{Incidents: make([]recordedIncidentView, len(recorded)), Total: total, OnlyFirst: only}
	for i := range recorded {
		incident := &recorded[i]
		shown := recordedIncidentView{
			ID: incident.ID, Title: incident.Title, Severity: incident.Severity, AlertRuleID: incident.RuleID,
			OpenedAt: incident.StartedAt.UTC(), ByFirstRule: both[i],
			Regions: append([]string{}, incident.Regions...), Matched: append([]string{}, incident.Trigger.Matched...),
		}
		until := end
		if incident.ResolvedAt != nil {
			until = incident.ResolvedAt.UTC()
			shown.ResolvedAt = &until
		}
		shown.DurationSeconds = until.Sub(shown.OpenedAt).Seconds()
		if id := incident.Trigger.Result.ID; id != uuid.Nil {
			shown.TriggerResultID = &id
		}
		if both[i] {
			view.Both++
		} else {
			view.OnlyActual++
		}
		view.Incidents[i] = shown
	}
	return view
}

func showBacktest(rule *vigil.Rule, report *backtest.Report, end time.Time) backtestReportView {
	view := backtestReportView{Name: rule.Name, Incidents: make([]backtestIncidentView, len(report.Incidents))}
	if rule.CheckID != uuid.Nil {
		view.ID = &rule.ID
	}
	for i := range report.Incidents {
		view.Incidents[i] = showBacktestIncident(&report.Incidents[i], end)
	}
	view.Totals = showTotals(rule, report)
	return view
}

func showTotals(rule *vigil.Rule, report *backtest.Report) backtestTotals {
	totals := backtestTotals{
		Incidents: report.Total, Messages: report.Pages(rule.NotifyOn), PagesByChannel: make(map[string]int, len(rule.Channels)),
		MinutesOpen: report.TimeOpen.Minutes(), LongestSeconds: report.Longest.Seconds(), ShortestSeconds: report.Shortest.Seconds(),
		Flaps: report.Flaps,
	}
	for _, channel := range rule.Channels {
		totals.PagesByChannel[channel.String()] = totals.Messages
	}
	return totals
}

func showBacktestIncident(i *backtest.Incident, end time.Time) backtestIncidentView {
	view := backtestIncidentView{
		OpenedAt: i.OpenedAt, OpenBefore: i.OpenBefore, Regions: i.Regions, Matched: i.Keys, DetectionSeconds: i.Detection.Seconds(),
	}
	if !i.ResolvedAt.IsZero() {
		end = i.ResolvedAt
		view.ResolvedAt = &end
	}
	view.DurationSeconds = end.Sub(i.OpenedAt).Seconds()
	if i.Trigger != uuid.Nil {
		view.TriggerResultID = &i.Trigger
	}
	return view
}
