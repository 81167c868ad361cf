// SPDX-License-Identifier: Apache-2.0

package drills

import (
	"fmt"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil"
)

// failuresOf names the first hop that is missing on the way to each region and channel, and
// the slowest one where a message was late. What follows from a failure is not named beside it.
func failuresOf(d *Drill, facts *Facts, hops []HopTime) []Failure {
	within := d.Request.ExpectWithin
	if d.Request.Refused != "" {
		return []Failure{{Hop: HopStored, Reason: "The schedule could not run the drill: " + d.Request.Refused}}
	}
	if d.StagedAt == nil {
		return []Failure{{Hop: HopStored, Reason: fmt.Sprintf("The check of the drill was not stored within %s.", within)}}
	}
	failures := regionFailures(facts, false)
	if facts.OpenedAt.IsZero() {
		if len(failures) == 0 {
			failures = append(failures, Failure{Hop: HopOpened, Reason: fmt.Sprintf("No incident opened within %s.", within)})
		}
		return failures
	}
	failures = append(failures, messageFailures(d, facts, false, hops)...)
	if d.HealedAt == nil {
		return append(failures, Failure{Hop: HopRedefined, Reason: "The check of the drill was not made healthy."})
	}
	if withdrawn := regionFailures(facts, true); facts.ResolvedAt.IsZero() {
		if len(withdrawn) == 0 {
			withdrawn = []Failure{{Hop: HopResolved, Reason: fmt.Sprintf("The incident did not end within %s.", within)}}
		}
		return append(failures, withdrawn...)
	}
	return append(failures, messageFailures(d, facts, true, hops)...)
}

// regionFailures names the first hop that is missing in each region, on the way to its vote or to
// the withdrawal of it.
func regionFailures(facts *Facts, withdrawal bool) (failures []Failure) {
	for _, r := range facts.Regions {
		failure := Failure{Region: r.Region}
		switch {
		case withdrawal && !r.Voted.IsZero() && r.Withdrawn.IsZero():
			failure.Hop, failure.Reason = HopVoteWithdrawn, "The region did not see that the check is healthy again."
		case withdrawal:
		case r.Voted.IsZero() && r.Probed.IsZero() && r.LoopStarted.IsZero():
			failure.Hop, failure.Reason = HopLoopStarted, "Temporal did not accept the loop of the region."
		case r.Voted.IsZero() && r.Probed.IsZero():
			failure.Hop, failure.Reason = HopProbed, "No worker of the region has probed the check."
		case r.Voted.IsZero():
			failure.Hop, failure.Reason = HopVoted, "The region probed the check and did not vote."
		}
		if failure.Hop != "" {
			failures = append(failures, failure)
		}
	}
	return failures
}

// messageFailures names what is wrong with the messages to each channel. An end is not looked at
// where the opening did not arrive: the policy of the channel may leave it out.
func messageFailures(d *Drill, facts *Facts, ends bool, hops []HopTime) (failures []Failure) {
	due, hop, what := d.OpeningDue(), HopDelivered, "The message about the opening"
	if ends {
		due, hop, what = d.RecoveryDue(), HopRecoveryDelivered, "The message about the end"
	}
	for _, c := range d.Channels {
		m := facts.message(c.ID, ends)
		failure := Failure{Hop: hop, ChannelID: c.ID}
		switch opening := facts.message(c.ID, false); {
		case ends && (opening == nil || opening.DeliveredAt == nil):
			continue
		case m == nil && ends:
			failure.Reason = "The end of the incident did not notify the channel."
		case m == nil:
			failure.Hop = HopOpened
			failure.Reason = "The incident did not notify the channel: it, or its subscription, was disabled or deleted meanwhile."
		case m.DeliveredAt != nil && !m.DeliveredAt.After(due):
			continue
		case m.DeliveredAt != nil:
			failure.Hop = slowestHop(hops, hop, *m.DeliveredAt)
			failure.Reason = fmt.Sprintf("%s was delivered %s too late; this hop took the longest.",
				what, m.DeliveredAt.Sub(due).Round(time.Millisecond))
		case m.FirstAttemptAt == nil && !ends:
			failure.Hop, failure.Reason = HopFirstAttempt, what+" was not attempted."
		default:
			failure.Reason = what + " was not delivered: " + m.problem()
		}
		for _, instead := range facts.fallbacks(ends) {
			if instead.FallbackFor == c.ID && instead.DeliveredAt != nil {
				failure.Reason += fmt.Sprintf(" The fallback %s has received it.", instead.ChannelName)
			}
		}
		failures = append(failures, failure)
	}
	return append(failures, fallbackFailures(facts, ends, due, what)...)
}

// fallbackFailures names the fallbacks that did not receive what they got in the place of others.
func fallbackFailures(facts *Facts, ends bool, due time.Time, what string) (failures []Failure) {
	hop := HopFallbackDelivered
	if ends {
		hop = HopRecoveryFallbackDelivered
	}
	for _, instead := range facts.fallbacks(ends) {
		m, opening := facts.message(instead.ChannelID, ends), facts.message(instead.ChannelID, false)
		failure := Failure{Hop: hop, ChannelID: instead.ChannelID}
		switch {
		case ends && (opening == nil || opening.DeliveredAt == nil):
			continue
		case m.DeliveredAt == nil:
			failure.Reason = what + " was not delivered to the fallback: " + m.problem()
		case m.DeliveredAt.After(due):
			failure.Reason = fmt.Sprintf("%s was delivered to the fallback %s too late.", what, m.DeliveredAt.Sub(due).Round(time.Millisecond))
		default:
			continue
		}
		failures = append(failures, failure)
	}
	return failures
}

// problem says why a message was not delivered.
func (m *Message) problem() string {
	switch {
	case m.Error != nil && m.StatusCode != nil:
		return fmt.Sprintf("attempt %d was answered %d (%s).", m.Attempts, *m.StatusCode, *m.Error)
	case m.Error != nil:
		return fmt.Sprintf("attempt %d failed (%s).", m.Attempts, *m.Error)
	case m.Attempts > 0 && m.Status == vigil.DeliveryPending:
		return fmt.Sprintf("attempt %d has no answer yet.", m.Attempts)
	}
	return fmt.Sprintf("it is %s after %d attempts.", m.Status, m.Attempts)
}

// slowestHop returns the hop that took the longest on the way to the delivery of a message to one
// channel; last is the hop of the delivery itself. The way to the end begins when the check is
// made healthy.
func slowestHop(hops []HopTime, last Hop, delivered time.Time) Hop {
	from := HopAsked
	if last == HopRecoveryDelivered {
		from = HopRedefined
	}
	begin := slices.IndexFunc(hops, func(h HopTime) bool { return h.Name == from })
	if begin < 0 {
		return last
	}
	slowest, took, before := last, int64(0), hops[begin].At
	for _, h := range hops[begin+1:] {
		if h.Name == HopRedefined || h.Name == last || h.Name == HopDelivered {
			break
		}
		if ms := h.At.Sub(before).Milliseconds(); ms > took {
			slowest, took = h.Name, ms
		}
		before = h.At
	}
	if delivered.Sub(before).Milliseconds() >= took {
		return last
	}
	return slowest
}
