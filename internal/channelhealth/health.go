// SPDX-License-Identifier: Apache-2.0

package channelhealth

import (
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// State says how the messages of a channel arrive.
type State string

// The states of a channel.
const (
	OK      State = "ok"      // the last attempt succeeded, too few failed since, or none was made
	Failing State = "failing" // attempts fail for long, or many in a row
	Down    State = "down"    // a delivery was given up, or the receiver is gone
)

// When a channel is failing.
const (
	failingAttempts = 5                // in a row
	failingTime     = 10 * time.Minute // since the first of them
)

// Health is how the messages of a channel arrive. The zero value is that of a channel
// that has had none.
type Health struct {
	State State // empty: ok
	// Failures counts the attempts that failed in a row, and Since is when the first of them
	// did; zero: none failed. Attempts that users request count only when they succeed.
	Failures int
	Since    time.Time
	// Episode is the time in which the channel fails, from leaving ok to the next message that
	// arrives; uuid.Nil while it is ok.
	Episode         uuid.UUID
	LastDeliveredAt *time.Time // nil: none was delivered
	// LastError is why the last attempt failed, for people; empty when it did not.
	LastError string
}

// Shown returns the state, and since when the channel fails; nil while it is ok.
func (h Health) Shown() (state State, since *time.Time) {
	if h.State == "" || h.State == OK {
		return OK, nil
	}
	return h.State, &h.Since
}

// Seen is what an attempt shows of its channel.
type Seen struct {
	At        time.Time
	Delivered bool
	// Failed: it says that the channel fails. That is neither an attempt that a user requested, nor
	// one without a known outcome, nor one that reached some of its recipients.
	Failed bool
	// GivenUp: its delivery is not tried again. Gone: the receiver wants no more messages.
	GivenUp, Gone bool
	Error         string // for people
}

// SeenOf returns what an attempt at an instant shows of its channel. exhausted says that the
// attempt ended its delivery. What was sent to a former address of the channel shows nothing.
func SeenOf(outcome *vigil.AttemptOutcome, exhausted bool, at time.Time) Seen {
	if outcome.Former {
		return Seen{At: at}
	}
	a := &outcome.Attempt
	return Seen{
		At: at, Delivered: outcome.Delivered, Error: vigil.Shorten(vigil.CleanText(a.Error), MaxError),
		Failed:  !outcome.Delivered && !outcome.Progress && !a.Manual && a.ErrorCode != vigil.AttemptUnknown,
		GivenUp: exhausted, Gone: outcome.Gone,
	}
}

// MaxError bounds Health.LastError, in bytes.
const MaxError = 500

// Turn is a change of a channel's state that makes an event.
type Turn string

// The changes: from ok to another state, and back.
const (
	TurnNone      Turn = ""
	TurnFailing   Turn = "failing"
	TurnRecovered Turn = "recovered"
)

// After returns the health of a channel after an attempt, and what changed by it. The id of a
// new episode follows from that of the channel and the time.
func (h Health) After(channel uuid.UUID, seen Seen) (Health, Turn) {
	if seen.Delivered {
		turn := TurnNone
		if h.Episode != uuid.Nil {
			turn = TurnRecovered
		}
		return Health{State: OK, LastDeliveredAt: &seen.At}, turn
	}
	if seen.Failed {
		h.Failures++
		h.LastError = seen.Error
	}
	if (seen.Failed || seen.GivenUp || seen.Gone) && h.Since.IsZero() {
		h.Since = seen.At
	}
	state := OK
	switch {
	case seen.GivenUp || seen.Gone || h.State == Down:
		state = Down
	case h.State == Failing,
		seen.Failed && (h.Failures >= failingAttempts || seen.At.Sub(h.Since) >= failingTime):
		state = Failing
	}
	if h.State = state; state == OK || h.Episode != uuid.Nil {
		return h, TurnNone
	}
	if h.LastError == "" {
		h.LastError = seen.Error
	}
	h.Episode = episodeOf(channel, h.Since)
	return h, TurnFailing
}

// episodeOf is the id of a time in which a channel fails.
func episodeOf(channel uuid.UUID, since time.Time) uuid.UUID {
	return vigil.DerivedID(append(channel[:], strconv.FormatInt(since.UnixMicro(), 10)...))
}

// MemberFallback is the member of a channel that names its fallback.
const MemberFallback = "fallback_channel_id"

// FallbackCircle is the CodeInvalid error about a channel that falls back to itself, over others
// or not.
func FallbackCircle() error {
	return vigil.Invalid(MemberFallback, "leads back to the channel itself")
}

// FallbackOpening is an opening that a channel got in the place of another one.
type FallbackOpening struct {
	vigil.Recipient // the channel that got it; FallbackFor is set
	Pending         bool
}

// FallbackRecipients adds to the recipients of an end the channels that got the beginning in the
// place of one of them. One whose message of the beginning is still pending gets the end also
// when its policy merges both into one message: that message stands for the beginning.
func FallbackRecipients(to []vigil.Recipient, openings []FallbackOpening, end uuid.UUID) []vigil.Recipient {
	named := make(map[uuid.UUID]bool, len(to))
	for _, r := range to {
		named[r.ChannelID] = true
	}
	all, added := to, make(map[uuid.UUID]bool)
	for _, o := range openings {
		notified := named[o.FallbackFor.ChannelID]
		if named[o.ChannelID] || added[o.ChannelID] || !notified && !(o.Pending && o.Policy.Merges()) {
			continue
		}
		added[o.ChannelID] = true
		r, of := o.Recipient, *o.FallbackFor
		if r.FallbackFor = &of; notified {
			r.FallbackFor.DeliveryID = vigil.DeliveryID(end, of.ChannelID)
		}
		all = append(all[:len(all):len(all)], r)
	}
	return all
}

// Notice is a mail to the owners of an organization about a channel.
type Notice struct {
	ChannelID, OrgID uuid.UUID
	ChannelName      string
	// Gone: the receiver answered that it wants no more messages, and the channel was disabled.
	Gone      bool
	Since     time.Time // since when attempts fail
	LastError string
	// Lost counts the messages that were given up since the last mail, and FellBack how many of
	// them another channel got.
	Lost, FellBack int
	State          State // of the channel now
	Deleted        bool  // there is no such channel any more
	// Number counts the mails about the channel, from 1, and News what they are about.
	Number, News int64
}
