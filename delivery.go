// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// ChannelType is a way to notify people or programs (spec section 2,
// NotificationChannel).
type ChannelType string

// Channel types.
const (
	ChannelEmail   ChannelType = "email"
	ChannelWebhook ChannelType = "webhook"
	ChannelPush    ChannelType = "push"
	ChannelChat    ChannelType = "chat"
	ChannelPager   ChannelType = "pager"
)

// Channel is a destination for an organization's notifications.
type Channel struct {
	ID      uuid.UUID
	OrgID   uuid.UUID
	Name    string
	Type    ChannelType
	Config  json.RawMessage // JSON object by type, secrets in clear text
	Enabled bool
	// DisabledReason is why the platform disabled the channel. It is empty for an
	// enabled channel and for one that a user disabled.
	DisabledReason string
	Labels         Labels `json:",omitempty"`
	// Fallback is the channel that gets what this one cannot deliver; uuid.Nil: none.
	Fallback uuid.UUID `json:",omitzero"`
	// Version increases by one with every change of the channel, also when the platform
	// disables it. At least 1 in storage.
	Version int64 `json:",omitempty"`
	// ManagedBy is what manages the channel; nil: nothing does.
	ManagedBy *ManagedBy `json:"-"`
	// AppliedVersion is the version that apply stored last; 0: none. A later Version was
	// made by somebody else.
	AppliedVersion int64 `json:"-"`
	// FormerSecret is the secret that a rotation replaced, in clear text. Messages are signed
	// by it too until SecretOverlapEndsAt. Outside of an overlap it is empty, and the time nil.
	FormerSecret        string     `json:"-"`
	SecretOverlapEndsAt *time.Time `json:"-"`
	CreatedAt           time.Time
	UpdatedAt           time.Time
}

// SecretRotation replaces the secret by which a webhook channel signs its messages.
type SecretRotation struct {
	// Secret is the new one, in clear text.
	Secret string
	// Overlap is for how long messages are signed by the replaced secret too; 0: not any more.
	Overlap time.Duration
	// Force ends an overlap that another rotation began; without it that is a conflict.
	Force bool
}

// DeliveryStatus is the state of a delivery.
type DeliveryStatus string

// The delivery states. Every delivery ends in one of the last four.
const (
	DeliveryPending    DeliveryStatus = "pending"
	DeliveryDelivered  DeliveryStatus = "delivered"
	DeliveryExhausted  DeliveryStatus = "exhausted"  // every attempt failed
	DeliverySuperseded DeliveryStatus = "superseded" // the incident ended before it was sent
	DeliveryCanceled   DeliveryStatus = "canceled"   // its channel was disabled or deleted
)

// Delivery is the message about one event to one channel.
type Delivery struct {
	ID        uuid.UUID
	OrgID     uuid.UUID
	EventID   uuid.UUID
	EventType EventType
	// IncidentID is that of the incident, or of the time without results (UnobservedCheck) when
	// EventType.Unobserved says so.
	IncidentID uuid.UUID
	// IncidentTitle is set in lists of deliveries and for a single one; it is empty
	// where the delivery is read for another purpose.
	IncidentTitle string
	CheckID       uuid.UUID
	ChannelID     uuid.UUID
	ChannelType   ChannelType
	ChannelName   string // when the delivery was created
	Status        DeliveryStatus
	// Policy is frozen when the delivery is created, so that a new version of the
	// platform treats it as the old one did.
	Policy DeliveryPolicy
	// Attempts counts all attempts; Failures only those of the retry schedule,
	// not redeliveries.
	Attempts, Failures int
	// NextAttemptAt is when a pending delivery is retried; nil: as soon as the
	// deliveries before it have ended.
	NextAttemptAt *time.Time
	// Redeliver: one more attempt was requested and is not made yet.
	Redeliver bool
	// Merged: the message covered both the opening and the recovery.
	Merged bool
	// FallbackFor is the delivery in whose place this one is; nil: it is in the place of none.
	FallbackFor *FallbackFor
	// Recipients of a mail; set where a single delivery is shown.
	Recipients []DeliveryRecipient
	CreatedAt  time.Time
	UpdatedAt  time.Time
	FinishedAt *time.Time // nil while pending
}

// DeliveryMessage is what a delivery sends.
type DeliveryMessage struct {
	EventID   uuid.UUID
	EventType EventType
	Time      time.Time // of the event
	// Title and Body are the words of a channel that has no template of its own.
	Title, Body string
	// Payload is the body that a webhook receives, the same bytes on every attempt.
	Payload []byte
}

// FallbackFor names the delivery in whose place another channel got a message.
type FallbackFor struct {
	ChannelID   uuid.UUID `json:"channel_id"`
	ChannelName string    `json:"channel_name"` // when the first delivery was made
	DeliveryID  uuid.UUID `json:"delivery_id"`
}

// DeliveryID returns the id of the delivery of an event to a channel. It follows
// from both, so there is never a second one.
func DeliveryID(event, channel uuid.UUID) uuid.UUID {
	return DerivedID(append(event[:], channel[:]...))
}

// AddressedDeliveryID returns the id of the delivery of an event to one address of a
// channel, counted from 0. The first one is that of DeliveryID.
func AddressedDeliveryID(event, channel uuid.UUID, address int) uuid.UUID {
	if address == 0 {
		return DeliveryID(event, channel)
	}
	return DerivedID(append(slices.Concat(event[:], channel[:]), strconv.Itoa(address)...))
}

// DeliveryWorkflowID is the id of the workflow that notifies a channel of an
// incident, one message after the other.
func DeliveryWorkflowID(incident, channel uuid.UUID) string {
	return "delivery/" + incident.String() + "/" + channel.String()
}

// DeliveryQueue is the task queue of deliveries. They have their own, so that
// receivers that hang never delay decisions about incidents.
const DeliveryQueue = "delivery"

// PendingDelivery names a channel with undelivered messages about an incident.
type PendingDelivery struct {
	IncidentID  uuid.UUID   `json:"incident_id"`
	ChannelID   uuid.UUID   `json:"channel_id"`
	OrgID       uuid.UUID   `json:"org_id"`
	CheckID     uuid.UUID   `json:"check_id"`
	ChannelType ChannelType `json:"channel_type"`
	CheckName   string      `json:"check_name"`
	ChannelName string      `json:"channel_name"`
	// First: these are the channel's first messages about the incident, so that nothing
	// sends them yet.
	First bool `json:"first,omitempty"`
}

// Outbox holds the deliveries of one incident, or of one time without results, to one channel.
type Outbox struct {
	// Usable is false when the channel was disabled or removed.
	Usable bool
	// Ended: the incident is resolved, or the end of the time without results is to be sent.
	Ended bool
	// Deliveries in the order of their events.
	Deliveries []Delivery
}

// DeliveryDecision says what to do with an outbox. The zero value: nothing is left.
type DeliveryDecision struct {
	// Supersede and Cancel are deliveries that end without being sent.
	Supersede, Cancel []uuid.UUID
	// Attempt is the delivery to send once NotBefore has come; uuid.Nil: none.
	Attempt   uuid.UUID
	NotBefore time.Time
	// Manual: the attempt was requested and does not count as a failure.
	Manual bool
	// Merged: the message must cover both the opening and the recovery, since the
	// opening was not delivered.
	Merged bool
}

// DecideDelivery decides what happens next in an outbox. Messages go in order;
// the policy of each delivery decides what the end of the incident does to it.
func DecideDelivery(box Outbox) DeliveryDecision {
	var d DeliveryDecision
	if !box.Usable {
		for _, one := range box.Deliveries {
			if one.Status == DeliveryPending {
				d.Cancel = append(d.Cancel, one.ID)
			}
		}
		return d
	}
	for _, one := range box.Deliveries {
		if one.Redeliver {
			return DeliveryDecision{Attempt: one.ID, Manual: true, Merged: one.Merged}
		}
	}
	opening, attempts := DeliveryDelivered, 0 // a recovery without an opening is sent as it is
	for _, one := range box.Deliveries {
		isOpening := one.EventType.Opens()
		switch {
		case isOpening && one.Status != DeliveryPending:
			opening, attempts = one.Status, one.Attempts
		case isOpening && box.Ended && one.Policy.LateOpening != LateOpeningDeliver:
			d.Supersede = append(d.Supersede, one.ID)
			opening, attempts = DeliverySuperseded, one.Attempts
		case one.Status != DeliveryPending:
		case isOpening:
			d.attempt(&one, false)
			return d
		case one.EventType == EventAcknowledged && box.Ended && one.Policy.LateOpening != LateOpeningDeliver:
			d.Supersede = append(d.Supersede, one.ID) // it says nothing of an incident that is over
		case one.EventType.between(): // in order: it waits for those before it, and those behind it for it
			if d.Attempt == uuid.Nil {
				d.attempt(&one, false)
			}
			return d
		case !one.Policy.sendsRecovery(opening, attempts):
			d.Supersede = append(d.Supersede, one.ID)
		default: // of several addresses, the one that is due first
			d.attempt(&one, opening != DeliveryDelivered && one.Policy.Merges())
		}
	}
	return d
}

// between reports whether the event is neither the beginning nor the end of its incident.
func (t EventType) between() bool { return t == EventAcknowledged || t == EventUpdated }

// attempt sets the delivery to send, unless another one is due before it.
func (d *DeliveryDecision) attempt(one *Delivery, merged bool) {
	var at time.Time
	if one.NextAttemptAt != nil {
		at = *one.NextAttemptAt
	}
	if d.Attempt == uuid.Nil || at.Before(d.NotBefore) {
		d.Attempt, d.NotBefore, d.Merged = one.ID, at, merged
	}
}
