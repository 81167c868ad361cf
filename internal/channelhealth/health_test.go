// SPDX-License-Identifier: Apache-2.0

package channelhealth_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
)

// seenStep is an attempt at a time, what it shows, and what it makes of a channel.
type seenStep struct {
	at       time.Duration
	seen     channelhealth.Seen
	state    channelhealth.State
	failures int
	turn     channelhealth.Turn
}

func TestChannelHealth(t *testing.T) {
	t.Parallel()
	const ok, failing, down = channelhealth.OK, channelhealth.Failing, channelhealth.Down
	fails, delivered := channelhealth.Seen{Failed: true, Error: "refused"}, channelhealth.Seen{Delivered: true}
	givenUp := channelhealth.Seen{Failed: true, GivenUp: true, Error: "refused"}
	gone := channelhealth.Seen{Failed: true, GivenUp: true, Gone: true, Error: "410"}
	nothing := channelhealth.Seen{}
	const s, m = time.Second, time.Minute
	for name, steps := range map[string][]seenStep{
		"FiveFailuresInARowAreFailing": {
			{0, fails, ok, 1, ""},
			{s, fails, ok, 2, ""},
			{2 * s, fails, ok, 3, ""},
			{3 * s, fails, ok, 4, ""},
			{4 * s, fails, failing, 5, "failing"},
			{5 * s, fails, failing, 6, ""},
		},
		"AMessageThatArrivesBeginsAgain": {
			{0, fails, ok, 1, ""},
			{s, fails, ok, 2, ""},
			{2 * s, delivered, ok, 0, ""},
			{3 * s, fails, ok, 1, ""},
			{11 * m, fails, failing, 2, "failing"},
			{12 * m, delivered, ok, 0, "recovered"},
			{13 * m, delivered, ok, 0, ""},
		},
		"TenMinutesAreSeenAtTheAttempt": {
			{0, fails, ok, 1, ""}, {10*m - time.Microsecond, fails, ok, 2, ""}, {10 * m, fails, failing, 3, "failing"},
		},
		"ADeliveryThatIsGivenUpIsDown": {{0, givenUp, down, 1, "failing"}, {s, fails, down, 2, ""}, {2 * s, delivered, ok, 0, "recovered"}},
		"AReceiverThatIsGoneIsDown":    {{0, gone, down, 1, "failing"}, {s, gone, down, 2, ""}},
		"FailingGoesToDownWithoutAnotherTurn": {
			{0, fails, ok, 1, ""}, {20 * m, fails, failing, 2, "failing"}, {21 * m, givenUp, down, 3, ""}, {22 * m, delivered, ok, 0, "recovered"},
		},
		"WhatShowsNothingChangesNothing": {
			{0, nothing, ok, 0, ""},
			{s, fails, ok, 1, ""},
			{20 * m, nothing, ok, 1, ""},
			{21 * m, fails, failing, 2, "failing"},
			{22 * m, nothing, failing, 2, ""},
		},
		"AnUnknownOutcomeMayBeTheLast": {
			{0, channelhealth.Seen{GivenUp: true, Error: "unknown"}, down, 0, "failing"}, {s, delivered, ok, 0, "recovered"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
			channel, health := uuid.New(), channelhealth.Health{}
			var episodes []uuid.UUID
			for i, step := range steps {
				step.seen.At = start.Add(step.at)
				next, turn := health.After(channel, step.seen)
				state, since := next.Shown()
				if state != step.state || next.Failures != step.failures || turn != step.turn {
					t.Errorf(
						"step %d: %s after %d failures, turn %q; want %s, %d, %q",
						i,
						state,
						next.Failures,
						turn,
						step.state,
						step.failures,
						step.turn,
					)
				}
				if (state == ok) != (since == nil) || (state == ok) != (next.Episode == uuid.Nil) {
					t.Errorf("step %d: %s since %v, episode %s", i, state, since, next.Episode)
				}
				if state != ok && next.LastError == "" {
					t.Errorf("step %d: no error is kept", i)
				}
				if again, _ := health.After(channel, step.seen); again.Episode != next.Episode {
					t.Errorf("step %d: another episode when it is repeated", i)
				}
				if turn == channelhealth.TurnFailing {
					episodes = append(episodes, next.Episode)
				}
				health = next
			}
			if len(slices.Compact(texts(episodes))) != len(episodes) {
				t.Errorf("episodes %v repeat", episodes)
			}
		})
	}
}

func texts(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	slices.Sort(list)
	return list
}

// What an attempt shows: only a failure of the receiver counts against its channel.
func TestSeenOf(t *testing.T) {
	t.Parallel()
	failed := func(change func(*vigil.AttemptOutcome)) vigil.AttemptOutcome {
		o := vigil.AttemptOutcome{Attempt: vigil.Attempt{ErrorCode: "http_status", Error: "answered 500"}}
		change(&o)
		return o
	}
	for name, test := range map[string]struct {
		outcome vigil.AttemptOutcome
		failed  bool
	}{
		"Failed":           {failed(func(*vigil.AttemptOutcome) {}), true},
		"Manual":           {failed(func(o *vigil.AttemptOutcome) { o.Attempt.Manual = true }), false},
		"Unknown":          {failed(func(o *vigil.AttemptOutcome) { o.Attempt.ErrorCode = vigil.AttemptUnknown }), false},
		"ReachedSome":      {failed(func(o *vigil.AttemptOutcome) { o.Progress = true }), false},
		"AtAFormerAddress": {failed(func(o *vigil.AttemptOutcome) { o.Former = true }), false},
		"Delivered":        {vigil.AttemptOutcome{Delivered: true}, false},
	} {
		if seen := channelhealth.SeenOf(&test.outcome, false, time.Time{}); seen.Failed != test.failed {
			t.Errorf("%s: %+v", name, seen)
		}
	}
}

// A channel that got the beginning in the place of another one gets the end, once.
func TestFallbackRecipients(t *testing.T) {
	t.Parallel()
	first, instead, other, end := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	opening := func(channel, of uuid.UUID, pending bool, late vigil.LateOpening) channelhealth.FallbackOpening {
		return channelhealth.FallbackOpening{Pending: pending, Recipient: vigil.Recipient{
			ChannelID: channel, Policy: vigil.DeliveryPolicy{MaxAttempts: 1, LateOpening: late},
			FallbackFor: &vigil.FallbackFor{ChannelID: of, ChannelName: "first", DeliveryID: uuid.New()},
		}}
	}
	const merge, deliver = vigil.LateOpeningMerge, vigil.LateOpeningDeliver
	for name, test := range map[string]struct {
		to       []uuid.UUID
		openings []channelhealth.FallbackOpening
		want     []uuid.UUID
	}{
		"None": {[]uuid.UUID{first}, nil, []uuid.UUID{first}},
		"WithTheFirst": {
			[]uuid.UUID{first}, []channelhealth.FallbackOpening{opening(instead, first, false, deliver)}, []uuid.UUID{first, instead},
		},
		"NotWithoutTheFirst": {
			[]uuid.UUID{other}, []channelhealth.FallbackOpening{opening(instead, first, false, merge)}, []uuid.UUID{other},
		},
		"ForAnOpeningThatIsPending": {nil, []channelhealth.FallbackOpening{opening(instead, first, true, merge)}, []uuid.UUID{instead}},
		"NotWhereItIsDelivered":     {nil, []channelhealth.FallbackOpening{opening(instead, first, true, deliver)}, nil},
		"OnceForTwo": {
			[]uuid.UUID{first, other},
			[]channelhealth.FallbackOpening{opening(instead, first, false, deliver), opening(instead, other, false, deliver)},
			[]uuid.UUID{first, other, instead},
		},
		"OnceWhereItIsNamed": {
			[]uuid.UUID{first, instead}, []channelhealth.FallbackOpening{opening(instead, first, false, deliver)}, []uuid.UUID{first, instead},
		},
	} {
		to := make([]vigil.Recipient, len(test.to))
		for i, id := range test.to {
			to[i].ChannelID = id
		}
		var got []uuid.UUID
		for _, r := range channelhealth.FallbackRecipients(to, test.openings, end) {
			got = append(got, r.ChannelID)
			if r.FallbackFor != nil && slices.Contains(test.to, r.FallbackFor.ChannelID) &&
				r.FallbackFor.DeliveryID != vigil.DeliveryID(end, r.FallbackFor.ChannelID) {
				t.Errorf("%s: in the place of %+v", name, r.FallbackFor)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
