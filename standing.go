package vigil

import (
	"time"

	"github.com/google/uuid"
)

// PendingDelivery is a channel with messages about an incident to be sent.
type PendingDelivery struct {
	IncidentID  uuid.UUID   `json:"incident_id"`
	ChannelID   uuid.UUID   `json:"channel_id"`
	OrgID       uuid.UUID   `json:"org_id"`
	CheckID     uuid.UUID   `json:"check_id"`
	ChannelType ChannelType `json:"channel_type"`
	CheckName   string      `json:"check_name"`
	ChannelName string      `json:"channel_name"`
}

// DeliveryFilter selects deliveries. Zero members do not bind.
type DeliveryFilter struct {
	IncidentID uuid.UUID
	ChannelID  uuid.UUID
	Status     DeliveryStatus
	Page
}

// NextAttemptState says what came of picking up the next message for a channel.
type NextAttemptState string

// The states of a pickup.
const (
	NextAttemptNone    NextAttemptState = "nothing" // all is told
	NextAttemptLater   NextAttemptState = "later"   // not before Until
	NextAttemptBusy    NextAttemptState = "busy"    // the channel has enough in flight
	NextAttemptUnknown NextAttemptState = "lost"    // an attempt's outcome is unknown; settle it first
	NextAttemptReady   NextAttemptState = "ready"   // send it: the attempt is on record
)

// NextAttempt is the next message for a channel.
type NextAttempt struct {
	State NextAttemptState
	Until time.Time // of PickupLater
	// Delivery of PickupLost and PickupReady, and its attempt.
	Delivery Delivery
	Attempt  Attempt
	// Event to be told, with PickupReady. Body is what an earlier attempt sent
	// in place of its envelope, nil when there was none.
	Event    Event
	Body     []byte
	Severity Severity
	Merged   bool
	// Last is the status of the delivery that ended last, for PickupNothing;
	// empty when there never was one.
	Last DeliveryStatus
}

// AttemptOutcome is what became of an attempt.
type AttemptOutcome struct {
	Attempt   Attempt // as it ended
	Delivered bool
	// NextAttemptAt is when to try again; nil: never. It binds only an attempt
	// that counts.
	NextAttemptAt *time.Time
	Merged        bool
}

// Remaining is what is left to tell a channel after an attempt.
type Remaining struct {
	Status   DeliveryStatus // of the delivery that was tried
	Failures int            // of it
	Pending  bool           // it, or another of the same incident, is to be tried
	Until    time.Time      // not before; zero: at once
}
