// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"slices"

	"github.com/google/uuid"
)

// DeliveryPolicy says how channels of a type receive messages. The type's own file
// in notify states it; it is frozen with the incident and on each delivery.
type DeliveryPolicy struct {
	// MaxAttempts bounds the attempts of a delivery, at least 1. Redeliveries do
	// not count. A shorter retry schedule allows fewer.
	MaxAttempts int `json:"max_attempts"`
	// LateOpening says what happens to an opening that is still undelivered when
	// its incident ends.
	LateOpening LateOpening `json:"late_opening"`
	// RecoveryAfterFailure: the recovery is sent although no attempt of the opening was
	// made, because the channel was disabled meanwhile. After an attempt it always is.
	RecoveryAfterFailure bool `json:"recovery_after_failure"`
	// Address names the members of the config that say where a message goes, separated by
	// spaces: the recovery goes where the opening went. Empty: it goes where the channel
	// leads when it is sent.
	Address string `json:"address,omitempty"`
}

// LateOpening says what happens to an opening that is still undelivered when its
// incident ends.
type LateOpening string

// The ways to treat a late opening. An unknown one merges.
const (
	LateOpeningDeliver LateOpening = "deliver" // it is sent, and the recovery after it
	LateOpeningMerge   LateOpening = "merge"   // one message covers both
	LateOpeningDrop    LateOpening = "drop"    // neither is sent
)

// Valid reports whether the policy is complete and consists of known values.
func (p DeliveryPolicy) Valid() bool {
	return p.MaxAttempts >= 1 &&
		(p.LateOpening == LateOpeningDeliver || p.LateOpening == LateOpeningMerge || p.LateOpening == LateOpeningDrop)
}

// sendsRecovery reports whether a recovery is sent after an opening that ended with the
// given status after so many attempts. One that was attempted may have arrived, although
// its answer was lost.
func (p DeliveryPolicy) sendsRecovery(opening DeliveryStatus, attempts int) bool {
	if attempts > 0 {
		return true
	}
	switch opening {
	case DeliverySuperseded:
		return p.LateOpening != LateOpeningDrop
	case DeliveryExhausted, DeliveryCanceled:
		return p.RecoveryAfterFailure
	case DeliveryDelivered, DeliveryPending:
	}
	return true
}

// Merges reports whether a recovery after an undelivered opening covers both.
func (p DeliveryPolicy) Merges() bool {
	return p.LateOpening != LateOpeningDeliver && p.LateOpening != LateOpeningDrop
}

// DeliveryPolicies are the policies of the channel types.
type DeliveryPolicies map[ChannelType]DeliveryPolicy

// Of returns the policy of a type. A type that is not among them has few
// attempts and merges.
func (p DeliveryPolicies) Of(t ChannelType) DeliveryPolicy {
	if policy, ok := p[t]; ok {
		return policy
	}
	return DeliveryPolicy{MaxAttempts: 6, LateOpening: LateOpeningMerge, RecoveryAfterFailure: true}
}

// Recipient is a channel that an incident notifies, and of which events. It is
// frozen when the incident opens.
type Recipient struct {
	ChannelID uuid.UUID   `json:"channel_id"`
	Type      ChannelType `json:"type"`
	Name      string      `json:"name"`
	Opening   bool        `json:"opening"`
	Recovery  bool        `json:"recovery"`
	// Policy of the channel's type when the incident opened.
	Policy DeliveryPolicy `json:"policy"`
	// FallbackFor is set where the channel gets the message in the place of another one.
	FallbackFor *FallbackFor `json:"-"`
}

// RecipientsOf decides whom an incident notifies: the channels of the rules that
// opened it, each once, in the order of the rules. Channels that are disabled or
// missing from the given ones are left out.
func RecipientsOf(rules []Rule, channels []Channel, policies DeliveryPolicies) []Recipient {
	var recipients []Recipient
	for _, rule := range rules {
		for _, id := range rule.Channels {
			at := slices.IndexFunc(recipients, func(r Recipient) bool { return r.ChannelID == id })
			if at < 0 {
				known := slices.IndexFunc(channels, func(c Channel) bool { return c.ID == id && c.Enabled })
				if known < 0 {
					continue
				}
				channel := &channels[known]
				at = len(recipients)
				recipients = append(recipients, Recipient{
					ChannelID: id, Type: channel.Type, Name: channel.Name, Policy: policies.Of(channel.Type),
				})
			}
			recipients[at].Opening = recipients[at].Opening || rule.NotifyOn.Opening()
			recipients[at].Recovery = recipients[at].Recovery || rule.NotifyOn.Recovery()
		}
	}
	return recipients
}

// OpeningRecipients returns those that are notified that the incident opened.
func OpeningRecipients(all []Recipient) []Recipient {
	return slices.DeleteFunc(slices.Clone(all), func(r Recipient) bool { return !r.Opening })
}

// RecoveryRecipients returns those that are notified that the incident ended, however it
// did: the channels whose rules ask for recoveries. One whose opening is still pending is
// too, when its policy merges both into one message: that message stands for the opening.
func RecoveryRecipients(all []Recipient, pendingOpenings []uuid.UUID) []Recipient {
	return slices.DeleteFunc(slices.Clone(all), func(r Recipient) bool {
		return !r.Recovery && !(r.Policy.Merges() && slices.Contains(pendingOpenings, r.ChannelID))
	})
}
