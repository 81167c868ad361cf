// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// DrillHop is a step on the way from a slot to the answer of a receiver.
type DrillHop string

// The hops in their order. The first ones lead to the opening of the incident, the others to its
// end.
const (
	HopAsked             DrillHop = "asked"              // the drill was stored
	HopStored            DrillHop = "stored"             // its check, rules and loops were
	HopLoopStarted       DrillHop = "loop_started"       // Temporal has accepted the loop
	HopSlot              DrillHop = "slot"               // the first probe was due
	HopProbed            DrillHop = "probed"             // it began
	HopVoted             DrillHop = "voted"              // its result and the region's vote were stored
	HopOpened            DrillHop = "opened"             // the incident, its event and its deliveries were stored
	HopFirstAttempt      DrillHop = "first_attempt"      // the first message was on its way
	HopDelivered         DrillHop = "delivered"          // the last channel has answered
	HopRedefined         DrillHop = "redefined"          // the check was made healthy
	HopVoteWithdrawn     DrillHop = "vote_withdrawn"     // no region says any more that it fails
	HopResolved          DrillHop = "resolved"           // the end of the incident was stored
	HopRecoveryDelivered DrillHop = "recovery_delivered" // the last channel has answered the end
)

// DrillReceipt is what a drill has shown. It is frozen when the drill ends.
type DrillReceipt struct {
	DrillID             uuid.UUID        `json:"drill_id"`
	OrganizationID      uuid.UUID        `json:"organization_id"`
	OrganizationName    string           `json:"organization_name"`
	Verdict             DrillVerdict     `json:"verdict"`
	RequestedBy         string           `json:"requested_by"`
	AskedAt             time.Time        `json:"asked_at"`
	EndedAt             time.Time        `json:"ended_at"`
	ExpectWithinSeconds int64            `json:"expect_within_seconds"`
	Severity            Severity         `json:"severity"`
	Regions             []string         `json:"regions"`
	Hops                []DrillHopTime   `json:"hops"`
	Channels            []DrillDelivered `json:"channels"`
	Failures            []DrillFailure   `json:"failures"`
	Version             string           `json:"version"`
}

// DrillHopTime is a hop that was passed.
type DrillHopTime struct {
	Name DrillHop  `json:"name"`
	At   time.Time `json:"at"`
	// MSSincePrevious is the time since the hop before it in milliseconds. It is 0 where clocks of
	// several machines say less.
	MSSincePrevious int64 `json:"ms_since_previous"`
}

// DrillDelivered is what reached a channel; null: no message was made.
type DrillDelivered struct {
	DrillChannel

	Opening  *DrillMessage `json:"opening"`
	Recovery *DrillMessage `json:"recovery"`
}

// DrillMessage is what became of a message.
type DrillMessage struct {
	Status   DeliveryStatus `json:"status"`
	Attempts int            `json:"attempts"`
	// StatusCode of the last answer; null without one.
	StatusCode *int `json:"status_code"`
	// Error says why the last attempt failed; null when it did not.
	Error          *string    `json:"error"`
	FirstAttemptAt *time.Time `json:"first_attempt_at"`
	DeliveredAt    *time.Time `json:"delivered_at"`
}

// DrillFailure names a hop that was late, or missing.
type DrillFailure struct {
	Hop DrillHop `json:"hop"`
	// Reason is a sentence for people.
	Reason string `json:"reason"`
	// Region and ChannelID of the hop; absent where it has none.
	Region    string    `json:"region,omitempty"`
	ChannelID uuid.UUID `json:"channel_id,omitzero"`
}

// DrillFacts are what stored rows say of a drill. Zero times: it has not happened.
type DrillFacts struct {
	Regions              []DrillRegion
	OpenedAt, ResolvedAt time.Time
	Messages             []DrillMessageFacts
}

// DrillRegion is what happened in a region.
type DrillRegion struct {
	Region string `json:"region"`
	// LoopStarted is when Temporal accepted the loop, Slot and Probed are of the first failed
	// result, Voted and Withdrawn when the votes for and against the incident were stored.
	LoopStarted time.Time `json:"loop_started,omitzero"`
	Slot        time.Time `json:"slot,omitzero"`
	Probed      time.Time `json:"probed,omitzero"`
	Voted       time.Time `json:"voted,omitzero"`
	Withdrawn   time.Time `json:"withdrawn,omitzero"`
}

// DrillMessageFacts is a delivery of a drill.
type DrillMessageFacts struct {
	ChannelID uuid.UUID
	Ends      bool // it is about the end of the incident
	DrillMessage
}

// message returns the delivery of the opening, or of the end, to a channel; nil: there is none.
// Of several addresses it is the one that was delivered last, or not at all.
func (f *DrillFacts) message(channel uuid.UUID, ends bool) *DrillMessage {
	var found *DrillMessage
	for i := range f.Messages {
		m := &f.Messages[i]
		if m.ChannelID != channel || m.Ends != ends {
			continue
		}
		if found == nil || found.DeliveredAt != nil && (m.DeliveredAt == nil || m.DeliveredAt.After(*found.DeliveredAt)) {
			found = &m.DrillMessage
		}
	}
	return found
}

// ended reports whether each channel has a message that is over: delivered or not.
func (f *DrillFacts) ended(d *Drill, ends bool) bool {
	return !slices.ContainsFunc(d.Channels, func(c DrillChannel) bool {
		m := f.message(c.ID, ends)
		return m == nil || m.Status == DeliveryPending
	})
}

// quiet reports whether no region says any more that the check fails.
func (f *DrillFacts) quiet() bool {
	return !slices.ContainsFunc(f.Regions, func(r DrillRegion) bool { return !r.Voted.IsZero() && r.Withdrawn.IsZero() })
}

// NewDrillReceipt returns the receipt of a drill that ends at an instant. Its verdict follows from
// the facts alone: passed when every channel has received both messages in time.
func NewDrillReceipt(d *Drill, facts *DrillFacts, organization, version string, now time.Time) DrillReceipt {
	severity := Info
	if len(d.Rules) > 0 {
		severity = d.Rules[0].Severity()
	}
	r := DrillReceipt{
		DrillID: d.ID, OrganizationID: d.OrgID, OrganizationName: organization, RequestedBy: d.RequestedBy, AskedAt: d.AskedAt.UTC(),
		EndedAt: now.UTC(), ExpectWithinSeconds: int64(d.Request.ExpectWithin / time.Second), Severity: severity, Regions: orEmpty(d.Regions),
		Hops: drillHops(d, facts), Channels: make([]DrillDelivered, len(d.Channels)), Failures: []DrillFailure{}, Version: version,
		Verdict: DrillPassed,
	}
	for i, c := range d.Channels {
		r.Channels[i] = DrillDelivered{DrillChannel: c, Opening: facts.message(c.ID, false), Recovery: facts.message(c.ID, true)}
	}
	switch failures := drillFailures(d, facts, r.Hops); {
	case d.CanceledAt != nil:
		r.Verdict = DrillCanceled
	case len(failures) > 0:
		r.Verdict, r.Failures = DrillFailed, failures
	}
	return r
}

// DrillEvent is the content of the event about a drill that has ended.
func DrillEvent(r *DrillReceipt, now time.Time) SystemContext {
	c := SystemContext{
		Type:             EventDrillPassed,
		OrgID:            r.OrganizationID,
		SubjectID:        r.DrillID,
		Time:             now,
		OrganizationName: r.OrganizationName,
		Severity:         Info,
		Title:            "A drill passed",
		Body:             fmt.Sprintf("Both messages arrived at all %d channels within %d s.", len(r.Channels), r.ExpectWithinSeconds),
		Data:             map[string]any{"drill_id": r.DrillID, "verdict": r.Verdict, "failures": r.Failures},
	}
	if r.Verdict == DrillFailed {
		c.Type, c.Severity, c.Title, c.Body = EventDrillFailed, Critical, "A drill failed: alerts may not arrive", ""
		for i, f := range r.Failures {
			if i > 0 {
				c.Body += "\n"
			}
			c.Body += string(f.Hop) + ": " + f.Reason
		}
	}
	return c
}

// drillHops returns the hops that were passed. One of several regions or channels is passed when
// the first of them has passed it; a delivery and the withdrawal of a vote, when the last has.
func drillHops(d *Drill, facts *DrillFacts) []DrillHopTime {
	at := map[DrillHop]time.Time{
		HopAsked:     d.AskedAt,
		HopStored:    orZero(d.StagedAt),
		HopRedefined: orZero(d.HealedAt),
		HopOpened:    facts.OpenedAt,
		HopResolved:  facts.ResolvedAt,
	}
	for _, r := range facts.Regions {
		for hop, passed := range map[DrillHop]time.Time{
			HopLoopStarted: r.LoopStarted, HopSlot: r.Slot, HopProbed: r.Probed, HopVoted: r.Voted,
		} {
			at[hop] = firstOf(at[hop], passed)
		}
		at[HopVoteWithdrawn] = lastOf(at[HopVoteWithdrawn], r.Withdrawn)
	}
	if !facts.quiet() {
		delete(at, HopVoteWithdrawn)
	}
	for _, last := range []struct {
		ends bool
		hop  DrillHop
	}{{false, HopDelivered}, {true, HopRecoveryDelivered}} {
		for _, c := range d.Channels {
			m := facts.message(c.ID, last.ends)
			if m == nil || m.DeliveredAt == nil {
				delete(at, last.hop)
				break
			}
			at[last.hop] = lastOf(at[last.hop], *m.DeliveredAt)
		}
	}
	for _, m := range facts.Messages {
		if !m.Ends && m.FirstAttemptAt != nil {
			at[HopFirstAttempt] = firstOf(at[HopFirstAttempt], *m.FirstAttemptAt)
		}
	}
	var hops []DrillHopTime
	for _, name := range []DrillHop{
		HopAsked, HopStored, HopLoopStarted, HopSlot, HopProbed, HopVoted, HopOpened, HopFirstAttempt, HopDelivered,
		HopRedefined, HopVoteWithdrawn, HopResolved, HopRecoveryDelivered,
	} {
		if at[name].IsZero() {
			continue
		}
		hop := DrillHopTime{Name: name, At: at[name].UTC()}
		if n := len(hops); n > 0 {
			hop.MSSincePrevious = max(0, hop.At.Sub(hops[n-1].At).Milliseconds())
		}
		hops = append(hops, hop)
	}
	return hops
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func firstOf(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func lastOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// drillFailures names the first hop that is missing on the way to each region and channel, and
// the slowest one where a message was late. What follows from a failure is not named beside it.
func drillFailures(d *Drill, facts *DrillFacts, hops []DrillHopTime) []DrillFailure {
	within := d.Request.ExpectWithin
	if d.StagedAt == nil {
		return []DrillFailure{{Hop: HopStored, Reason: fmt.Sprintf("The check of the drill was not stored within %s.", within)}}
	}
	failures := regionFailures(facts, false)
	if facts.OpenedAt.IsZero() {
		if len(failures) == 0 {
			failures = append(failures, DrillFailure{Hop: HopOpened, Reason: fmt.Sprintf("No incident opened within %s.", within)})
		}
		return failures
	}
	failures = append(failures, messageFailures(d, facts, false, hops)...)
	if d.HealedAt == nil {
		return append(failures, DrillFailure{Hop: HopRedefined, Reason: "The check of the drill was not made healthy."})
	}
	if withdrawn := regionFailures(facts, true); facts.ResolvedAt.IsZero() {
		if len(withdrawn) == 0 {
			withdrawn = []DrillFailure{{Hop: HopResolved, Reason: fmt.Sprintf("The incident did not end within %s.", within)}}
		}
		return append(failures, withdrawn...)
	}
	return append(failures, messageFailures(d, facts, true, hops)...)
}

// regionFailures names the first hop that is missing in each region, on the way to its vote or to
// the withdrawal of it.
func regionFailures(facts *DrillFacts, withdrawal bool) (failures []DrillFailure) {
	for _, r := range facts.Regions {
		failure := DrillFailure{Region: r.Region}
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
func messageFailures(d *Drill, facts *DrillFacts, ends bool, hops []DrillHopTime) (failures []DrillFailure) {
	due, hop, what := d.OpeningDue(), HopDelivered, "The message about the opening"
	if ends {
		due, hop, what = d.RecoveryDue(), HopRecoveryDelivered, "The message about the end"
	}
	for _, c := range d.Channels {
		m := facts.message(c.ID, ends)
		failure := DrillFailure{Hop: hop, ChannelID: c.ID}
		switch opening := facts.message(c.ID, false); {
		case ends && (opening == nil || opening.DeliveredAt == nil):
			continue
		case m == nil && ends:
			failure.Reason = "The end of the incident did not notify the channel."
		case m == nil:
			failure.Hop, failure.Reason = HopOpened, "The incident did not notify the channel: it was disabled or deleted meanwhile."
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
		failures = append(failures, failure)
	}
	return failures
}

// problem says why a message was not delivered.
func (m *DrillMessage) problem() string {
	switch {
	case m.Error != nil && m.StatusCode != nil:
		return fmt.Sprintf("attempt %d was answered %d (%s).", m.Attempts, *m.StatusCode, *m.Error)
	case m.Error != nil:
		return fmt.Sprintf("attempt %d failed (%s).", m.Attempts, *m.Error)
	case m.Attempts > 0 && m.Status == DeliveryPending:
		return fmt.Sprintf("attempt %d has no answer yet.", m.Attempts)
	}
	return fmt.Sprintf("it is %s after %d attempts.", m.Status, m.Attempts)
}

// slowestHop returns the hop that took the longest on the way to the delivery of a message to one
// channel; last is the hop of the delivery itself. The way to the end begins when the check is
// made healthy.
func slowestHop(hops []DrillHopTime, last DrillHop, delivered time.Time) DrillHop {
	from := HopAsked
	if last == HopRecoveryDelivered {
		from = HopRedefined
	}
	begin := slices.IndexFunc(hops, func(h DrillHopTime) bool { return h.Name == from })
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
