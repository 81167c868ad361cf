// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/simulate"
)

// recordedRuns are the runs of the repository.
func recordedRuns(t *testing.T) []simulate.Recording {
	t.Helper()
	known, err := simulate.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	return known.Runs
}

// compare simulates a recorded run with the costs of some runs, and returns by which part the simulation is off: for the CPU
// time of all parts, the turns and the groups.
func compare(t *testing.T, r *simulate.Recording, costs []simulate.Recording) (cpu, turns, groups float64) {
	t.Helper()
	m, err := simulate.Fit(costs)
	if err != nil {
		t.Fatal(err)
	}
	out, err := simulate.Run(t.Context(), simulate.Of(r), m)
	if err != nil {
		t.Fatal(err)
	}
	f := &out.Measured
	part := func(got, want float64) float64 { return got/want - 1 }
	cpu = part(f.CPU()*r.Took, r.Worker.CPU+r.Temporal.CPU+r.Postgres.CPU)
	turns, groups = part(float64(f.Turns), float64(r.Turns)), part(float64(f.Groups), float64(r.Groups))
	t.Logf(
		"%6d checks at %2.0f s, turn rate %s: CPU %+5.1f %% (worker %+5.1f, Temporal %+5.1f, Postgres %+5.1f), "+
			"turns %d %+5.1f %%, groups %d %+5.1f %%; "+
			"late p50 %.1f, recorded %.1f ms, p99 %.1f, recorded %.1f ms; missed %d, recorded %d",
		r.Checks,
		r.Interval,
		r.TurnRate,
		100*cpu,
		100*part(f.Worker*r.Took, r.Worker.CPU),
		100*part(f.Temporal*r.Took, r.Temporal.CPU),
		100*part((f.Store+f.Database)*r.Took, r.Postgres.CPU),
		f.Turns,
		100*turns,
		f.Groups,
		100*groups,
		f.Lateness.P50,
		r.Lateness.P50,
		f.Lateness.P99,
		r.Lateness.P99,
		f.Missed,
		r.Missed,
	)
	if math.Abs(f.Lateness.P50-r.Lateness.P50) > 0.5 {
		t.Errorf(
			"%d checks at %.0f s: half of the slots are more than %.1f ms late; it was %.1f",
			r.Checks,
			r.Interval,
			f.Lateness.P50,
			r.Lateness.P50,
		)
	}
	return cpu, turns, groups
}

// TestRecordedRuns holds what a simulation says of each recorded run against the recording: turns and CPU time within 15 %.
// The CPU time of the second run of 10,000 checks is left out: it was recorded beside so much other work that the same checks
// took a quarter more than in the first one. The costs of a recovery are from there.
func TestRecordedRuns(t *testing.T) {
	t.Parallel()
	runs := recordedRuns(t)
	for i := range runs {
		r := &runs[i]
		cpu, turns, groups := compare(t, r, runs)
		if math.Abs(turns) > 0.15 || math.Abs(groups) > 0.20 {
			t.Errorf("%d checks at %.0f s: the turns are off by %.1f %%, and the groups by %.1f %%", r.Checks, r.Interval, 100*turns, 100*groups)
		}
		if math.Abs(cpu) > 0.15 && r.Recovery == nil {
			t.Errorf("%d checks at %.0f s: the CPU time is off by %.1f %%", r.Checks, r.Interval, 100*cpu)
		}
	}
}

// TestRecordedRunOfAnotherSize holds the simulation of 10,000 checks, with costs of runs of 100 and 1,000 alone, against the
// first recording of 10,000: within 15 %.
func TestRecordedRunOfAnotherSize(t *testing.T) {
	t.Parallel()
	var smaller []simulate.Recording
	var large *simulate.Recording
	runs := recordedRuns(t)
	for i := range runs {
		switch {
		case runs[i].Checks <= 1000:
			smaller = append(smaller, runs[i])
		case large == nil:
			large = &runs[i]
		}
	}
	if large == nil || len(smaller) < 5 {
		t.Fatalf("there are %d runs of at most 1,000 checks, and %v beside", len(smaller), large)
	}
	if cpu, turns, _ := compare(t, large, smaller); math.Abs(cpu) > 0.15 || math.Abs(turns) > 0.15 {
		t.Errorf("the CPU time is off by %.1f %%, and the turns by %.1f %%", 100*cpu, 100*turns)
	}
}

// TestRecordingThatIsNotAmongTheCosts holds the simulation of 10,000 checks against a recording that its costs do not know:
// within 15 %.
func TestRecordingThatIsNotAmongTheCosts(t *testing.T) {
	t.Parallel()
	another, err := simulate.ReadCosts("testdata/another.json")
	if err != nil {
		t.Fatal(err)
	}
	if cpu, turns, _ := compare(t, &another.Runs[0], recordedRuns(t)); math.Abs(cpu) > 0.15 || math.Abs(turns) > 0.15 {
		t.Errorf("the CPU time is off by %.1f %%, and the turns by %.1f %%", 100*cpu, 100*turns)
	}
}

// TestRecordingsAreAdded proves that a recording is added to a file that exists, and that a file of something else stays.
func TestRecordingsAreAdded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "costs.json")
	runs := recordedRuns(t)
	for i := range 2 {
		if err := simulate.AddRecording(path, "mine", runs[i]); err != nil {
			t.Fatal(err)
		}
	}
	known, err := simulate.ReadCosts(path)
	if err != nil || known.Machine != "mine" || len(known.Runs) != 2 || known.Runs[1].Turns != runs[1].Turns {
		t.Errorf("read %+v, %v", known, err)
	}
	if _, err := simulate.ParseCosts("x", []byte(`{"runs": [{"checks": 1}]}`)); err == nil || !strings.Contains(err.Error(), "x: runs[0]") {
		t.Errorf("a run without figures: %v", err)
	}
}
