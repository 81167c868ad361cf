// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
)

const (
	pending   = vigil.DeliveryPending
	delivered = vigil.DeliveryDelivered
	exhausted = vigil.DeliveryExhausted

	superseded = vigil.DeliverySuperseded
	canceled   = vigil.DeliveryCanceled
)

// The deliveries of box.
var (
	opening  = uuid.UUID{1} //nolint:gochecknoglobals // a constant that Go cannot spell as one
	recovery = uuid.UUID{2} //nolint:gochecknoglobals // likewise
)

// box holds the deliveries of an opening and of a recovery with the given statuses;
// an empty status: there is none.
func box(kind vigil.ChannelType, ended bool, opened, recovered vigil.DeliveryStatus) vigil.Outbox {
	out := vigil.Outbox{Usable: true, Ended: ended}
	add := func(id uuid.UUID, event vigil.EventType, status vigil.DeliveryStatus) {
		if status != "" {
			one := vigil.Delivery{ID: id, EventType: event, Status: status, Policy: policies().Of(kind)}
			out.Deliveries = append(out.Deliveries, one)
		}
	}
	add(opening, vigil.EventTriggered, opened)
	add(recovery, vigil.EventResolved, recovered)
	return out
}

// attempted adds an attempt of the opening, whose answer was lost.
func attempted(out vigil.Outbox) vigil.Outbox {
	out.Deliveries[0].Attempts = 1
	return out
}

func TestDecideDelivery(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		box        vigil.Outbox
		attempt    uuid.UUID
		merged     bool
		superseded int
	}{
		{"APagerIsAlertedWhileTheIncidentLasts", box("pager", false, pending, ""), opening, false, 0},
		{"AnAcknowledgementFollowsToAPagerThatWasAlerted", box("pager", false, delivered, pending), recovery, false, 0},
		{"TheOpeningIsSent", box("email", false, pending, ""), opening, false, 0},
		{"NothingIsLeft", box("email", true, delivered, delivered), uuid.Nil, false, 0},
		{"RecoveryFollowsADeliveredOpening", box("chat", true, delivered, pending), recovery, false, 0},
		{"RecoveryAloneIsSent", box("email", true, "", pending), recovery, false, 0},
		{"AWebhookGetsBothInOrder", box("webhook", true, pending, pending), opening, false, 0},
		{"AWebhookGetsTheRecoveryOfAnExhaustedOpening", box("webhook", true, exhausted, pending), recovery, false, 0},
		{"PeopleGetOneMessageForBoth", box("email", true, pending, pending), recovery, true, 1},
		{"PeopleGetBothInOneAfterAnExhaustedOpening", box("push", true, exhausted, pending), recovery, true, 0},
		{"APagerGetsNeitherWhenItIsOver", box("pager", true, pending, pending), uuid.Nil, false, 2},
		{"APagerGetsTheRecoveryOfAnExhaustedOpening", attempted(box("pager", true, exhausted, pending)), recovery, false, 0},
		{"APagerGetsTheRecoveryOfASupersededOpening", attempted(box("pager", true, superseded, pending)), recovery, false, 0},
		{"APagerGetsTheRecoveryOfAnAttemptedOpening", attempted(box("pager", true, pending, pending)), recovery, false, 1},
		{"APagerGetsTheRecoveryOfACanceledOpening", attempted(box("pager", true, canceled, pending)), recovery, false, 0},
		{"APagerGetsNoRecoveryOfASupersededOpening", box("pager", true, superseded, pending), uuid.Nil, false, 1},
		{"APushGetsTheRecoveryOfAnAttemptedOpening", attempted(box("push", true, pending, pending)), recovery, true, 1},
		{"APagerGetsTheRecoveryOfADeliveredOpening", box("pager", true, delivered, pending), recovery, false, 0},
		{"AnOpeningWithoutARecoveryIsDroppedWhenItIsOver", box("chat", true, pending, ""), uuid.Nil, false, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := vigil.DecideDelivery(test.box)
			if got.Attempt != test.attempt || got.Merged != test.merged || len(got.Supersede) != test.superseded || len(got.Cancel) > 0 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDecideDeliveryOfAChannel(t *testing.T) {
	t.Parallel()

	t.Run("AChannelThatIsGoneCancelsWhatIsPending", func(t *testing.T) {
		t.Parallel()
		gone := box("webhook", true, delivered, pending)
		gone.Usable = false
		if got := vigil.DecideDelivery(gone); len(got.Cancel) != 1 || got.Cancel[0] != recovery || got.Attempt != uuid.Nil {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("RedeliveryComesFirst", func(t *testing.T) {
		t.Parallel()
		asked := box("webhook", true, pending, delivered)
		asked.Deliveries[1].Redeliver = true
		if got := vigil.DecideDelivery(asked); got.Attempt != recovery || !got.Manual {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("RedeliveryOfAMergedMessageSaysBothAgain", func(t *testing.T) {
		t.Parallel()
		for _, merged := range []bool{true, false} {
			asked := box("email", true, delivered, delivered)
			asked.Deliveries[1].Redeliver, asked.Deliveries[1].Merged = true, merged
			if got := vigil.DecideDelivery(asked); got.Attempt != recovery || !got.Manual || got.Merged != merged {
				t.Errorf("merged %v: got %+v", merged, got)
			}
		}
	})

	t.Run("NothingIsRedeliveredToAChannelThatIsGone", func(t *testing.T) {
		t.Parallel()
		asked := box("webhook", true, delivered, delivered)
		asked.Usable, asked.Deliveries[1].Redeliver = false, true
		if got := vigil.DecideDelivery(asked); got.Attempt != uuid.Nil || got.Manual || len(got.Cancel) > 0 {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("OnlyTheOpeningIsSupersededByTheEnd", func(t *testing.T) {
		t.Parallel()
		if got := vigil.DecideDelivery(box("chat", true, pending, pending)); !slices.Equal(got.Supersede, []uuid.UUID{opening}) || got.Manual {
			t.Errorf("got %+v", got)
		}
		if got := vigil.DecideDelivery(box("pager", true, pending, pending)); !slices.Equal(got.Supersede, []uuid.UUID{opening, recovery}) {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("RecoveryIsSentAtItsOwnTime", func(t *testing.T) {
		t.Parallel()
		later := box("email", true, delivered, pending)
		later.Deliveries[1].NextAttemptAt = new(epoch().Add(time.Minute))
		if got := vigil.DecideDelivery(later); got.Attempt != recovery || !got.NotBefore.Equal(epoch().Add(time.Minute)) {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("OfSeveralAddressesTheOneThatIsDueFirst", func(t *testing.T) {
		t.Parallel()
		several := box("pager", true, delivered, pending)
		other := several.Deliveries[1]
		other.ID = uuid.UUID{3}
		several.Deliveries[1].NextAttemptAt = new(epoch().Add(time.Minute))
		several.Deliveries = append(several.Deliveries, other)
		if got := vigil.DecideDelivery(several); got.Attempt != other.ID || !got.NotBefore.IsZero() {
			t.Errorf("got %+v", got)
		}
		several.Deliveries[2].NextAttemptAt = new(epoch().Add(time.Hour))
		if got := vigil.DecideDelivery(several); got.Attempt != recovery || !got.NotBefore.Equal(epoch().Add(time.Minute)) {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("NothingIsSentBeforeItsTime", func(t *testing.T) {
		t.Parallel()
		later := box("webhook", true, pending, pending)
		later.Deliveries[0].NextAttemptAt = new(epoch())
		if got := vigil.DecideDelivery(later); got.Attempt != opening || !got.NotBefore.Equal(epoch()) {
			t.Errorf("got %+v", got)
		}
	})
}

func TestDeliveryIDs(t *testing.T) {
	t.Parallel()
	event, channel := uuid.MustParse("0b9a4d2e-3f57-4c55-9f0e-6f3a2d1c7b88"), uuid.MustParse("7b0c5f0e-4a51-4f0c-9df1-1f1a5c1d9a10")

	t.Run("DeliveryIDNeverChanges", func(t *testing.T) {
		t.Parallel()
		if got := vigil.DeliveryID(event, channel).String(); got != "2b2d43dc-27cf-5bfd-a740-d08a3f799cea" {
			t.Errorf("got %s", got)
		}
		if vigil.AddressedDeliveryID(event, channel, 0) != vigil.DeliveryID(event, channel) ||
			vigil.AddressedDeliveryID(event, channel, 1) == vigil.AddressedDeliveryID(event, channel, 2) {
			t.Error("the ids of addresses are not their own")
		}
		if vigil.DeliveryID(channel, event) == vigil.DeliveryID(event, channel) {
			t.Error("event and channel can be exchanged")
		}
	})

	t.Run("WorkflowIDNamesIncidentAndChannel", func(t *testing.T) {
		t.Parallel()
		if got, want := vigil.DeliveryWorkflowID(event, channel), "delivery/"+event.String()+"/"+channel.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestRetrySchedule(t *testing.T) {
	t.Parallel()

	t.Run("TwelveAttemptsOverThreeDays", func(t *testing.T) {
		t.Parallel()
		schedule := vigil.DefaultRetrySchedule()
		var sum time.Duration
		n := 1
		for ; ; n++ {
			wait, more := schedule.Wait(n, 12, 0.5, 0)
			if !more {
				break
			}
			sum += wait
		}
		if n != 12 || sum != 75*time.Hour+42*time.Minute+35*time.Second {
			t.Errorf("%d attempts over %v", n, sum)
		}
		if _, more := schedule.Wait(6, 6, 0.5, 0); more {
			t.Error("a seventh of six attempts")
		}
	})

	t.Run("WaitsStayWithinAFifth", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			schedule := vigil.DefaultRetrySchedule()
			n := rapid.IntRange(1, len(schedule)).Draw(t, "failures")
			wait, _ := schedule.Wait(n, 12, rapid.Float64Range(0, 0.999999).Draw(t, "random"), 0)
			if off := float64(wait)/float64(schedule[n-1]) - 1; off < -0.2001 || off > 0.2001 {
				t.Fatalf("wait %v is off by %v", wait, off)
			}
		})
	})

	t.Run("WaitsSpanAFifthEitherWay", func(t *testing.T) {
		t.Parallel()
		schedule := vigil.RetrySchedule{10 * time.Second, 100 * time.Second}
		for _, test := range []struct {
			failures int
			random   float64
			want     time.Duration
		}{{1, 0, 8 * time.Second}, {1, 0.5, 10 * time.Second}, {1, 1, 12 * time.Second}, {2, 0, 80 * time.Second}, {2, 1, 120 * time.Second}} {
			if got, more := schedule.Wait(test.failures, 3, test.random, 0); got != test.want || !more {
				t.Errorf("after %d failures with %v: %v, %v, want %v", test.failures, test.random, got, more, test.want)
			}
		}
	})

	t.Run("NoWaitBeyondTheScheduleOrTheAttempts", func(t *testing.T) {
		t.Parallel()
		schedule := vigil.RetrySchedule{time.Second, time.Second}
		for _, test := range []struct {
			failures, attempts int
			want               bool
		}{{0, 12, false}, {1, 12, true}, {2, 12, true}, {3, 12, false}, {1, 1, false}, {1, 2, true}, {2, 2, false}} {
			if wait, more := schedule.Wait(test.failures, test.attempts, 0.5, 0); more != test.want || (wait == time.Second) != test.want {
				t.Errorf("failure %d of %d: %v, %v, want %v", test.failures, test.attempts, wait, more, test.want)
			}
		}
	})

	t.Run("LongerWaitOfTheScheduleCounts", func(t *testing.T) {
		t.Parallel()
		if got, _ := (vigil.RetrySchedule{time.Hour}).Wait(1, 12, 0.5, time.Minute); got != time.Hour {
			t.Errorf("got %v", got)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct{ requested, want time.Duration }{
		"TheLaterCounts":        {time.Minute, time.Minute},
		"NotLessThanFiveSecond": {time.Millisecond, 5 * time.Second},
		"NotMoreThanSixHours":   {1000 * time.Hour, 6 * time.Hour},
		"NoneRequested":         {0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, _ := (vigil.RetrySchedule{time.Second}).Wait(1, 12, 0.5, test.requested); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestParseRetrySchedule(t *testing.T) {
	t.Parallel()
	t.Run("IsRead", func(t *testing.T) {
		t.Parallel()
		got, err := vigil.ParseRetrySchedule("1s, 5s,30s")
		if err != nil || len(got) != 3 || got[2] != 30*time.Second {
			t.Errorf("got %v, %v", got, err)
		}
		for _, bad := range []string{"", "1s,,2s", "soon", "-1s", "0s"} {
			if got, err := vigil.ParseRetrySchedule(bad); vigil.ErrorCode(err) != vigil.CodeInvalid || got != nil {
				t.Errorf("%q gave %v, %v", bad, got, err)
			}
		}
	})
}
