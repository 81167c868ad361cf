// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"strings"
	"time"

	"github.com/google/uuid"
)

// Attempt is one attempt of a delivery. It is stored before anything is sent.
type Attempt struct {
	ID         uuid.UUID
	DeliveryID uuid.UUID
	Number     int // from 1
	StartedAt  time.Time
	// FinishedAt is nil while the attempt is in flight.
	FinishedAt    *time.Time
	Duration      time.Duration
	StatusCode    int    // 0: none
	ErrorCode     string // empty: delivered or in flight
	Error         string // for people; never holds a secret
	ResponseBody  string // its beginning
	NextAttemptAt *time.Time
	Manual        bool // requested by a user
	// Recipients is how many people a mail was sent to, and Reached how many of them it
	// reached; 0 for other messages.
	Recipients, Reached int
	// TraceID is that of the incident's trace. It is set where attempts are shown.
	TraceID string
}

// AttemptUnknown is the error code of an attempt whose process died before the
// outcome was stored: the message may have arrived.
const AttemptUnknown = "unknown"

// NextAttemptState is the result of claiming the next attempt for a channel.
type NextAttemptState string

// The results of a claim.
const (
	NextAttemptNone    NextAttemptState = "nothing" // no delivery is pending
	NextAttemptLater   NextAttemptState = "later"   // not before Until
	NextAttemptBusy    NextAttemptState = "busy"    // too many attempts are in flight; it waits for its turn
	NextAttemptUnknown NextAttemptState = "lost"    // an earlier attempt has no outcome; record one first
	NextAttemptReady   NextAttemptState = "ready"   // send it: the attempt is stored
)

// NextAttempt is the next message for a channel.
type NextAttempt struct {
	State NextAttemptState
	Until time.Time // of NextAttemptLater
	// Delivery of NextAttemptUnknown and NextAttemptReady, and its attempt.
	Delivery Delivery
	Attempt  Attempt
	// Event to send, with NextAttemptReady. Body is what an earlier attempt sent
	// in place of its envelope, nil when there was none. Severity is that of the opening that the channel
	// got, of the event itself otherwise.
	Event    Event
	Body     []byte
	Severity Severity
	Merged   bool
	// Previous is the Reference of the opening that the event ends; empty where it is not known.
	Previous string
	// TraceID is that of the incident's trace.
	TraceID string
	// Last is the status of the delivery that ended last, for NextAttemptNone;
	// empty without deliveries.
	Last DeliveryStatus
	// Admitted are other deliveries that may start their attempts now.
	Admitted []PendingDelivery
}

// AttemptOutcome is the outcome of an attempt.
type AttemptOutcome struct {
	Attempt   Attempt // as it ended
	Delivered bool
	// Progress: it reached some of its recipients. It is no failure then, also where others are left.
	Progress bool
	// NextAttemptAt is when to retry; nil: never. It is ignored for a redelivery.
	NextAttemptAt *time.Time
	Merged        bool
	// Reference is what the receiver calls the message; empty where it does not say it.
	Reference string
	// Gone: the receiver said that it wants no more messages. Former: the message went to an
	// address that the channel does not lead to any more.
	Gone, Former bool
	// PublicURL is the address at which the platform is reached, for links in events.
	PublicURL string
}

// Remaining is what is left to deliver to a channel after an attempt.
type Remaining struct {
	Status   DeliveryStatus // of the delivery that was attempted
	Failures int            // of it
	Pending  bool           // it, or another of the same incident, is to be attempted
	Until    time.Time      // not before; zero: at once
	// Admitted are other deliveries that may start their attempts now.
	Admitted []PendingDelivery
}

// RetrySchedule holds the waits between the attempts of a delivery: one fewer than
// there are attempts.
type RetrySchedule []time.Duration

// Bounds of the wait that a receiver requests with Retry-After.
const (
	minRetryAfter = 5 * time.Second
	maxRetryAfter = 6 * time.Hour
)

// jitter is the fraction by which a wait may differ from the schedule, either way.
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

// Limit returns the waits between at most maxAttempts attempts.
func (s RetrySchedule) Limit(maxAttempts int) RetrySchedule {
	return s[:min(len(s), max(maxAttempts-1, 0))]
}

// Wait returns how long to wait after the nth failure in a row, from 1, when at
// most maxAttempts are made; false when no attempt is left. random is from [0, 1).
// retryAfter is what the receiver requested, 0 for nothing; the longer wait wins.
func (s RetrySchedule) Wait(failures, maxAttempts int, random float64, retryAfter time.Duration) (time.Duration, bool) {
	if failures < 1 || failures >= maxAttempts || failures > len(s) {
		return 0, false
	}
	wait := time.Duration(float64(s[failures-1]) * (1 + jitter*(2*random-1)))
	if retryAfter > 0 {
		wait = max(wait, min(max(retryAfter, minRetryAfter), maxRetryAfter))
	}
	return wait, true
}

// MailStatus is what became of a mail for one recipient of a delivery.
type MailStatus string

// The states of a mail. The next attempt sends it to those in the first three; to those that
// refused it only while it has reached none.
const (
	MailPending      MailStatus = "pending"      // not tried yet
	MailFailed       MailStatus = "failed"       // the last attempt failed
	MailUnknown      MailStatus = "unknown"      // handed over without an answer: it may have arrived
	MailDelivered    MailStatus = "delivered"    // the mail server took it
	MailRefused      MailStatus = "refused"      // the mail server refused it for good (RFC 5321: 5yz)
	MailUnconfirmed  MailStatus = "unconfirmed"  // the recipient has not agreed to get mail
	MailUnsubscribed MailStatus = "unsubscribed" // the recipient wants no more mail
	MailRemoved      MailStatus = "removed"      // the channel has the recipient no more
)

// DeliveryRecipient is what became of a delivery for one recipient.
type DeliveryRecipient struct {
	Address string // as the channel spells it
	Status  MailStatus
	// Attempts counts how often it was tried; 0: never.
	Attempts int
	// StatusCode of the mail server's last reply, 0 for none; ErrorCode and Error say why the last
	// attempt failed, and are empty when it did not.
	StatusCode       int
	ErrorCode, Error string
	AttemptedAt      *time.Time // the last attempt; nil: none
	DeliveredAt      *time.Time // nil: not delivered
}

// Sendable reports whether the next attempt is for the recipient in any case.
func (s MailStatus) Sendable() bool {
	return s == MailPending || s == MailFailed || s == MailUnknown
}
