// SPDX-License-Identifier: Apache-2.0

package backtest_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// replayed is the input of a backtest of slots a minute apart, of regions a, b and c: each
// word has a letter for each region, up (+), down (x) or without a result (.).
func replayed(words string, rules ...vigil.Rule) (backtest.Input, iter.Seq2[backtest.Row, error]) {
	slots := strings.Fields(words)
	in := backtest.Input{Rules: rules, Silence: 3 * time.Minute, From: start(), To: minute(len(slots))}
	for i := range slots[0] {
		in.Regions = append(in.Regions, string(rune('a'+i)))
	}
	return in, func(yield func(backtest.Row, error) bool) {
		for n, slot := range slots {
			for i, letter := range slot {
				row := backtest.Row{Region: string(rune('a' + i)), Result: vigil.Result{Observation: vigil.Observation{Success: true}}}
				if letter == '.' {
					continue
				}
				if letter == 'x' {
					row.Result.Observation = vigil.Observation{Error: "down"}
				}
				row.Result.ID, row.Result.Slot = uuid.New(), minute(n)
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// enabled is a rule with the condition.
func enabled(c vigil.Condition) vigil.Rule {
	return vigil.Rule{ID: uuid.New(), Condition: c, Enabled: true}
}

func minute(n int) time.Time { return start().Add(time.Duration(n) * time.Minute) }

// spans writes incidents as "opened-resolved", in minutes; "-" at the end for open ones.
func spans(incidents []backtest.Incident) string {
	var all []string
	for _, i := range incidents {
		text := fmt.Sprintf("%g-", i.OpenedAt.Sub(start()).Minutes())
		if !i.ResolvedAt.IsZero() {
			text += fmt.Sprintf("%g", i.ResolvedAt.Sub(start()).Minutes())
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestBacktest(t *testing.T) {
	t.Parallel()
	down1 := enabled(vigil.Condition{HealthStatus: "down"})
	twice := enabled(vigil.Condition{FailureThreshold: 2})
	held := enabled(vigil.Condition{HealthStatus: "down", RecoveryThreshold: 3})
	most, all := twice, down1
	most.Policy, all.Policy = vigil.MostRegions, vigil.AllRegions
	for name, test := range map[string]struct {
		slots string
		rule  vigil.Rule
		from  int        // minute
		works [2]float64 // minutes of maintenance
		want  string
	}{
		"NothingFails":                       {slots: "+ + + +", rule: down1, want: ""},
		"AFailureOpensAndASuccessResolves":   {slots: "+ x + +", rule: down1, want: "1-2"},
		"TwoFailuresInARowOpen":              {slots: "x + x x x +", rule: twice, want: "3-5"},
		"ARecoveryThresholdJoinsAFlap":       {slots: "+ x + x + + + x +", rule: held, want: "1-6 7-"},
		"ItsResultsBeforeThePeriodCount":     {slots: "x + + + +", rule: held, from: 2, want: "2-3"},
		"AnIncidentIsOpenAtTheEnd":           {slots: "+ x x", rule: twice, want: "2-"},
		"AnyRegionIsEnough":                  {slots: "++ x+ +x ++", rule: down1, want: "1-2 2-3"},
		"OneRegionGoesOnWhereAnotherBegan":   {slots: "++ xx +x ++", rule: down1, want: "1-3"},
		"MoreThanHalfOfTheRegionsOpen":       {slots: "+++ x++ xx+ xxx x++ +++", rule: most, want: "3-5"},
		"AllRegionsOpen":                     {slots: "++ x+ xx +x ++", rule: all, want: "2-4"},
		"ASilentRegionHasNoVote":             {slots: "++ xx +. +. +. ++", rule: down1, want: "1-4"},
		"ASilentRegionIsNotOneOfAll":         {slots: "++ x+ x. x. x. x+ ++", rule: all, want: "4-6"},
		"ASilentCheckStaysAsItWas":           {slots: "+ x . . . . . +", rule: down1, want: "1-7"},
		"FailuresBeforeThePeriodCount":       {slots: "+ x x x +", rule: twice, from: 3, want: "3-4"},
		"ResultsBeforeThePeriodOpenNothing":  {slots: "x x + + +", rule: twice, from: 3, want: ""},
		"NoIncidentOpensDuringMaintenance":   {slots: "+ x x + x +", rule: down1, works: [2]float64{1, 3}, want: "4-5"},
		"WhatFailsAfterMaintenanceOpens":     {slots: "+ x x x x +", rule: down1, works: [2]float64{1, 3}, want: "3-5"},
		"MaintenanceResolvesNothing":         {slots: "+ x x x +", rule: down1, works: [2]float64{2, 9}, want: "1-4"},
		"MaintenanceEndsBetweenTwoSlots":     {slots: "+ x x x", rule: down1, works: [2]float64{1, 1.5}, want: "1.5-"},
		"ADisabledRuleIsReplayedAsIfEnabled": {slots: "+ x +", rule: disabledRule(down1), want: "1-2"},
		"RegionsThatWereRemovedDoNotCount":   {slots: "+x +x", rule: down1, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, rows := replayed(test.slots, test.rule)
			in.From = minute(test.from)
			at := func(minutes float64) time.Time { return start().Add(time.Duration(minutes * float64(time.Minute))) }
			in.Maintenance = []maintenance.Occurrence{{StartsAt: at(test.works[0]), EndsAt: at(test.works[1])}}
			if strings.HasPrefix(name, "RegionsThatWereRemoved") {
				in.Regions = in.Regions[:1]
			}
			reports, _, err := backtest.Run(in, rows)
			if err != nil {
				t.Fatal(err)
			}
			if got := spans(reports[0].Incidents); got != test.want {
				t.Errorf("incidents %q, want %q", got, test.want)
			}
		})
	}
}

func TestBacktestOfABurnRate(t *testing.T) {
	t.Parallel()
	input := vigil.ConditionInput{Condition: []byte(
		`{"burn_rate": {"target_percentage": 99, "factor": 10, "window_seconds": 3600, "short_window_seconds": 300}}`)}
	condition, err := input.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	// In an hour 6 results of 60 are the limit, and in five minutes there is none.
	in, rows := replayed(strings.Repeat("+ ", 60)+strings.Repeat("x ", 7)+strings.Repeat("+ ", 20), enabled(condition))
	reports, _, err := backtest.Run(in, rows)
	if err != nil {
		t.Fatal(err)
	}
	if got := spans(reports[0].Incidents); got != "66-71" {
		t.Errorf("incidents %q", got)
	}
}

func disabledRule(r vigil.Rule) vigil.Rule {
	r.Enabled = false
	return r
}

func TestBacktestReport(t *testing.T) {
	t.Parallel()
	rule := enabled(vigil.Condition{FailureThreshold: 2})
	in, rows := replayed("++ x+ x+ xx ++ xx xx ++ ++ ++ ++ ++ ++ ++ ++ ++ ++ ++ ++ ++ xx xx", rule)
	reports, count, err := backtest.Run(in, rows)
	if err != nil {
		t.Fatal(err)
	}
	r := reports[0]
	if got := spans(r.Incidents); got != "2-4 6-7 21-" || count != 44 {
		t.Fatalf("incidents %q of %d rows", got, count)
	}
	if r.Total != 3 || r.Opened != 3 || r.Recovered != 2 || r.Flaps != 1 {
		t.Errorf("total %d, opened %d, recovered %d, flaps %d", r.Total, r.Opened, r.Recovered, r.Flaps)
	}
	if r.TimeOpen != 4*time.Minute || r.Longest != 2*time.Minute || r.Shortest != time.Minute {
		t.Errorf("open for %v, longest %v, shortest %v", r.TimeOpen, r.Longest, r.Shortest)
	}
	if r.Pages(vigil.NotifyUnhealthy) != 3 || r.Pages(vigil.NotifyHealthy) != 2 || r.Pages(vigil.NotifyBoth) != 5 {
		t.Errorf("messages %d, %d, %d", r.Pages(vigil.NotifyUnhealthy), r.Pages(vigil.NotifyHealthy), r.Pages(vigil.NotifyBoth))
	}
	first := r.Incidents[0]
	if first.Detection != time.Minute || !slices.Equal(first.Regions, []string{"a"}) ||
		!slices.Equal(first.Keys, []string{vigil.KeyFailureThreshold}) {
		t.Errorf("the first incident is %+v", first)
	}
	if first.Trigger == uuid.Nil || first.OpenBefore {
		t.Errorf("the first incident is %+v", first)
	}
	in.From = minute(3)
	if reports, _, err = backtest.Run(in, rows); err != nil || !reports[0].Incidents[0].OpenBefore || reports[0].Opened != 2 {
		t.Errorf("an incident that was open before: %+v, %v", reports, err)
	}
}

func TestBacktestComparesRules(t *testing.T) {
	t.Parallel()
	in, rows := replayed("+ x + x x x +", enabled(vigil.Condition{HealthStatus: "down"}), enabled(vigil.Condition{FailureThreshold: 2}))
	reports, _, err := backtest.Run(in, rows)
	if err != nil {
		t.Fatal(err)
	}
	if first, second := spans(reports[0].Incidents), spans(reports[1].Incidents); first != "1-2 3-6" || second != "4-6" {
		t.Errorf("the first rule %q, the second %q", first, second)
	}
	c := backtest.Compare(reports[0], reports[1])
	if c.Both != 1 || c.OnlyFirst != 1 || c.OnlySecond != 0 || c.EarlierP50() != time.Minute {
		t.Errorf("compared: %+v", c)
	}
	// Of several checks the counts add up, and the median is over all incidents.
	c.Add(backtest.Compare(reports[1], reports[0]))
	if c.Both != 2 || c.OnlyFirst != 1 || c.OnlySecond != 1 || c.EarlierP50() != time.Minute {
		t.Errorf("of two checks: %+v", c)
	}
	sum := reports[1]
	sum.Add(reports[0])
	if sum.Total != 3 || sum.Opened != 3 || sum.Recovered != 3 || sum.TimeOpen != 6*time.Minute ||
		sum.Longest != 3*time.Minute || sum.Shortest != time.Minute || sum.Flaps != reports[0].Flaps {
		t.Errorf("the sum is %+v", sum)
	}
}

func TestBacktestComparesWithWhatWasRecorded(t *testing.T) {
	t.Parallel()
	in, rows := replayed("+ x + x x x +", enabled(vigil.Condition{FailureThreshold: 2}))
	reports, _, err := backtest.Run(in, rows)
	if err != nil {
		t.Fatal(err)
	}
	recorded := []vigil.Incident{{StartedAt: minute(1), ResolvedAt: new(minute(2))}, {StartedAt: minute(3), ResolvedAt: new(minute(6))}}
	both, only := backtest.CompareRecorded(recorded, reports[0])
	if !slices.Equal(both, []bool{false, true}) || only != 0 {
		t.Errorf("the rule has %v of the recorded incidents, and %d others", both, only)
	}
	if both, only = backtest.CompareRecorded([]vigil.Incident{{StartedAt: minute(6)}}, reports[0]); !both[0] || only != 0 {
		t.Error("incidents that meet at an instant are not the same")
	}
	if both, only = backtest.CompareRecorded(recorded[:1], reports[0]); both[0] || only != 1 {
		t.Errorf("the rule has %v of the recorded incidents, and %d others", both, only)
	}
}

func TestBacktestEndsWithTheError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the connection is lost")
	in, _ := replayed("+", enabled(vigil.Condition{HealthStatus: "down"}))
	_, _, err := backtest.Run(in, func(yield func(backtest.Row, error) bool) { yield(backtest.Row{}, broken) })
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// BenchmarkBacktest prints how many stored results a second are replayed.
func BenchmarkBacktest(b *testing.B) {
	in, rows := replayed(strings.Repeat("+++ +++ x++ xx+ +++ ", 2000), enabled(vigil.Condition{FailureThreshold: 2}))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := backtest.Run(in, rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(30_000*b.N)/b.Elapsed().Seconds(), "results/s")
}
