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
	// RecoveryAfterFailure: the recovery is sent although the opening ended
	// undelivered, because every attempt failed or the channel was disabled.
	RecoveryAfterFailure bool `json:"recovery_after_failure"`
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

// sendsRecovery reports whether a recovery is sent after an opening that ended
// with the given status.
func (p DeliveryPolicy) sendsRecovery(opening DeliveryStatus) bool {
	switch opening {
	case DeliverySuperseded:
		return p.LateOpening != LateOpeningDrop
	case DeliveryExhausted, DeliveryCanceled:
		return p.RecoveryAfterFailure
	case DeliveryDelivered, DeliveryPending:
	}
	return true
}

// merges reports whether a recovery after an undelivered opening covers both.
func (p DeliveryPolicy) merges() bool {
	return p.LateOpening != LateOpeningDeliver && p.LateOpening != LateOpeningDrop
}

// DeliveryPolicies are the policies of the channel types.
type DeliveryPolicies map[ChannelType]DeliveryPolicy

// Of returns the policy of a type. A type that another version of the platform
// introduced has few attempts and merges.
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
	// Policy is zero for an incident that an older version opened.
	Policy DeliveryPolicy `json:"policy,omitzero"`
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

// RecoveryRecipients returns those that are notified that the incident ended. A
// channel is when its rules ask for recoveries and the incident resolved by
// itself. One whose opening is still pending is too, unless its policy drops late
// openings: it must not get the opening alone. The removal of a check notifies no
// channel.
func RecoveryRecipients(all []Recipient, how Resolution, pendingOpenings []uuid.UUID) []Recipient {
	if how == ResolvedCheckRemoved {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(all), func(r Recipient) bool {
		late := slices.Contains(pendingOpenings, r.ChannelID) && r.Policy.LateOpening != LateOpeningDrop
		return !late && !(r.Recovery && how == ResolvedAutomatically)
	})
}
