// SPDX-License-Identifier: Apache-2.0

package backtests

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// labelBacktestBody is what to replay for the checks with a label.
type labelBacktestBody struct {
	Label string         `json:"label" minLength:"1" maxLength:"264" doc:"A label that the checks have: key=value, or key for any value. At most 50 checks may have it." example:"team=shop"`
	Rules []backtestRule `json:"rules" minItems:"1" maxItems:"2" doc:"One rule, or two to compare. Each is replayed for every check as if it were the only one; an id may be that of a rule of any check."`
	From  *time.Time     `json:"from,omitempty" doc:"Start of the period; 7 days before its end when it is left out. It is moved to the oldest stored result."`
	To    *time.Time     `json:"to,omitempty" doc:"End of the period; now when it is left out."`
}

type labelBacktestInput struct {
	Body labelBacktestBody
}

// labelBacktestView is the answer of a backtest of several checks.
type labelBacktestView struct {
	Period      backtestPeriod       `json:"period"`
	Results     int                  `json:"results" doc:"How many stored results were replayed."`
	SlotsMissed int64                `json:"slots_missed" doc:"How many slots of the period have no result."`
	Checks      []checkBacktestView  `json:"checks" maxItems:"50" doc:"By name."`
	Rules       []ruleTotalsView     `json:"rules" doc:"Over all checks, in the order of the request."`
	Compare     *backtestCompareView `json:"compare" doc:"The incidents of two rules side by side; null for one rule."`
	Assumptions []string             `json:"assumptions" doc:"What the answer takes for granted."`
}

// checkBacktestView is what the rules would have done for a check.
type checkBacktestView struct {
	ID          uuid.UUID        `json:"id" format:"uuid"`
	Name        string           `json:"name"`
	Period      backtestPeriod   `json:"period" doc:"It begins with the oldest stored result, where that is later."`
	Results     int              `json:"results"`
	SlotsMissed int64            `json:"slots_missed"`
	Totals      []backtestTotals `json:"totals" doc:"Of each rule, in the order of the request."`
}

// ruleTotalsView adds up what a rule would have done.
type ruleTotalsView struct {
	ID     *uuid.UUID     `json:"id" format:"uuid" nullable:"true" doc:"The stored rule; null for one that is not saved."`
	Name   string         `json:"name"`
	Totals backtestTotals `json:"totals"`
}

func (b *backtests) runLabel(ctx context.Context, in *labelBacktestInput) (*rest.Answer[labelBacktestView], error) {
	org := rest.CallerOf(ctx).Org.ID
	checks, err := b.labeled(ctx, org, in.Body.Label)
	if err != nil {
		return nil, err
	}
	rules, err := b.rules(ctx, org, nil, in.Body.Rules)
	if err != nil {
		return nil, err
	}
	period, err := replayPeriod(in.Body.From, in.Body.To, b.now())
	if err != nil {
		return nil, err
	}
	replays, err := b.replay(ctx, org, checks, rules, period)
	if err != nil {
		return nil, err
	}
	sum := labelSum{view: labelBacktestView{Period: period, Assumptions: assumptions()}}
	for _, replay := range replays {
		sum.add(replay)
	}
	return rest.NewAnswer(sum.answer(rules)), nil
}

// labeled returns the checks with a label, by name.
func (b *backtests) labeled(ctx context.Context, org uuid.UUID, label string) ([]vigil.Check, error) {
	labels, err := vigil.ParseLabelSelectors("label", []string{label})
	if err != nil {
		return nil, err
	}
	list := listing.CheckList{Sort: listing.SortName, Page: listing.Page{Limit: backtest.MaxChecks}}
	list.Labels = labels
	var checks []vigil.Check
	for {
		rows, extent, err := b.store.Checks(ctx, org, list)
		if err != nil {
			return nil, err
		}
		checks = append(checks, rows...)
		switch list.After = extent.Next; {
		case extent.Next != nil && len(checks) >= backtest.MaxChecks:
			return nil, vigil.Invalid("label", "%d checks have this label; at most %d are replayed at a time", extent.Total, backtest.MaxChecks)
		case extent.Next == nil && len(checks) == 0:
			return nil, vigil.Invalid("label", "no check has this label")
		case extent.Next == nil:
			return checks, nil
		}
	}
}

// labelSum adds up the replays of several checks.
type labelSum struct {
	view    labelBacktestView
	reports []backtest.Report
	compare backtest.Comparison
}

func (s *labelSum) add(r *checkReplay) {
	if s.reports == nil {
		s.reports = make([]backtest.Report, len(r.reports))
	}
	shown := checkBacktestView{
		ID: r.check.ID, Name: r.check.Name, Period: backtestPeriod{From: r.From, To: r.To}, Results: r.rows, SlotsMissed: r.extent.Missed,
	}
	for i := range r.reports {
		shown.Totals = append(shown.Totals, showTotals(&r.Rules[i], &r.reports[i]))
		s.reports[i].Add(r.reports[i])
	}
	if len(r.reports) == backtest.MaxRules {
		s.compare.Add(backtest.Compare(r.reports[0], r.reports[1]))
	}
	s.view.Checks = append(s.view.Checks, shown)
	s.view.Results, s.view.SlotsMissed = s.view.Results+r.rows, s.view.SlotsMissed+r.extent.Missed
}

func (s *labelSum) answer(rules []vigil.Rule) labelBacktestView {
	for i := range rules {
		shown := ruleTotalsView{Name: rules[i].Name, Totals: showTotals(&rules[i], &s.reports[i])}
		if rules[i].CheckID != uuid.Nil {
			shown.ID = &rules[i].ID
		}
		s.view.Rules = append(s.view.Rules, shown)
	}
	if len(rules) == backtest.MaxRules {
		s.view.Compare = showComparison(&s.compare)
	}
	return s.view
}
