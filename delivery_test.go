package vigil_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"vigil"
)

func TestNextDispatch(t *testing.T) {
	t.Parallel()
	opening, recovery := uuid.UUID{1}, uuid.UUID{2}
	box := func(kind vigil.ChannelType, ended bool, opened, recovered vigil.DeliveryStatus) vigil.Outbox {
		out := vigil.Outbox{Usable: true, Type: kind, Ended: ended}
		if opened != "" {
			out.Deliveries = append(out.Deliveries, vigil.Delivery{ID: opening, EventType: vigil.EventTriggered, Status: opened})
		}
		if recovered != "" {
			out.Deliveries = append(out.Deliveries, vigil.Delivery{ID: recovery, EventType: vigil.EventResolved, Status: recovered})
		}
		return out
	}
	const (
		pending   = vigil.DeliveryPending
		delivered = vigil.DeliveryDelivered
		exhausted = vigil.DeliveryExhausted
	)
	for _, test := range []struct {
		name       string
		box        vigil.Outbox
		attempt    uuid.UUID
		merged     bool
		superseded int
	}{
		{"TheOpeningIsSent", box("email", false, pending, ""), opening, false, 0},
		{"NothingIsLeft", box("email", true, delivered, delivered), uuid.Nil, false, 0},
		{"RecoveryFollowsADeliveredOpening", box("chat", true, delivered, pending), recovery, false, 0},
		{"RecoveryAloneIsSent", box("email", true, "", pending), recovery, false, 0},
		{"AWebhookHearsBothInOrder", box("webhook", true, pending, pending), opening, false, 0},
		{"AWebhookHearsTheRecoveryOfWhatItNeverHeard", box("webhook", true, exhausted, pending), recovery, false, 0},
		{"PeopleGetOneMessageForBoth", box("email", true, pending, pending), recovery, true, 1},
		{"PeopleWhoHeardNothingGetBothInOne", box("push", true, exhausted, pending), recovery, true, 0},
		{"APagerIsNotWokenForWhatIsOver", box("pager", true, pending, pending), uuid.Nil, false, 2},
		{"APagerThatNeverHeardIsNotToldOfTheEnd", box("pager", true, exhausted, pending), uuid.Nil, false, 1},
		{"APagerThatHeardIsToldOfTheEnd", box("pager", true, delivered, pending), recovery, false, 0},
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

	t.Run("AChannelThatIsGoneCancelsWhatIsPending", func(t *testing.T) {
		t.Parallel()
		gone := box("webhook", true, delivered, pending)
		gone.Usable = false
		if got := vigil.DecideDelivery(gone); len(got.Cancel) != 1 || got.Cancel[0] != recovery || got.Attempt != uuid.Nil {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("WhatWasAskedForComesFirst", func(t *testing.T) {
		t.Parallel()
		asked := box("webhook", true, pending, delivered)
		asked.Deliveries[1].Redeliver = true
		if got := vigil.DecideDelivery(asked); got.Attempt != recovery || !got.Manual {
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

	for name, test := range map[string]struct{ asked, want time.Duration }{
		"TheLaterCounts":        {time.Minute, time.Minute},
		"NotLessThanFiveSecond": {time.Millisecond, 5 * time.Second},
		"NotMoreThanSixHours":   {1000 * time.Hour, 6 * time.Hour},
		"NothingAsked":          {0, time.Second},
	} {
		t.Run("RetryAfter/"+name, func(t *testing.T) {
			t.Parallel()
			if got, _ := (vigil.RetrySchedule{time.Second}).Wait(1, 12, 0.5, test.asked); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}

	t.Run("IsRead", func(t *testing.T) {
		t.Parallel()
		got, err := vigil.ParseRetrySchedule("1s, 5s,30s")
		if err != nil || len(got) != 3 || got[2] != 30*time.Second {
			t.Errorf("got %v, %v", got, err)
		}
		for _, bad := range []string{"", "1s,,2s", "soon", "-1s", "0s"} {
			if _, err := vigil.ParseRetrySchedule(bad); vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Errorf("%q gave %v", bad, err)
			}
		}
	})
}
