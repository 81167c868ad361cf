// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"context"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
)

// Figures are what happens in a time, in all loops of the simulated region.
type Figures struct {
	Seconds   float64   `json:"seconds"`
	Results   int64     `json:"results"`
	Missed    int64     `json:"missed"`
	Turns     int64     `json:"turns"`
	Groups    int64     `json:"groups"` // transactions that store results
	Lateness  Quantiles `json:"lateness_ms"`
	Worker    float64   `json:"worker_cores"`   // that the region's workers take together
	Temporal  float64   `json:"temporal_cores"` // that Temporal takes for the region
	Store     float64   `json:"temporal_store_cores"`
	Database  float64   `json:"database_cores"` // that the region's results take in Postgres
	SlotsTurn float64   `json:"slots_a_turn"`   // results for each turn that ended
}

// CPU is the CPU time of all parts but the targets, in cores.
func (f *Figures) CPU() float64 { return f.Worker + f.Temporal + f.Store + f.Database }

// LossFigures are what follows from a loss.
type LossFigures struct {
	What       Loss      `json:"lost"`
	Loops      int64     `json:"lost_loops"`           // of lost workers, in the region
	Again      Quantiles `json:"turn_again_ms"`        // from the loss until a lost loop had its turn again
	Nudged     int64     `json:"nudged"`               // of them through Temporal; the others were adopted
	Silence    float64   `json:"longest_silence_s"`    // between two results of a loop, beyond its interval
	LateSecond int64     `json:"late_more_than_1s"`    // results
	After      Figures   `json:"after"`                // from the loss to the end
	Opens      []Opening `json:"incidents_open_after"` // of checks that fail within an interval after the loss
}

// Opening says how long after a failure the region policy of a rule is met.
type Opening struct {
	Policy    vigil.RegionPolicy `json:"policy"`
	Usual     Seconds            `json:"without_the_loss_s"`
	Lost      Seconds            `json:"with_the_loss_s"`
	NotOpened int                `json:"not_opened"` // in the simulated time, of 2,000 checks at most
}

// Seconds are quantiles of a time.
type Seconds struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Outcome is what a simulation found.
type Outcome struct {
	// The whole simulation: what was due by the schedules of the loops is stored, missed or open. Open is the newest slot of
	// a loop that has no result yet at the end.
	Due    int64 `json:"due"`
	Stored int64 `json:"stored"`
	Missed int64 `json:"missed"`
	Open   int64 `json:"open"`

	Measured Figures      `json:"measured"`
	Loss     *LossFigures `json:"loss,omitempty"`
	Plan     Plan         `json:"plan"`
}

// Run simulates until its end, or until ctx is done, whose error it returns then. It is the same for the same options, model
// and seed. Options that cannot be used are an error that names the flag.
func Run(ctx context.Context, o Options, m Model) (Outcome, error) {
	if err := o.Validate(); err != nil {
		return Outcome{}, err
	}
	o.size(m)
	w, err := newWorld(o, m)
	if err != nil {
		return Outcome{}, err
	}
	if err := w.run(ctx); err != nil {
		return Outcome{}, err
	}
	out := Outcome{}
	out.Due, out.Open = w.account()
	out.Stored, out.Missed = w.out.whole.stored, w.out.whole.missed
	out.Measured = w.figures(&w.out.measured, o.For, o.Workers)
	if o.Lose != LoseNothing {
		out.Loss = w.lossFigures()
	}
	out.Plan = plan(o, m, &out.Measured)
	return out, nil
}

// size gives the region's Postgres and its part of Temporal twice the cores that they need, where the options do not.
func (o *Options) size(m Model) {
	rate := float64(o.Checks) / o.Interval.Seconds()
	_, wide, _ := o.rates() // judged before
	turns := max(wide*float64(o.Workers), float64(o.Checks)/o.Window.Seconds())
	groups := min(rate, float64(o.Workers)*4) + rate/groupRows
	cores := func(need float64) int { return max(2, int(2*need+1)) }
	if o.DatabaseCores == 0 {
		o.DatabaseCores = cores(m.Postgres.Rest + m.Postgres.Result*rate + m.Postgres.Group*groups)
	}
	if o.TemporalCores == 0 {
		o.TemporalCores = cores(m.Temporal.Rest + (m.Temporal.Turn+m.Postgres.Turn)*turns)
	}
}

// figures are what counts say of a time with so many workers.
func (w *world) figures(c *counts, span time.Duration, workers int) Figures {
	s, results := span.Seconds(), float64(c.stored)
	wakes, groups, turns := float64(c.wakes), float64(c.groups), float64(c.turns)
	f := Figures{
		Seconds: s, Results: c.stored, Missed: c.missed, Turns: c.turns, Groups: c.groups, Lateness: c.lateness.quantiles(),
		SlotsTurn: results / max(1, turns),
	}
	m := &w.m
	worker := m.Worker
	worker.Rest *= float64(workers)
	f.Worker = worker.of(s, results, wakes, groups, turns) / s
	f.Temporal = m.Temporal.of(s, results, wakes, groups, turns) / s
	f.Store = m.Postgres.Turn * turns / s
	f.Database = m.Postgres.of(s, results, wakes, groups, 0) / s
	return f
}

func (w *world) lossFigures() *LossFigures {
	t := &w.out
	l := &LossFigures{
		What: w.o.Lose, Loops: t.movedLoops, Again: t.turnsAgain.quantiles(), Nudged: t.nudges, LateSecond: t.lateSecond,
	}
	for i := range w.loops { // those that are silent at the end
		if last := w.loops[i].stored; last > 0 {
			t.silence = max(t.silence, time.Duration(w.now-last)-w.o.Interval)
		}
	}
	l.Silence = t.silence.Seconds()
	alive := 0
	for _, p := range w.workers {
		if p.alive {
			alive++
		}
	}
	l.After = w.figures(&t.after, w.o.After, alive)
	for _, policy := range []vigil.RegionPolicy{vigil.AnyRegion, vigil.MostRegions, vigil.AllRegions} {
		o := Opening{Policy: policy}
		var usual, lost []time.Duration
		for i := range t.votes {
			v := &t.votes[i]
			if after, ok := v.opens(policy, v.usual, w.now); ok {
				usual = append(usual, after)
			}
			after, ok := v.opens(policy, v.seen, w.now)
			if !ok {
				o.NotOpened++
				continue
			}
			lost = append(lost, after)
		}
		o.Usual, o.Lost = secondsOf(usual), secondsOf(lost)
		l.Opens = append(l.Opens, o)
	}
	return l
}

func secondsOf(all []time.Duration) Seconds {
	if len(all) == 0 {
		return Seconds{}
	}
	slices.Sort(all)
	at := func(part float64) float64 { return all[min(len(all)-1, int(part*float64(len(all))))].Seconds() }
	return Seconds{P50: at(0.5), P99: at(0.99), Max: all[len(all)-1].Seconds()}
}
