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
	HopFallbackDelivered DrillHop = "fallback_delivered" // the last fallback has, of channels that failed
	HopRedefined         DrillHop = "redefined"          // the check was made healthy
	HopVoteWithdrawn     DrillHop = "vote_withdrawn"     // no region says any more that it fails
	HopResolved          DrillHop = "resolved"           // the end of the incident was stored
	HopRecoveryDelivered DrillHop = "recovery_delivered" // the last channel has answered the end
	// HopRecoveryFallbackDelivered: the last fallback has answered the end.
	HopRecoveryFallbackDelivered DrillHop = "recovery_fallback_delivered"
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
	// FallbackFor is the channel in whose place this one got the messages; absent for a channel of
	// the drill.
	FallbackFor uuid.UUID `json:"fallback_for_channel_id,omitzero"`

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
	ChannelID   uuid.UUID
	ChannelName string
	ChannelType ChannelType
	// FallbackFor is the channel in whose place this one gets it; zero: none.
	FallbackFor uuid.UUID
	Ends        bool // it is about the end of the incident
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

// ended reports whether the message to each channel is over, delivered or not, and that to its
// fallback, which is made in the transaction that gives the first one up. All messages are made in
// the transaction that opens the incident or ends it: one that is not there by then never comes.
func (f *DrillFacts) ended(d *Drill, ends bool) bool {
	made := f.OpenedAt
	if ends {
		made = f.ResolvedAt
	}
	if slices.ContainsFunc(f.fallbacks(ends), func(m DrillMessageFacts) bool { return m.Status == DeliveryPending }) {
		return false
	}
	return !slices.ContainsFunc(d.Channels, func(c DrillChannel) bool {
		m := f.message(c.ID, ends)
		return m == nil && made.IsZero() || m != nil && m.Status == DeliveryPending
	})
}

// fallbacks returns the deliveries of the opening, or of the end, in the place of others.
func (f *DrillFacts) fallbacks(ends bool) []DrillMessageFacts {
	return slices.DeleteFunc(slices.Clone(f.Messages), func(m DrillMessageFacts) bool { return m.FallbackFor == uuid.Nil || m.Ends != ends })
}

// voted reports whether every region has said that the check fails.
func (f *DrillFacts) voted() bool {
	return !slices.ContainsFunc(f.Regions, func(r DrillRegion) bool { return r.Voted.IsZero() })
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
		DrillID:             d.ID,
		OrganizationID:      d.OrgID,
		OrganizationName:    organization,
		RequestedBy:         d.RequestedBy,
		AskedAt:             d.AskedAt.UTC(),
		EndedAt:             now.UTC(),
		ExpectWithinSeconds: int64(d.Request.ExpectWithin / time.Second),
		Severity:            severity,
		Regions:             append([]string{}, d.Regions...),
		Hops:                drillHops(d, facts),
		Failures:            []DrillFailure{},
		Version:             version,
		Verdict:             DrillPassed,
	}
	r.Channels = drillDelivered(d, facts)
	switch failures := drillFailures(d, facts, r.Hops); {
	case d.CanceledAt != nil:
		r.Verdict = DrillCanceled
	case len(failures) > 0:
		r.Verdict, r.Failures = DrillFailed, failures
	}
	return r
}

// drillDelivered returns what reached each channel of a drill, and after them each fallback.
func drillDelivered(d *Drill, facts *DrillFacts) []DrillDelivered {
	list := make([]DrillDelivered, 0, len(d.Channels))
	add := func(c DrillChannel, instead uuid.UUID) {
		if !slices.ContainsFunc(list, func(known DrillDelivered) bool { return known.ID == c.ID }) {
			list = append(list, DrillDelivered{
				DrillChannel: c, FallbackFor: instead, Opening: facts.message(c.ID, false), Recovery: facts.message(c.ID, true),
			})
		}
	}
	for _, c := range d.Channels {
		add(c, uuid.Nil)
	}
	for _, m := range append(facts.fallbacks(false), facts.fallbacks(true)...) {
		add(DrillChannel{ID: m.ChannelID, Name: m.ChannelName, Type: m.ChannelType}, m.FallbackFor)
	}
	return list
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
	for _, last := range []struct {
		ends bool
		hop  DrillHop
	}{{false, HopFallbackDelivered}, {true, HopRecoveryFallbackDelivered}} {
		for _, m := range facts.fallbacks(last.ends) {
			if m.DeliveredAt == nil {
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
		HopFallbackDelivered, HopRedefined, HopVoteWithdrawn, HopResolved, HopRecoveryDelivered, HopRecoveryFallbackDelivered,
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
