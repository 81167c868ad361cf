// SPDX-License-Identifier: Apache-2.0

package drills

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

// Hop is a step on the way from a slot to the answer of a receiver.
type Hop string

// The hops in their order. The first ones lead to the opening of the incident, the others to its
// end.
const (
	HopAsked             Hop = "asked"              // the drill was stored
	HopStored            Hop = "stored"             // its check, rules and loops were
	HopLoopStarted       Hop = "loop_started"       // Temporal has accepted the loop
	HopSlot              Hop = "slot"               // the first probe was due
	HopProbed            Hop = "probed"             // it began
	HopVoted             Hop = "voted"              // its result and the region's vote were stored
	HopOpened            Hop = "opened"             // the incident, its event and its deliveries were stored
	HopFirstAttempt      Hop = "first_attempt"      // the first message was on its way
	HopDelivered         Hop = "delivered"          // the last channel has answered
	HopFallbackDelivered Hop = "fallback_delivered" // the last fallback has, of channels that failed
	HopRedefined         Hop = "redefined"          // the check was made healthy
	HopVoteWithdrawn     Hop = "vote_withdrawn"     // no region says any more that it fails
	HopResolved          Hop = "resolved"           // the end of the incident was stored
	HopRecoveryDelivered Hop = "recovery_delivered" // the last channel has answered the end
	// HopRecoveryFallbackDelivered: the last fallback has answered the end.
	HopRecoveryFallbackDelivered Hop = "recovery_fallback_delivered"
)

// Receipt is what a drill has shown. It is frozen when the drill ends.
type Receipt struct {
	DrillID             uuid.UUID      `json:"drill_id"`
	OrganizationID      uuid.UUID      `json:"organization_id"`
	OrganizationName    string         `json:"organization_name"`
	Verdict             Verdict        `json:"verdict"`
	RequestedBy         string         `json:"requested_by"`
	AskedAt             time.Time      `json:"asked_at"`
	EndedAt             time.Time      `json:"ended_at"`
	ExpectWithinSeconds int64          `json:"expect_within_seconds"`
	Severity            vigil.Severity `json:"severity"`
	Regions             []string       `json:"regions"`
	Hops                []HopTime      `json:"hops"`
	Channels            []Delivered    `json:"channels"`
	Failures            []Failure      `json:"failures"`
	Version             string         `json:"version"`
}

// HopTime is a hop that was passed.
type HopTime struct {
	Name Hop       `json:"name"`
	At   time.Time `json:"at"`
	// MSSincePrevious is the time since the hop before it in milliseconds. It is 0 where clocks of
	// several machines say less.
	MSSincePrevious int64 `json:"ms_since_previous"`
}

// Delivered is what reached a channel; null: no message was made.
type Delivered struct {
	Channel
	// FallbackFor is the channel in whose place this one got the messages; absent for a channel of
	// the drill.
	FallbackFor uuid.UUID `json:"fallback_for_channel_id,omitzero"`

	Opening  *Message `json:"opening"`
	Recovery *Message `json:"recovery"`
}

// Message is what became of a message.
type Message struct {
	Status   vigil.DeliveryStatus `json:"status"`
	Attempts int                  `json:"attempts"`
	// StatusCode of the last answer; null without one.
	StatusCode *int `json:"status_code"`
	// Error says why the last attempt failed; null when it did not.
	Error          *string    `json:"error"`
	FirstAttemptAt *time.Time `json:"first_attempt_at"`
	DeliveredAt    *time.Time `json:"delivered_at"`
}

// Failure names a hop that was late, or missing.
type Failure struct {
	Hop Hop `json:"hop"`
	// Reason is a sentence for people.
	Reason string `json:"reason"`
	// Region and ChannelID of the hop; absent where it has none.
	Region    string    `json:"region,omitempty"`
	ChannelID uuid.UUID `json:"channel_id,omitzero"`
}

// Facts are what stored rows say of a drill. Zero times: it has not happened.
type Facts struct {
	Regions              []Region
	OpenedAt, ResolvedAt time.Time
	Messages             []MessageFacts
}

// Region is what happened in a region.
type Region struct {
	Region string `json:"region"`
	// LoopStarted is when Temporal accepted the loop, Slot and Probed are of the first failed
	// result, Voted and Withdrawn when the votes for and against the incident were stored.
	LoopStarted time.Time `json:"loop_started,omitzero"`
	Slot        time.Time `json:"slot,omitzero"`
	Probed      time.Time `json:"probed,omitzero"`
	Voted       time.Time `json:"voted,omitzero"`
	Withdrawn   time.Time `json:"withdrawn,omitzero"`
}

// MessageFacts is a delivery of a drill.
type MessageFacts struct {
	ChannelID   uuid.UUID
	ChannelName string
	ChannelType vigil.ChannelType
	// FallbackFor is the channel in whose place this one gets it; zero: none.
	FallbackFor uuid.UUID
	Ends        bool // it is about the end of the incident
	Message
}

// message returns the delivery of the opening, or of the end, to a channel; nil: there is none.
// Of several addresses it is the one that was delivered last, or not at all.
func (f *Facts) message(channel uuid.UUID, ends bool) *Message {
	var found *Message
	for i := range f.Messages {
		m := &f.Messages[i]
		if m.ChannelID != channel || m.Ends != ends {
			continue
		}
		if found == nil || found.DeliveredAt != nil && (m.DeliveredAt == nil || m.DeliveredAt.After(*found.DeliveredAt)) {
			found = &m.Message
		}
	}
	return found
}

// ended reports whether the message to each channel is over, delivered or not, and that to its
// fallback, which is made in the transaction that gives the first one up. All messages are made in
// the transaction that opens the incident or ends it: one that is not there by then never comes.
func (f *Facts) ended(d *Drill, ends bool) bool {
	made := f.OpenedAt
	if ends {
		made = f.ResolvedAt
	}
	if slices.ContainsFunc(f.fallbacks(ends), func(m MessageFacts) bool { return m.Status == vigil.DeliveryPending }) {
		return false
	}
	return !slices.ContainsFunc(d.Channels, func(c Channel) bool {
		m := f.message(c.ID, ends)
		return m == nil && made.IsZero() || m != nil && m.Status == vigil.DeliveryPending
	})
}

// fallbacks returns the deliveries of the opening, or of the end, in the place of others.
func (f *Facts) fallbacks(ends bool) []MessageFacts {
	return slices.DeleteFunc(slices.Clone(f.Messages), func(m MessageFacts) bool { return m.FallbackFor == uuid.Nil || m.Ends != ends })
}

// voted reports whether every region has said that the check fails.
func (f *Facts) voted() bool {
	return !slices.ContainsFunc(f.Regions, func(r Region) bool { return r.Voted.IsZero() })
}

// quiet reports whether no region says any more that the check fails.
func (f *Facts) quiet() bool {
	return !slices.ContainsFunc(f.Regions, func(r Region) bool { return !r.Voted.IsZero() && r.Withdrawn.IsZero() })
}

// NewReceipt returns the receipt of a drill that ends at an instant. Its verdict follows from
// the facts alone: passed when every channel has received both messages in time.
func NewReceipt(d *Drill, facts *Facts, organization, version string, now time.Time) Receipt {
	severity := vigil.Info
	if len(d.Rules) > 0 {
		severity = d.Rules[0].Severity()
	}
	r := Receipt{
		DrillID:             d.ID,
		OrganizationID:      d.OrgID,
		OrganizationName:    organization,
		RequestedBy:         d.RequestedBy,
		AskedAt:             d.AskedAt.UTC(),
		EndedAt:             now.UTC(),
		ExpectWithinSeconds: int64(d.Request.ExpectWithin / time.Second),
		Severity:            severity,
		Regions:             append([]string{}, d.Regions...),
		Hops:                hopsOf(d, facts),
		Failures:            []Failure{},
		Version:             version,
		Verdict:             Passed,
	}
	r.Channels = deliveredOf(d, facts)
	switch failures := failuresOf(d, facts, r.Hops); {
	case d.CanceledAt != nil:
		r.Verdict = Canceled
	case len(failures) > 0:
		r.Verdict, r.Failures = Failed, failures
	}
	return r
}

// deliveredOf returns what reached each channel of a drill, and after them each fallback.
func deliveredOf(d *Drill, facts *Facts) []Delivered {
	list := make([]Delivered, 0, len(d.Channels))
	add := func(c Channel, instead uuid.UUID) {
		if !slices.ContainsFunc(list, func(known Delivered) bool { return known.ID == c.ID }) {
			list = append(list, Delivered{
				Channel: c, FallbackFor: instead, Opening: facts.message(c.ID, false), Recovery: facts.message(c.ID, true),
			})
		}
	}
	for _, c := range d.Channels {
		add(c, uuid.Nil)
	}
	for _, m := range append(facts.fallbacks(false), facts.fallbacks(true)...) {
		add(Channel{ID: m.ChannelID, Name: m.ChannelName, Type: m.ChannelType}, m.FallbackFor)
	}
	return list
}

// Event is the content of the event about a drill that has ended.
func Event(r *Receipt, now time.Time) events.SystemContent {
	c := events.SystemContent{
		Type:             vigil.EventDrillPassed,
		OrgID:            r.OrganizationID,
		SubjectID:        r.DrillID,
		Time:             now,
		OrganizationName: r.OrganizationName,
		Severity:         vigil.Info,
		Title:            "A drill passed",
		Body:             fmt.Sprintf("Both messages arrived at all %d channels within %d s.", len(r.Channels), r.ExpectWithinSeconds),
		Data:             map[string]any{"drill_id": r.DrillID, "verdict": r.Verdict, "failures": r.Failures},
	}
	if r.Verdict == Failed {
		c.Type, c.Severity, c.Title, c.Body = vigil.EventDrillFailed, vigil.Critical, "A drill failed: alerts may not arrive", ""
		for i, f := range r.Failures {
			if i > 0 {
				c.Body += "\n"
			}
			c.Body += string(f.Hop) + ": " + f.Reason
		}
	}
	return c
}

// hopsOf returns the hops that were passed. One of several regions or channels is passed when
// the first of them has passed it; a delivery and the withdrawal of a vote, when the last has.
func hopsOf(d *Drill, facts *Facts) []HopTime {
	at := map[Hop]time.Time{
		HopAsked:     d.AskedAt,
		HopStored:    orZero(d.StagedAt),
		HopRedefined: orZero(d.HealedAt),
		HopOpened:    facts.OpenedAt,
		HopResolved:  facts.ResolvedAt,
	}
	for _, r := range facts.Regions {
		for hop, passed := range map[Hop]time.Time{
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
		hop  Hop
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
		hop  Hop
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
	var hops []HopTime
	for _, name := range []Hop{
		HopAsked, HopStored, HopLoopStarted, HopSlot, HopProbed, HopVoted, HopOpened, HopFirstAttempt, HopDelivered,
		HopFallbackDelivered, HopRedefined, HopVoteWithdrawn, HopResolved, HopRecoveryDelivered, HopRecoveryFallbackDelivered,
	} {
		if at[name].IsZero() {
			continue
		}
		hop := HopTime{Name: name, At: at[name].UTC()}
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
