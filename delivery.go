package vigil

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// DeliveryStatus is where a delivery stands.
type DeliveryStatus string

// The delivery states. Every delivery ends in one of the last four.
const (
	DeliveryPending    DeliveryStatus = "pending"
	DeliveryDelivered  DeliveryStatus = "delivered"
	DeliveryExhausted  DeliveryStatus = "exhausted"  // every attempt failed
	DeliverySuperseded DeliveryStatus = "superseded" // the incident ended before it was told
	DeliveryCanceled   DeliveryStatus = "canceled"   // its channel or check was removed
)

// Delivery is one event on its way to one channel.
type Delivery struct {
	ID          uuid.UUID
	OrgID       uuid.UUID
	EventID     uuid.UUID
	EventType   EventType
	IncidentID  uuid.UUID
	CheckID     uuid.UUID
	ChannelID   uuid.UUID
	ChannelType ChannelType
	ChannelName string // as it was when the delivery was made
	Status      DeliveryStatus
	// Attempts made in all; Failures are those that count against the
	// schedule: not the ones that were asked for.
	Attempts, Failures int
	// NextAttemptAt is when a pending delivery is tried again; nil: as soon as
	// what is before it has ended.
	NextAttemptAt *time.Time
	// Redeliver: one more attempt was asked for and is not made yet.
	Redeliver bool
	// Merged: the message said that it was down and has recovered.
	Merged     bool
	CreatedAt  time.Time
	UpdatedAt  time.Time
	FinishedAt *time.Time // nil while pending
}

// Attempt is one try to deliver. It is on record before anything is sent.
type Attempt struct {
	ID         uuid.UUID
	DeliveryID uuid.UUID
	Number     int // from 1
	StartedAt  time.Time
	// FinishedAt is nil while it is under way, and for one whose outcome nobody
	// knows because the process died; ErrorCode tells these apart.
	FinishedAt    *time.Time
	Duration      time.Duration
	StatusCode    int    // 0: none
	ErrorCode     string // empty: delivered or under way
	Error         string // for people; never holds a secret
	ResponseBody  string // its beginning
	NextAttemptAt *time.Time
	Manual        bool // asked for
}

// AttemptUnknown is the error code of an attempt whose outcome nobody knows: it
// may have arrived.
const AttemptUnknown = "unknown"

// DeliveryID is the id of the delivery of an event to a channel: there is never
// a second one.
func DeliveryID(event, channel uuid.UUID) uuid.UUID {
	return uuid.NewSHA1(incidentSpace, append(event[:], channel[:]...))
}

// DeliveryWorkflowID is the id of the workflow that tells a channel about an
// incident, one message after the other.
func DeliveryWorkflowID(incident, channel uuid.UUID) string {
	return "delivery/" + incident.String() + "/" + channel.String()
}

// DeliveryQueue is the task queue of deliveries. It is one of their own, so that
// receivers that hang never hold up decisions about incidents.
const DeliveryQueue = "delivery"

// Outbox is what one channel has to be told about one incident.
type Outbox struct {
	// Usable is false when the channel was disabled or removed.
	Usable bool
	Type   ChannelType
	// Ended: the incident is resolved.
	Ended bool
	// Deliveries of the incident to the channel, in the order of their events.
	Deliveries []Delivery
}

// DeliveryDecision says what to do for an outbox. The zero value: nothing is left.
type DeliveryDecision struct {
	// Supersede and Cancel are deliveries that end without being sent.
	Supersede, Cancel []uuid.UUID
	// Attempt is the delivery to send when NotBefore has come; uuid.Nil: none.
	Attempt   uuid.UUID
	NotBefore time.Time
	// Manual: the attempt was asked for and does not count.
	Manual bool
	// Merged: the message must say both that it was down and that it has
	// recovered, since the first was never heard.
	Merged bool
}

// DecideDelivery decides what becomes of an outbox: messages go in order, and what
// the end of the incident has made pointless is not sent. A webhook hears
// everything; a pager is not woken for what is over; people get one message
// instead of two.
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
	unheard := false // the opening was never delivered
	for _, one := range box.Deliveries {
		opening := one.EventType == EventTriggered
		switch {
		case opening && one.Status == DeliveryPending && box.Ended && box.Type != ChannelWebhook:
			d.Supersede = append(d.Supersede, one.ID)
			unheard = true
		case opening && one.Status != DeliveryPending:
			unheard = one.Status != DeliveryDelivered
		case one.Status != DeliveryPending:
		case !opening && unheard && box.Type == ChannelPager:
			d.Supersede = append(d.Supersede, one.ID)
		default:
			d.Attempt = one.ID
			d.Merged = !opening && unheard && box.Type != ChannelWebhook
			if one.NextAttemptAt != nil {
				d.NotBefore = *one.NextAttemptAt
			}
			return d
		}
	}
	return d
}

// RetrySchedule are the waits between the attempts of a delivery: one less than
// there are attempts.
type RetrySchedule []time.Duration

// Bounds of what a receiver may ask for with Retry-After.
const (
	shortestRetryAfter = 5 * time.Second
	longestRetryAfter  = 6 * time.Hour
)

// jitter is by how much a wait may differ from the schedule, either way.
const jitter = 0.2

// DefaultRetrySchedule makes 12 attempts over about 76 hours.
func DefaultRetrySchedule() RetrySchedule {
	return RetrySchedule{
		5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute,
		2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

// ParseRetrySchedule reads durations separated by commas, such as "1s,5s,30s".
func ParseRetrySchedule(text string) (RetrySchedule, error) {
	var s RetrySchedule
	for part := range strings.SplitSeq(text, ",") {
		wait, err := time.ParseDuration(strings.TrimSpace(part))
		if err != nil || wait <= 0 {
			return nil, Invalid("delivery schedule", "must be durations above zero separated by commas, such as 1s,5s,30s")
		}
		s = append(s, wait)
	}
	return s, nil
}

// Wait returns how long to wait after the nth failure in a row (from 1) of at
// most so many attempts; false when there is no attempt left. random is from
// [0, 1). asked is what the receiver asked for, 0 for nothing: the later counts.
func (s RetrySchedule) Wait(failures, attempts int, random float64, asked time.Duration) (time.Duration, bool) {
	if failures < 1 || failures >= attempts || failures > len(s) {
		return 0, false
	}
	wait := time.Duration(float64(s[failures-1]) * (1 + jitter*(2*random-1)))
	if asked > 0 {
		wait = max(wait, min(max(asked, shortestRetryAfter), longestRetryAfter))
	}
	return wait, true
}
