// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fair"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// TurnSlack is how much longer than its slots and its last probe a turn may take before
// Temporal counts it as lost.
const TurnSlack = 30 * time.Second

// Parts of TurnSlack: a turn begins no slot in the last lastSlot of it, since the clock of
// the server that measures it may differ, and no probe in the last lastProbe, which is kept
// for storing the result.
const (
	lastSlot  = 20 * time.Second
	lastProbe = 10 * time.Second
)

// testPlaces is how many tests by hand run at the same time in a process. They have
// places of their own, so that they delay no scheduled probe.
const testPlaces = 256

// claim is what the turn's probe asks for. A probe that took long the last time is
// expected to do so again.
func (e *entry) claim(since time.Time) fair.Claim {
	claim := fair.Claim{Organization: string(e.Check.OrgID[:]), Slow: e.slow.Load(), Since: since}
	if e.probe != nil {
		claim.Target = e.probe.Target()
	}
	return claim
}

// observeIn runs the probe in a place and gives the place back.
func (e *entry) observeIn(ctx context.Context, place *fair.Place) vigil.Observation {
	defer func() { e.slow.Store(place.Leave()) }()
	return e.observe(ctx)
}

// acquire waits for a place among the probes of this process. It gives up when the result
// could not be stored before the timeout of the activity, or for what ends the wait for a
// slot. The place is given back by
// observeIn.
func (t *turnRun) acquire(ctx context.Context, e *entry, schedule vigil.Schedule) (*fair.Place, waitResult) {
	place := t.Probes.Join(e.claim(schedule.Next(t.state.Slot)))
	select {
	case <-place.Granted():
		return t.checkLease(place)
	default:
	}
	timeout := t.call.Ends.Add(-e.deadline() - lastProbe)
	giveUp := time.NewTimer(timeout.Sub(t.Now()))
	defer giveUp.Stop()
	why := wait(ctx, t, e, place.Granted(), giveUp.C)
	if why == due {
		return t.checkLease(place)
	}
	place.Leave()
	return nil, why
}

// lag is how late a probe begins, counted from the first slot since the last result, and
// how many slots that concerns: its own, and those missed in the last seconds.
type lag struct {
	delay time.Duration // negative: it says nothing about the load of this process
	slots int
}

// lag returns the lag of the turn's next probe, of slot. A slot zero, and the first one
// after an outage, say nothing about the load.
func (t *turnRun) lag(schedule vigil.Schedule, slot time.Time) lag {
	if t.covered == 0 && (t.turn.Recover || t.state.Slot.Before(schedule.Start)) {
		return lag{delay: -1}
	}
	next := schedule.Next(t.state.Slot)
	missed := schedule.Count(next, slot)
	return lag{delay: max(0, t.Now().Sub(next)), slots: 1 + int(min(missed, lateWindow))}
}

// measure records the lag of a probe that has ended. One that took long does not count:
// such probes wait for each other, however much the machine could do.
func (t *turnRun) measure(e *entry, by lag) {
	if by.delay >= 0 && !e.slow.Load() {
		t.lateness.observe(t.Now(), by)
	}
}

// Probing returns the number of running probes, tests by hand included.
func (w *Watcher) Probing() int64 { return w.Probes.Held() + w.tests.places.Held() }

// Waiting returns the number of probes that wait for a place.
func (w *Watcher) Waiting() int64 { return w.Probes.Waiting() + w.tests.places.Waiting() }

// Load returns how late the slots of this process are.
func (w *Watcher) Load() fleet.Load { return w.lateness.Load(w.Now()) }

// evidenceIn makes a probe of the turn's loop collect evidence, as far as the check wants it.
// Whether a failure keeps it follows from the loop's state.
func (t *turnRun) evidenceIn(ctx context.Context, e *entry, slot time.Time) context.Context {
	if e.Check.NoEvidence {
		return ctx
	}
	state, rules := t.state.For(e.Check.Type), e.Rules
	return probe.KeepEvidence(ctx, func(seen vigil.Observation) bool {
		return state.WantsEvidence(rules, vigil.Result{Slot: slot, Observation: seen})
	})
}

// observe runs the probe. A config that cannot run is a failed observation with the reason.
func (e *entry) observe(ctx context.Context) vigil.Observation {
	if e.probeErr != nil {
		return vigil.Observation{Error: "the check cannot run: " + vigil.ErrorMessage(e.probeErr)}
	}
	return e.probe.Run(ctx)
}
