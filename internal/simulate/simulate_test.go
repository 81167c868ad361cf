// SPDX-License-Identifier: Apache-2.0

package simulate_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/simulate"
)

// light is a model with costs as they are on a machine, in round numbers.
func light() simulate.Model {
	return simulate.Model{
		Worker:   simulate.Work{Rest: 0.02, Result: 0.3e-3, Wake: 0.3e-3, Turn: 3e-3},
		Temporal: simulate.Work{Rest: 0.02, Turn: 8e-3},
		Postgres: simulate.Work{Rest: 0.02, Result: 0.15e-3, Group: 1e-3, Turn: 3e-3},
		Adopt:    simulate.Adoption{Worker: 0.3e-3, Postgres: 0.3e-3},
		Timer:    time.Millisecond,
	}
}

// small are options of a region that a test simulates in less than a second.
func small() simulate.Options {
	o := simulate.Defaults()
	o.Checks, o.Workers, o.Organizations = 3000, 3, 10
	return o
}

func run(t *testing.T, o simulate.Options) simulate.Outcome {
	t.Helper()
	out, err := simulate.Run(t.Context(), o, light())
	if err != nil {
		t.Fatal(err)
	}
	if out.Due != out.Stored+out.Missed+out.Open {
		t.Errorf("%d slots were due, and %d are stored, %d missed and %d open, which are %d",
			out.Due, out.Stored, out.Missed, out.Open, out.Stored+out.Missed+out.Open)
	}
	return out
}

// TestEverySlotCounts proves that each slot that is due by the schedules is stored, missed or open, also when something is lost, and
// that nothing is missed where nothing is lost and the capacity is enough.
func TestEverySlotCounts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*simulate.Options){
		"exist":             func(*simulate.Options) {},
		"created":           func(o *simulate.Options) { o.Created, o.Warm = 30*time.Second, 3*time.Minute },
		"every slot a turn": func(o *simulate.Options) { o.TurnRate = "0" },
		"five seconds":      func(o *simulate.Options) { o.Interval, o.Window = 5*time.Second, time.Minute },
		"one machine":       func(o *simulate.Options) { o.Workers, o.OneMachine = 1, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := small()
			change(&o)
			out := run(t, o)
			if out.Missed != 0 || out.Measured.Lateness.Max > 1000 {
				t.Errorf("%d slots are missed, and one was %.0f ms late, although nothing was lost", out.Missed, out.Measured.Lateness.Max)
			}
			due := float64(o.Checks) * o.For.Seconds() / o.Interval.Seconds()
			if got := float64(out.Measured.Results); got < 0.98*due || got > 1.02*due {
				t.Errorf("%.0f results in the measured time, and %.0f slots are due in it", got, due)
			}
		})
	}
}

// TestTooMuch proves that slots are later, and missed, when the machine cannot do what is due.
func TestTooMuch(t *testing.T) {
	t.Parallel()
	o := small()
	o.Workers, o.OneMachine, o.Organizations, o.Interval, o.Response = 1, true, 1, time.Second, 0
	o.Warm, o.For = 10*time.Second, 20*time.Second
	for checks, lost := range map[int]bool{1000: false, 5000: true} {
		o.Checks = checks
		out := run(t, o)
		if late := out.Measured.Lateness.P50; (out.Missed > 0) != lost || (late > 20) != lost {
			t.Errorf("%d checks at 1 s: %d slots missed, half of the others more than %.1f ms late", checks, out.Missed, late)
		}
	}
}

// TestLostHost proves that the loops of a lost worker have their turns again once its lease has ended, and not later than
// the passes that follow: at the end of the lease one of the sweep, one renewal of the others, and the adoption.
func TestLostHost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		o := small()
		o.Lose, o.Seed = simulate.LoseHost, seed
		out := run(t, o)
		first := (fleet.LeaseTimeout - fleet.LeaseRenewal).Seconds() * 1000
		last := (fleet.LeaseTimeout + fleet.SweepPass + fleet.LeaseRenewal + time.Second).Seconds() * 1000
		if again := out.Loss.Again; again.P50 < first || again.Max > last {
			t.Errorf("seed %d: half of the loops had turns after %.0f ms, the last one after %.0f; want %.0f to %.0f",
				seed, again.P50, again.Max, first, last)
		}
		if out.Loss.Loops < 900 || out.Loss.Loops > 1100 || out.Missed != 0 {
			t.Errorf("seed %d: %d loops were lost and %d slots missed; want about 1,000 and none at an interval of a minute",
				seed, out.Loss.Loops, out.Missed)
		}
		if out.Loss.Silence > last/1000+1 {
			t.Errorf("seed %d: a loop was silent for %.1f s beyond its interval", seed, out.Loss.Silence)
		}
	}
}

// TestSameSeed proves that a simulation is the same for a seed.
func TestSameSeed(t *testing.T) {
	t.Parallel()
	o := small()
	o.Lose = simulate.LoseZone
	a, b := run(t, o), run(t, o)
	if a.Measured != b.Measured || a.Loss.Again != b.Loss.Again || a.Loss.After != b.Loss.After {
		t.Errorf("two simulations of one seed differ:\n%+v\n%+v", a.Measured, b.Measured)
	}
	o.Seed = 2
	if c := run(t, o); c.Measured == a.Measured {
		t.Error("another seed makes no difference")
	}
}
