// SPDX-License-Identifier: Apache-2.0

package drills_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
)

// TestDrillSteps leads a drill of two channels by what is seen of it.
func TestDrillSteps(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	one, two := uuid.New(), uuid.New()
	drill := drills.Drill{
		Channels: []drills.Channel{{ID: one}, {ID: two}}, AskedAt: asked, State: drills.Failing,
		Request: drills.Request{ExpectWithin: 10 * time.Minute},
	}
	message := func(channel uuid.UUID, ends bool, status vigil.DeliveryStatus) drills.MessageFacts {
		return drills.MessageFacts{ChannelID: channel, Ends: ends, Message: drills.Message{Status: status}}
	}
	var facts drills.Facts
	expect := func(when string, after time.Duration, want drills.Step) {
		t.Helper()
		if got := drill.NextStep(&facts, asked.Add(after)); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	expect("nothing has happened", time.Minute, drills.Wait)
	facts.Messages = append(facts.Messages, message(one, false, vigil.DeliveryDelivered))
	expect("one channel is notified", time.Minute, drills.Wait)
	facts.Messages = append(facts.Messages, message(two, false, vigil.DeliveryPending))
	expect("the other is not yet", time.Minute, drills.Wait)
	expect("its time is over", 10*time.Minute, drills.Heal)
	facts.Messages[1].Status = vigil.DeliveryExhausted
	expect("the other never will be", time.Minute, drills.Heal)
	facts.Regions = []drills.Region{{Region: "fast", Voted: asked}, {Region: "slow"}}
	expect("a region has not voted", time.Minute, drills.Wait)
	facts.Regions[1].Voted = asked
	expect("it has", time.Minute, drills.Heal)
	facts.Regions = nil
	drill.State, drill.HealedAt, facts.OpenedAt = drills.Recovering, new(asked.Add(9*time.Minute)), asked
	expect("the check is healthy", 10*time.Minute, drills.Wait)
	expect("a drill ends before it is closed by the sweep", 14*time.Minute, drills.Close)
	facts.Messages = append(facts.Messages, message(one, true, vigil.DeliveryDelivered), message(two, true, vigil.DeliverySuperseded))
	expect("both messages have ended", 10*time.Minute, drills.Close)
	drill.State = drills.Closed
	expect("it is closed", 0, drills.Close)
}

// TestDrillReceipt proves that a channel that is behind the others is named, and it alone.
func TestDrillReceipt(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) *time.Time { return new(asked.Add(time.Duration(seconds) * time.Second)) }
	fast, slow := uuid.New(), uuid.New()
	drill := drills.Drill{
		Channels: []drills.Channel{{ID: fast}, {ID: slow}}, AskedAt: asked, StagedAt: at(1), HealedAt: at(40),
		Request: drills.Request{ExpectWithin: 30 * time.Second}, Regions: []string{"here"},
	}
	facts := drills.Facts{
		Regions: []drills.Region{{
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
			facts.Messages = append(facts.Messages, drills.MessageFacts{
				ChannelID: channel, Ends: ends,
				Message: drills.Message{Status: vigil.DeliveryDelivered, Attempts: 1, FirstAttemptAt: first, DeliveredAt: done},
			})
		}
	}
	r := drills.NewReceipt(&drill, &facts, "Acme", "v1", *at(50))
	if r.Verdict != drills.Failed || len(r.Failures) != 1 || r.Failures[0].ChannelID != slow || r.Failures[0].Hop != drills.HopDelivered {
		t.Errorf("the receipt is %s with %+v", r.Verdict, r.Failures)
	}
	if len(r.Hops) != 13 || r.Hops[8].Name != drills.HopDelivered || !r.Hops[8].At.Equal(*at(33)) || r.Hops[8].MSSincePrevious != 27_000 {
		t.Errorf("the hops are %+v", r.Hops)
	}
	drill.CanceledAt = at(7)
	if r := drills.NewReceipt(&drill, &facts, "Acme", "v1", *at(50)); r.Verdict != drills.Canceled {
		t.Errorf("a canceled drill has %s", r.Verdict)
	}
}
