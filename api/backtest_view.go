package api

import (
	"time"

	"github.com/google/uuid"

	"vigil"
)

// backtestView is the answer of a backtest.
type backtestView struct {
	Period      backtestPeriod       `json:"period"`
	Results     int                  `json:"results" doc:"How many stored results of the period were replayed."`
	SlotsMissed int64                `json:"slots_missed" doc:"How many slots of the period have no result."`
	Rules       []backtestReportView `json:"rules" doc:"In the order of the request."`
	Compare     *backtestCompareView `json:"compare" doc:"The incidents of two rules side by side; null for one rule."`
	Assumptions []string             `json:"assumptions" doc:"What the answer takes for granted."`
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

// show fills the answer with reports.
func (v *backtestView) show(rules []vigil.Rule, reports []vigil.BacktestReport, rows int, missed int64) {
	v.Results, v.SlotsMissed = rows, missed
	for i := range reports {
		v.Rules = append(v.Rules, showBacktest(&rules[i], &reports[i], v.Period.To))
	}
	if len(reports) == vigil.MaxBacktestRules {
		c := vigil.CompareBacktests(reports[0], reports[1])
		v.Compare = &backtestCompareView{
			OnlyFirst: c.OnlyFirst, OnlySecond: c.OnlySecond, Both: c.Both, EarlierSecondsP50: c.EarlierP50.Seconds(),
		}
	}
}

func showBacktest(rule *vigil.Rule, report *vigil.BacktestReport, end time.Time) backtestReportView {
	view := backtestReportView{Name: rule.Name, Incidents: make([]backtestIncidentView, len(report.Incidents))}
	if rule.CheckID != uuid.Nil {
		view.ID = &rule.ID
	}
	for i := range report.Incidents {
		view.Incidents[i] = showBacktestIncident(&report.Incidents[i], end)
	}
	view.Totals = backtestTotals{
		Incidents: report.Total, Messages: report.Pages(rule.NotifyOn), PagesByChannel: make(map[string]int, len(rule.Channels)),
		MinutesOpen: report.TimeOpen.Minutes(), LongestSeconds: report.Longest.Seconds(), ShortestSeconds: report.Shortest.Seconds(),
		Flaps: report.Flaps,
	}
	for _, channel := range rule.Channels {
		view.Totals.PagesByChannel[channel.String()] = view.Totals.Messages
	}
	return view
}

func showBacktestIncident(i *vigil.BacktestIncident, end time.Time) backtestIncidentView {
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
