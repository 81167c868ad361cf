// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/workflows"
)

// replayGrid is the time between two slots, and regionStep that between two regions of one
// slot, so that the workflow receives votes one by one.
const (
	replayGrid = time.Minute
	regionStep = time.Second
)

// TestBacktestAgreesWithTheWorkflow has random results of random checks judged twice: live,
// by evaluation, votes and the workflow of incidents, and by a backtest of the stored rows.
// Both open and resolve the same incidents at the same slots.
func TestBacktestAgreesWithTheWorkflow(t *testing.T) {
	t.Parallel()
	sequences, seed := 2000, rand.Uint64()
	if os.Getenv("VIGIL_DRILL") == "full" {
		sequences = 10_000
	}
	random := rand.New(rand.NewPCG(seed, 1))
	incidents := 0
	for n := range sequences {
		in, rows := randomReplay(random)
		reports, _, err := backtest.Run(in, func(yield func(backtest.Row, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		var replayed []time.Time
		for _, i := range reports[0].Incidents {
			replayed = append(replayed, i.OpenedAt)
			if !i.ResolvedAt.IsZero() {
				replayed = append(replayed, i.ResolvedAt)
			}
		}
		if lived := live(t, &in, rows); !slices.Equal(replayed, lived) {
			t.Fatalf("seed %d, sequence %d, %+v:\nreplayed %v\nlived    %v", seed, n, in.Rules[0].Condition, replayed, lived)
		}
		incidents += reports[0].Total
	}
	t.Logf("%d sequences with %d incidents: backtest and workflow agree on each", sequences, incidents)
	if incidents < sequences {
		t.Errorf("%d incidents in %d sequences, so little is compared", incidents, sequences)
	}
}

// randomReplay is a check of 1 to 3 regions with a rule, and its results: each region
// changes its health now and then. The first slot of every region succeeds.
func randomReplay(random *rand.Rand) (backtest.Input, []backtest.Row) {
	rule := vigil.Rule{
		ID:      uuid.New(),
		Enabled: true,
		Policy:  []vigil.RegionPolicy{vigil.AnyRegion, vigil.MostRegions, vigil.AllRegions}[random.IntN(3)],
	}
	switch random.IntN(3) {
	case 0:
		rule.Condition.HealthStatus = "down"
	case 1:
		rule.Condition.FailureThreshold = 1 + random.IntN(3)
	default:
		rule.Condition.ResponseTimeMS = new(100)
	}
	rule.Condition.RecoveryThreshold = random.IntN(5)
	slots := 10 + random.IntN(30)
	in := backtest.Input{
		Rules: []vigil.Rule{rule}, Regions: []string{"a", "b", "c"}[:1+random.IntN(3)], Silence: time.Hour,
		From: envStart, To: envStart.Add(time.Duration(slots) * replayGrid),
	}
	failing := make([]bool, len(in.Regions))
	var rows []backtest.Row
	for n := range slots {
		for i, region := range in.Regions {
			if n > 0 && random.IntN(3) == 0 {
				failing[i] = !failing[i]
			}
			row := backtest.Row{Region: region, Result: vigil.Result{ID: uuid.New()}}
			row.Result.Slot = envStart.Add(time.Duration(n)*replayGrid + time.Duration(i)*regionStep)
			row.Result.Success, row.Result.ResponseTime = !failing[i], 50*time.Millisecond
			if failing[i] && random.IntN(2) == 0 {
				row.Result.ResponseTime = time.Second
			}
			rows = append(rows, row)
		}
	}
	return in, rows
}

// live judges rows as a running platform does, and returns when incidents opened and
// resolved, in turn.
func live(t *testing.T, in *backtest.Input, rows []backtest.Row) []time.Time {
	t.Helper()
	votes := votesOf(in, rows)
	var changed []time.Time
	e := newIncidentTest(t, in.Rules[0].Policy, in.Regions...)
	e.standing.Rules[0].ID = in.Rules[0].ID
	for next := 0; next < len(votes); {
		vote := votes[next]
		next++
		e.keep(vote)
		if len(vote.Firing) == 0 { // no workflow runs, and this vote needs none
			continue
		}
		// A run of its own store would forget the votes of the run before.
		run := newIncidentTest(t, in.Rules[0].Policy)
		run.standing, run.input.CheckID = e.standing, e.input.CheckID
		run.env.SetStartTime(vote.Slot)
		run.busy = func() { changed = append(changed, run.env.Now().UTC()) }
		run.at(0, func() { run.env.SignalWorkflow(workflows.SignalVote, vote) })
		for _, later := range votes[next:] {
			run.at(later.Slot.Sub(vote.Slot), func() {
				next++
				run.keep(later)
				run.env.SignalWorkflow(workflows.SignalVote, later)
			})
		}
		run.run()
		e = run
	}
	return changed
}

// TestBacktestAgreesWithEachRuleOfAnIncident has random results of checks with two rules judged
// live and by a backtest of each rule: a rule fires in an incident, or opens it, exactly while
// the incidents last that it has alone.
func TestBacktestAgreesWithEachRuleOfAnIncident(t *testing.T) {
	t.Parallel()
	sequences, seed := 500, rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 2))
	joined := 0
	for n := range sequences {
		in, rows := randomReplay(random)
		other, _ := randomReplay(random)
		in.Rules = append(in.Rules, other.Rules[0])
		reports, _, err := backtest.Run(in, func(yield func(backtest.Row, error) bool) {
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		lived, late := liveRules(t, &in, rows)
		joined += late
		for i, rule := range in.Rules {
			var replayed []time.Time
			for _, incident := range reports[i].Incidents {
				replayed = append(replayed, incident.OpenedAt)
				if !incident.ResolvedAt.IsZero() {
					replayed = append(replayed, incident.ResolvedAt)
				}
			}
			if !slices.Equal(replayed, lived[rule.ID]) {
				t.Fatalf("seed %d, sequence %d, rule %d of %+v:\nreplayed %v\nlived    %v", seed, n, i, in.Rules, replayed, lived[rule.ID])
			}
		}
	}
	if joined < sequences/2 {
		t.Errorf("%d rules began in an open incident in %d sequences, so little is compared", joined, sequences)
	}
}

// liveRules judges rows as a running platform does, and returns when each rule began and
// stopped to fire, in turn, and how often one began while an incident was open.
func liveRules(t *testing.T, in *backtest.Input, rows []backtest.Row) (changed map[uuid.UUID][]time.Time, late int) {
	t.Helper()
	votes := votesOf(in, rows)
	changed = make(map[uuid.UUID][]time.Time)
	e := newIncidentTest(t, vigil.AnyRegion, in.Regions...)
	e.standing.Rules = nil
	for _, rule := range in.Rules {
		e.standing.Rules = append(e.standing.Rules, vigil.RulePolicy{ID: rule.ID, Policy: rule.Policy})
	}
	for next := 0; next < len(votes); {
		vote := votes[next]
		next++
		e.keep(vote)
		if len(vote.Firing) == 0 { // no workflow runs, and this vote needs none
			continue
		}
		run := newIncidentTest(t, vigil.AnyRegion)
		run.standing, run.input.CheckID = e.standing, e.input.CheckID
		run.env.SetStartTime(vote.Slot)
		note := func(rules []uuid.UUID) {
			for _, rule := range rules {
				changed[rule] = append(changed[rule], run.env.Now().UTC())
			}
		}
		var firing []uuid.UUID
		run.busy = func() {
			if run.standing.Incident == nil {
				note(firing)
				return
			}
			firing = run.standing.Incident.FiringNow()
			note(firing)
		}
		run.changed = func(change vigil.RulesRequest) {
			late += len(change.Begun)
			firing = run.standing.Incident.FiringNow()
			note(change.Begun)
			note(change.Ended)
		}
		run.at(0, func() { run.env.SignalWorkflow(workflows.SignalVote, vote) })
		for _, later := range votes[next:] {
			run.at(later.Slot.Sub(vote.Slot), func() {
				next++
				run.keep(later)
				run.env.SignalWorkflow(workflows.SignalVote, later)
			})
		}
		run.run()
		e = run
	}
	return changed, late
}

// keep stores a vote.
func (e *incidentTest) keep(vote vigil.Vote) {
	for i := range e.standing.Regions {
		if r := &e.standing.Regions[i]; r.Region == vote.Region {
			r.Voted, r.Vote = true, vote
		}
	}
}

// votesOf returns the votes that the loops of the regions report.
func votesOf(in *backtest.Input, rows []backtest.Row) []vigil.Vote {
	states := make(map[string]vigil.State)
	var votes []vigil.Vote
	for _, row := range rows {
		before := states[row.Region]
		state, _ := vigil.Evaluate(in.Rules, before, row.Result)
		states[row.Region] = state
		if before.Slot.IsZero() || !before.SameFiring(state) {
			votes = append(votes, vigil.Vote{
				Region: row.Region, Revision: 1, Slot: row.Result.Slot, Failures: state.Failures, Firing: state.Firing, Matches: state.Matches,
			})
		}
	}
	return votes
}

// A target that flaps opens one incident of a rule with a recovery threshold, and one for each
// failure without.
func TestRecoveryThresholdMakesOneIncidentOfAFlap(t *testing.T) {
	t.Parallel()
	for recovery, want := range map[int]int{0: 4, 2: 4, 3: 1} {
		rule := vigil.Rule{ID: uuid.New(), Enabled: true, Policy: vigil.AnyRegion}
		rule.Condition = vigil.Condition{HealthStatus: "down", RecoveryThreshold: recovery}
		in := backtest.Input{Rules: []vigil.Rule{rule}, Regions: []string{"a"}}
		var rows []backtest.Row
		for n, letter := range "+x++x++x++x++++" {
			row := backtest.Row{Region: "a", Result: vigil.Result{ID: uuid.New(), Slot: envStart.Add(time.Duration(n) * replayGrid)}}
			row.Result.Success = letter == '+'
			rows = append(rows, row)
		}
		changed := live(t, &in, rows)
		if len(changed) != 2*want {
			t.Fatalf("recovery threshold %d: incidents opened and resolved at %v, want %d", recovery, changed, want)
		}
		quiet := max(1, recovery)
		if end, wantEnd := changed[len(changed)-1], envStart.Add(time.Duration(10+quiet)*replayGrid); !end.Equal(wantEnd) {
			t.Errorf("recovery threshold %d: the last incident resolved at %v, want %v", recovery, end, wantEnd)
		}
	}
}
