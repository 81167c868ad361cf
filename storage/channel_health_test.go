// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
)

// health reads how the channel of a type does.
func (a *alerts) health(kind vigil.ChannelType) channelhealth.Health {
	a.Helper()
	id := a.channels[kind].ID
	all, err := a.store.ChannelHealths(a.Context(), a.org.ID, []uuid.UUID{id})
	if err != nil {
		a.Fatal(err)
	}
	return all[id]
}

// eventsOf returns the events of a type, in order.
func (a *alerts) eventsOf(t vigil.EventType) (found []vigil.Event) {
	a.Helper()
	for _, e := range a.events() {
		if e.Type == t {
			found = append(found, e)
		}
	}
	return found
}

// dataOf decodes the data of an event.
func (a *alerts) dataOf(e vigil.Event) (data struct {
	Channel struct {
		ID       uuid.UUID
		Name     string
		Delivery struct {
			State               string
			FailingSince        *time.Time `json:"failing_since"`
			ConsecutiveFailures int        `json:"consecutive_failures"`
			LastError           *string    `json:"last_error"`
		}
	}
	Delivery struct {
		ID                uuid.UUID
		FallbackChannelID *uuid.UUID `json:"fallback_channel_id"`
	}
	FallbackFor *vigil.FallbackFor `json:"fallback_for"`
},
) {
	a.Helper()
	envelope := struct{ Data any }{&data}
	if err := json.Unmarshal(e.Envelope, &envelope); err != nil {
		a.Fatal(err)
	}
	return data
}

// failing lets an attempt of a delivery fail, with another one due after a time.
func (a *alerts) failing(incident uuid.UUID, kind vigil.ChannelType, at, next time.Duration) {
	a.Helper()
	a.at(at)
	p := a.claim(incident, kind)
	if p.State != vigil.NextAttemptReady {
		a.Fatalf("the claim is %s", p.State)
	}
	p.Attempt.Error = "the receiver answered 500"
	a.record(p, "http_status", new(epoch().Add(next)))
}

func TestChannelHealth(t *testing.T) {
	t.Parallel()

	t.Run("IsThatOfItsAttempts", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		if h := a.health(vigil.ChannelWebhook); h != (channelhealth.Health{}) {
			t.Errorf("a channel without messages: %+v", h)
		}
		if other, err := a.store.ChannelHealths(
			t.Context(),
			uuid.New(),
			[]uuid.UUID{a.channels[vigil.ChannelWebhook].ID},
		); err != nil ||
			len(other) != 0 {
			t.Errorf("another organization sees %v, %v", other, err)
		}
		version := a.channels[vigil.ChannelWebhook].Version
		id := a.open(a.fails(newark)).Incident.ID
		for n := range 5 {
			a.failing(id, vigil.ChannelWebhook, time.Duration(n)*time.Second, time.Duration(n+1)*time.Second)
		}
		h := a.health(vigil.ChannelWebhook)
		if state, since := h.Shown(); state != channelhealth.Failing || !since.Equal(epoch()) || h.Failures != 5 ||
			h.LastError != "the receiver answered 500" || h.LastDeliveredAt != nil {
			t.Errorf("after five failures: %+v", h)
		}
		at := a.at(time.Minute)
		a.deliver(id, vigil.ChannelWebhook)
		if h := a.health(
			vigil.ChannelWebhook,
		); h.State != channelhealth.OK || h.Failures != 0 || h.LastError != "" ||
			!h.LastDeliveredAt.Equal(at) {
			t.Errorf("after a message: %+v", h)
		}
		began, ended := a.eventsOf(vigil.EventChannelFailing), a.eventsOf(vigil.EventChannelRecovered)
		if len(began) != 1 || len(ended) != 1 || began[0].IncidentID != ended[0].IncidentID {
			t.Fatalf("events %+v and %+v", began, ended)
		}
		data := a.dataOf(began[0])
		if c := data.Channel; c.ID != a.channels[vigil.ChannelWebhook].ID || c.Delivery.State != "failing" ||
			c.Delivery.ConsecutiveFailures != 5 ||
			c.Delivery.LastError == nil ||
			!c.Delivery.FailingSince.Equal(epoch()) {
			t.Errorf("data %+v", data)
		}
		if c, err := a.store.Channel(t.Context(), a.org.ID, a.channels[vigil.ChannelWebhook].ID); err != nil || c.Version != version {
			t.Errorf("the channel has the version %d, %v; want %d", c.Version, err, version)
		}
	})

	t.Run("IsDownWhenADeliveryIsGivenUp", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.record(p, "http_status", nil)
		if state, _ := a.health(vigil.ChannelWebhook).Shown(); state != channelhealth.Down {
			t.Errorf("the channel is %s", state)
		}
		began, given := a.eventsOf(vigil.EventChannelFailing), a.eventsOf(vigil.EventDeliveryExhausted)
		if len(began) != 1 || a.dataOf(began[0]).Channel.Delivery.State != "down" {
			t.Errorf("events %+v", began)
		}
		if len(given) != 1 || a.dataOf(given[0]).Delivery.ID != p.Delivery.ID || !strings.Contains(given[0].Body, "one attempt") {
			t.Errorf("events %+v", given)
		}
	})

	t.Run("CountsRequestedAttemptsOnlyWhenTheySucceed", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.record(p, "http_status", nil)
		a.redeliver(p)
		a.record(a.claim(id, vigil.ChannelWebhook), "http_status", nil)
		if h := a.health(vigil.ChannelWebhook); h.State != channelhealth.Down || h.Failures != 1 {
			t.Errorf("after a failed redelivery: %+v", h)
		}
		a.redeliver(p)
		a.record(a.claim(id, vigil.ChannelWebhook), "", nil)
		if h := a.health(vigil.ChannelWebhook); h.State != channelhealth.OK || len(a.eventsOf(vigil.EventChannelRecovered)) != 1 {
			t.Errorf("after a redelivery: %+v", h)
		}
	})

	t.Run("HealsByATest", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.record(a.claim(a.open(a.fails(newark)).Incident.ID, vigil.ChannelWebhook), "http_status", nil)
		for range 2 {
			if err := a.store.ChannelReached(t.Context(), a.org.ID, a.channels[vigil.ChannelWebhook].ID, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.store.ChannelReached(t.Context(), uuid.New(), a.channels[vigil.ChannelWebhook].ID, ""); err != nil {
			t.Fatal(err)
		}
		if n := len(a.eventsOf(vigil.EventChannelRecovered)); a.health(vigil.ChannelWebhook).State != channelhealth.OK || n != 1 {
			t.Errorf("%+v after %d recoveries", a.health(vigil.ChannelWebhook), n)
		}
	})

	t.Run("IsForgottenWithItsChannel", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		id := a.open(a.fails(newark)).Incident.ID
		p := a.claim(id, vigil.ChannelWebhook)
		a.record(p, "http_status", new(epoch()))
		p = a.claim(id, vigil.ChannelWebhook)
		if _, err := a.store.DeleteChannel(t.Context(), a.org.ID, a.channels[vigil.ChannelWebhook].ID, true, nil); err != nil {
			t.Fatal(err)
		}
		a.record(p, "http_status", nil)
		if n := a.count("SELECT count(*) FROM channel_health"); n != 0 || len(a.eventsOf(vigil.EventChannelFailing)) != 0 {
			t.Errorf("%d rows are left", n)
		}
	})
}

// Outcomes of many deliveries, each recorded by several processes whose connections end at any
// time, make one event for each change.
func TestChannelEventsAreMadeOnce(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	ids := a.openOfChecks(8)
	claims := make([]vigil.NextAttempt, len(ids))
	for i, id := range ids {
		claims[i] = a.claim(id, vigil.ChannelWebhook)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var killer sync.WaitGroup
	killer.Go(func() {
		for kills := 0; kills < 20 && ctx.Err() == nil; {
			var killed int
			_ = a.store.DB().NewRaw(`SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%attempts%' AND state <> 'idle' LIMIT 1) AS s`).
				Scan(ctx, &killed)
			kills += killed
		}
	})
	record := func(code string) {
		var group sync.WaitGroup
		for i := range claims {
			for range 2 {
				group.Go(func() {
					attempt := claims[i].Attempt
					attempt.ErrorCode = code
					outcome := vigil.AttemptOutcome{Attempt: attempt, Delivered: code == ""}
					for ctx.Err() == nil {
						if _, err := a.store.RecordOutcome(ctx, outcome); err == nil {
							return
						}
					}
				})
			}
		}
		group.Wait()
	}
	record("http_status")
	stop()
	killer.Wait()
	h := a.health(vigil.ChannelWebhook)
	if h.State != channelhealth.Down || h.Failures != len(ids) {
		t.Errorf("%+v, want %d failures", h, len(ids))
	}
	if began, given := len(
		a.eventsOf(vigil.EventChannelFailing),
	), len(
		a.eventsOf(vigil.EventDeliveryExhausted),
	); began != 1 ||
		given != len(ids) {
		t.Errorf("%d and %d events, want one and %d", began, given, len(ids))
	}
	if lost := a.count("SELECT lost FROM channel_notices"); lost != len(ids) {
		t.Errorf("the mail to the owners is about %d messages, want %d", lost, len(ids))
	}
}

// A receiver is away for 80 hours: every opening that is lost is in a mail to the owners, and
// there is one mail in a day.
func TestOwnersKnowOfEveryLostOpening(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	const n = 6
	ids := a.openOfChecks(n)
	schedule, next := vigil.DefaultRetrySchedule(), make([]time.Duration, n)
	failures, lost, mailed := make([]int, n), 0, 0
	var mails []time.Duration
	mail := func(at time.Duration) {
		a.at(at)
		notices, err := a.store.ClaimChannelNotices(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, notice := range notices {
			mails, mailed = append(mails, at), mailed+notice.Lost
			if notice.ChannelID != a.channels[vigil.ChannelWebhook].ID || notice.Number != int64(len(mails)) || notice.State == channelhealth.OK {
				t.Errorf("notice %+v", notice)
			}
			if err := a.store.ChannelNoticeMailed(t.Context(), notice); err != nil {
				t.Fatal(err)
			}
			if err := a.store.ChannelNoticeMailed(t.Context(), notice); err != nil { // by another process, late
				t.Fatal(err)
			}
		}
	}
	for at := time.Duration(0); at <= 110*time.Hour; at += 5 * time.Minute {
		for i, id := range ids {
			if failures[i] > len(schedule) || next[i] > at {
				continue
			}
			a.at(at)
			p := a.claim(id, vigil.ChannelWebhook)
			if p.State != vigil.NextAttemptReady {
				t.Fatalf("the claim is %s", p.State)
			}
			failures[i]++
			wait, more := schedule.Wait(failures[i], len(schedule)+1, 0.5, 0)
			if next[i] = at + wait; !more {
				lost++
				a.record(p, "http_status", nil)
				continue
			}
			a.record(p, "http_status", new(epoch().Add(next[i])))
		}
		mail(at)
	}
	if lost != n || mailed != lost {
		t.Errorf("%d openings are lost, and the owners are mailed of %d, want %d of %d", lost, mailed, n, n)
	}
	for i := 1; i < len(mails); i++ {
		if mails[i]-mails[i-1] < 24*time.Hour {
			t.Errorf("mails after %v and %v", mails[i-1], mails[i])
		}
	}
	t.Logf("lost openings without a mail to the owners: %d of %d; mails after %v", lost-mailed, lost, mails)
}

func TestChannelNotices(t *testing.T) {
	t.Parallel()

	t.Run("AreClaimedByOne", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		a.record(a.claim(a.open(a.fails(newark)).Incident.ID, vigil.ChannelWebhook), "http_status", nil)
		var mu sync.Mutex
		var group sync.WaitGroup
		got := 0
		for range 6 {
			group.Go(func() {
				notices, err := a.store.ClaimChannelNotices(t.Context(), 10)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				got += len(notices)
			})
		}
		group.Wait()
		if got != 1 {
			t.Errorf("%d claims, want one", got)
		}
		a.at(2 * time.Minute) // the process that had it is dead
		if notices, err := a.store.ClaimChannelNotices(t.Context(), 10); err != nil || len(notices) != 1 {
			t.Errorf("%d notices after the claim, %v", len(notices), err)
		}
	})

	t.Run("KeepWhatComesWhileAMailIsSent", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		ids := a.openOfChecks(2)
		a.record(a.claim(ids[0], vigil.ChannelWebhook), "http_status", nil)
		notices, err := a.store.ClaimChannelNotices(t.Context(), 10)
		if err != nil || len(notices) != 1 || notices[0].Lost != 1 {
			t.Fatalf("notices %+v, %v", notices, err)
		}
		a.record(a.claim(ids[1], vigil.ChannelWebhook), "http_status", nil)
		if err := a.store.ChannelNoticeMailed(t.Context(), notices[0]); err != nil {
			t.Fatal(err)
		}
		a.at(24*time.Hour - time.Second)
		if early, err := a.store.ClaimChannelNotices(t.Context(), 10); err != nil || len(early) != 0 {
			t.Errorf("a second mail in a day: %+v, %v", early, err)
		}
		a.at(24 * time.Hour)
		if next, err := a.store.ClaimChannelNotices(t.Context(), 10); err != nil || len(next) != 1 || next[0].Lost != 1 || next[0].Number != 2 {
			t.Errorf("the next day: %+v, %v", next, err)
		}
	})

	t.Run("AreWithdrawnWhenTheChannelHasRecoveredWithoutALoss", func(t *testing.T) {
		t.Parallel()
		a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
		ids := a.openOfChecks(2)
		for i, id := range ids {
			for n := range 5 {
				a.failing(id, vigil.ChannelWebhook, time.Duration(10*i+n)*time.Second, time.Duration(10*i+n+1)*time.Second)
			}
			notices, err := a.store.ClaimChannelNotices(t.Context(), 10)
			if err != nil || len(notices) != 1-i {
				t.Fatalf("time %d: notices %+v, %v", i, notices, err)
			}
			for _, notice := range notices {
				if err := a.store.ChannelNoticeMailed(t.Context(), notice); err != nil {
					t.Fatal(err)
				}
			}
			a.at(time.Duration(10*i+6) * time.Second)
			a.deliver(id, vigil.ChannelWebhook)
		}
		a.at(48 * time.Hour)
		if notices, err := a.store.ClaimChannelNotices(t.Context(), 10); err != nil || len(notices) != 0 {
			t.Errorf("notices %+v, %v", notices, err)
		}
	})
}
