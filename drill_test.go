// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// TestDrillSteps leads a drill of two channels by what is seen of it.
func TestDrillSteps(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	one, two := uuid.New(), uuid.New()
	drill := vigil.Drill{
		Channels: []vigil.DrillChannel{{ID: one}, {ID: two}}, AskedAt: asked, State: vigil.DrillFailing,
		Request: vigil.DrillRequest{ExpectWithin: 10 * time.Minute},
	}
	message := func(channel uuid.UUID, ends bool, status vigil.DeliveryStatus) vigil.DrillMessageFacts {
		return vigil.DrillMessageFacts{ChannelID: channel, Ends: ends, DrillMessage: vigil.DrillMessage{Status: status}}
	}
	var facts vigil.DrillFacts
	expect := func(when string, after time.Duration, want vigil.NextDrillStep) {
		t.Helper()
		if got := drill.NextStep(&facts, asked.Add(after)); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	expect("nothing has happened", time.Minute, vigil.DrillWait)
	facts.Messages = append(facts.Messages, message(one, false, vigil.DeliveryDelivered))
	expect("one channel is notified", time.Minute, vigil.DrillWait)
	facts.Messages = append(facts.Messages, message(two, false, vigil.DeliveryPending))
	expect("the other is not yet", time.Minute, vigil.DrillWait)
	expect("its time is over", 10*time.Minute, vigil.DrillHeal)
	facts.Messages[1].Status = vigil.DeliveryExhausted
	expect("the other never will be", time.Minute, vigil.DrillHeal)
	facts.Regions = []vigil.DrillRegion{{Region: "fast", Voted: asked}, {Region: "slow"}}
	expect("a region has not voted", time.Minute, vigil.DrillWait)
	facts.Regions[1].Voted = asked
	expect("it has", time.Minute, vigil.DrillHeal)
	facts.Regions = nil
	drill.State, drill.HealedAt, facts.OpenedAt = vigil.DrillRecovering, new(asked.Add(9*time.Minute)), asked
	expect("the check is healthy", 10*time.Minute, vigil.DrillWait)
	expect("a drill ends before it is closed by the sweep", 14*time.Minute, vigil.DrillClose)
	facts.Messages = append(facts.Messages, message(one, true, vigil.DeliveryDelivered), message(two, true, vigil.DeliverySuperseded))
	expect("both messages have ended", 10*time.Minute, vigil.DrillClose)
	drill.State = vigil.DrillClosed
	expect("it is closed", 0, vigil.DrillClose)
}

// TestDrillReceipt proves that a channel that is behind the others is named, and it alone.
func TestDrillReceipt(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) *time.Time { return new(asked.Add(time.Duration(seconds) * time.Second)) }
	fast, slow := uuid.New(), uuid.New()
	drill := vigil.Drill{
		Channels: []vigil.DrillChannel{{ID: fast}, {ID: slow}}, AskedAt: asked, StagedAt: at(1), HealedAt: at(40),
		Request: vigil.DrillRequest{ExpectWithin: 30 * time.Second}, Regions: []string{"here"},
	}
	facts := vigil.DrillFacts{
		Regions: []vigil.DrillRegion{{
			Region: "here", LoopStarted: *at(2), Slot: *at(3), Probed: *at(3), Voted: *at(4), Withdrawn: *at(45),
		}},
		OpenedAt: *at(5), ResolvedAt: *at(46),
	}
	for channel, delivered := range map[uuid.UUID]int{fast: 6, slow: 33} {
		for _, ends := range []bool{false, true} {
			first, done := at(6), at(delivered)
			if ends {
				first, done = at(47), at(48)
			}
			facts.Messages = append(facts.Messages, vigil.DrillMessageFacts{
				ChannelID: channel, Ends: ends,
				DrillMessage: vigil.DrillMessage{Status: vigil.DeliveryDelivered, Attempts: 1, FirstAttemptAt: first, DeliveredAt: done},
			})
		}
	}
	r := vigil.NewDrillReceipt(&drill, &facts, "Acme", "v1", *at(50))
	if r.Verdict != vigil.DrillFailed || len(r.Failures) != 1 || r.Failures[0].ChannelID != slow || r.Failures[0].Hop != vigil.HopDelivered {
		t.Errorf("the receipt is %s with %+v", r.Verdict, r.Failures)
	}
	if len(r.Hops) != 13 || r.Hops[8].Name != vigil.HopDelivered || !r.Hops[8].At.Equal(*at(33)) || r.Hops[8].MSSincePrevious != 27_000 {
		t.Errorf("the hops are %+v", r.Hops)
	}
	drill.CanceledAt = at(7)
	if r := vigil.NewDrillReceipt(&drill, &facts, "Acme", "v1", *at(50)); r.Verdict != vigil.DrillCanceled {
		t.Errorf("a canceled drill has %s", r.Verdict)
	}
}
