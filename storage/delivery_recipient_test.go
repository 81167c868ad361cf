// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// TestMailToEachOnce holds that no recipient gets the mail of a delivery twice, for all that the server
// does to the others, and that those who have not got it get it in the end.
func TestMailToEachOnce(t *testing.T) {
	t.Parallel()

	t.Run("AServerThatTakesThreeOfEight", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, mailtest.Options{})
		for reached, want := 0, []int{3, 6, 8}; len(want) > 0; want = want[1:] {
			p.judged(firstThree(451))
			d := p.attempt()
			last := p.newestAttempt(vigil.NextAttempt{Delivery: d})
			if last.Reached != want[0]-reached || last.Recipients != 8-reached || d.Failures != 0 {
				t.Errorf("attempt %+v of %+v", last, d)
			}
			reached = want[0]
			if got := statusesOf(d); got[vigil.MailDelivered] != reached || got[vigil.MailFailed] != 8-reached {
				t.Errorf("recipients %v", got)
			}
			if done := d.Status == vigil.DeliveryDelivered; done != (reached == 8) {
				t.Errorf("the delivery is %s", d.Status)
			}
			if reached == 3 && !strings.Contains(last.Error, "3 of 8 recipients have the mail") {
				t.Errorf("the attempt says %q", last.Error)
			}
		}
		p.each(1, eight()...)
		if n := p.counted(); n != 8 {
			t.Errorf("the quota counts %d mails", n)
		}
	})

	t.Run("AServerThatTakesThreeOfAConnection", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, mailtest.Options{})
		taken := 0
		p.judged(func(string) error {
			if taken++; taken%4 == 0 {
				return reply(421)
			}
			return nil
		})
		if d := p.attempt(); d.Status != vigil.DeliveryDelivered || d.Attempts != 1 {
			t.Errorf("delivery %+v", d)
		}
		p.each(1, eight()...)
	})

	t.Run("OneIsRefusedForGoodAndOneForNow", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, mailtest.Options{})
		p.judged(func(to string) error {
			switch to {
			case "Person1@example.com":
				return reply(550)
			case "Person2@example.com":
				return reply(450)
			}
			return nil
		})
		if d := p.attempt(); d.Status != vigil.DeliveryPending || statusesOf(d)[vigil.MailRefused] != 1 || statusesOf(d)[vigil.MailFailed] != 1 {
			t.Errorf("delivery %+v", d)
		}
		p.judged(nil)
		p.asked = nil
		if d := p.attempt(); d.Status != vigil.DeliveryDelivered || d.Recipients[0].StatusCode != 550 || d.Recipients[1].Attempts != 2 {
			t.Errorf("delivery %+v", d)
		}
		if !slices.Equal(p.asked, []string{"Person2@example.com"}) {
			t.Errorf("the second attempt was for %q", p.asked)
		}
		p.each(1, eight()[1:]...)
	})

	t.Run("AllAreRefusedForGoodAndTriedAgain", func(t *testing.T) {
		t.Parallel()
		p := newPost(t, mailtest.Options{})
		p.judged(func(string) error { return reply(554) })
		if d := p.attempt(); d.Status != vigil.DeliveryPending || d.Failures != 1 || statusesOf(d)[vigil.MailRefused] != 8 {
			t.Errorf("delivery %+v", d)
		}
		p.judged(nil)
		if d := p.attempt(); d.Status != vigil.DeliveryDelivered {
			t.Errorf("delivery %+v", d)
		}
		p.each(1, eight()...)
		if n := p.counted(); n != 8 {
			t.Errorf("the quota counts %d mails", n)
		}
	})

	t.Run("TheContentIsRefusedAfterItsRecipient", func(t *testing.T) {
		t.Parallel()
		n := 0
		p := newPost(t, mailtest.Options{Command: func(name string) error {
			if n++; name == "DATA" && n < 8 {
				return reply(451)
			}
			return nil
		}})
		p.attempt()
		p.attempt()
		p.each(1, eight()...)
	})

	t.Run("TheAnswerToTheContentIsLost", func(t *testing.T) {
		t.Parallel()
		n := 0
		p := newPost(t, mailtest.Options{Command: func(name string) error {
			if name == "END" {
				if n++; n == 4 {
					return mailtest.ErrHangup
				}
			}
			return nil
		}})
		d := p.attempt()
		if got := statusesOf(d); got[vigil.MailDelivered] != 7 || got[vigil.MailUnknown] != 1 || d.Status != vigil.DeliveryPending {
			t.Errorf("delivery %+v", d)
		}
		if d := p.attempt(); d.Status != vigil.DeliveryDelivered || statusesOf(d)[vigil.MailDelivered] != 8 {
			t.Errorf("delivery %+v", d)
		}
		ids := regexp.MustCompile("Message-ID: (.*)\r\n")
		got := p.server.Messages()
		if len(got) != 9 || p.copies()["Person4@example.com"] != 2 ||
			ids.FindString(got[3].Data) == "" || ids.FindString(got[3].Data) != ids.FindString(got[8].Data) {
			t.Errorf("%d mails, %v", len(got), p.copies())
		}
	})
}

// TestMailOfAProcessThatDies holds that what was sent is known when the process died before it
// stored the outcome of its attempt.
func TestMailOfAProcessThatDies(t *testing.T) {
	t.Parallel()
	p := newPost(t, mailtest.Options{})
	p.judged(firstThree(451))
	next := p.claim(p.incident, vigil.ChannelEmail)
	channel, err := p.store.Channel(t.Context(), p.org.ID, p.alerts.channels[vigil.ChannelEmail].ID)
	if err != nil {
		t.Fatal(err)
	}
	sender, err := p.channels.Parse(channel.Type, channel.Config)
	if err != nil {
		t.Fatal(err)
	}
	sender.Send(t.Context(), notify.Message{
		Event: next.Event.ID, Type: next.Event.Type, Delivery: next.Delivery.ID, Organization: p.org.ID, Attempt: 1,
		Title: "down", Body: "down", Incident: p.incident,
	})
	// One was handed over when the process died.
	p.exec("UPDATE delivery_recipients SET status = 'unknown' WHERE delivery_id = ? AND address = 'person8@example.com'", p.delivery.ID)
	p.judged(nil)
	if d := p.attempt(); d.Status != vigil.DeliveryPending || d.Failures != 1 {
		t.Errorf("the attempt without an outcome: %+v", d)
	}
	p.each(1, eight()[:3]...)
	if d := p.attempt(); d.Status != vigil.DeliveryDelivered || d.Attempts != 2 {
		t.Errorf("delivery %+v", d)
	}
	p.each(1, eight()...)
	if n := p.counted(); n != 8 {
		t.Errorf("the quota counts %d mails", n)
	}
}

// TestMailToThoseWhoAreLeft holds that recipients who were removed, or have unsubscribed, between two
// attempts are not waited for, and new ones get the mail.
func TestMailToThoseWhoAreLeft(t *testing.T) {
	t.Parallel()
	p := newPost(t, mailtest.Options{})
	p.judged(firstThree(451))
	p.attempt()
	p.judged(nil)
	p.exec("UPDATE mail_recipients SET unsubscribed_at = now() WHERE org_id = ? AND address IN ('person1@example.com', 'person4@example.com')",
		p.org.ID)
	p.to(append(eight()[:7], "New.Person@example.com")...)
	d := p.attempt()
	if got := statusesOf(d); d.Status != vigil.DeliveryDelivered || got[vigil.MailUnsubscribed] != 1 || got[vigil.MailRemoved] != 1 ||
		got[vigil.MailDelivered] != 7 {
		t.Errorf("delivery %+v", d)
	}
	p.each(1, append(slices.Concat(eight()[:3], eight()[4:7]), "New.Person@example.com")...)

	// No recipient is left who has not got it.
	p = newPost(t, mailtest.Options{})
	p.judged(firstThree(451))
	p.attempt()
	p.to(eight()[:3]...)
	if d := p.attempt(); d.Status != vigil.DeliveryDelivered {
		t.Errorf("delivery %+v", d)
	}
	p.each(1, eight()[:3]...)
}

// TestMailIsRedelivered holds that a redelivery goes to those who do not have the mail, and to
// all when each has it.
func TestMailIsRedelivered(t *testing.T) {
	t.Parallel()
	p := newPost(t, mailtest.Options{})
	p.judged(firstThree(451))
	p.attempt()
	p.judged(nil)
	p.redeliver(vigil.NextAttempt{Delivery: p.delivery})
	if d := p.attempt(); d.Status != vigil.DeliveryDelivered {
		t.Errorf("delivery %+v", d)
	}
	p.each(1, eight()...)
	p.clock.Set(p.clock.Now().Add(time.Minute))
	p.redeliver(vigil.NextAttempt{Delivery: p.delivery})
	p.attempt()
	p.each(2, eight()...)
	p.judged(func(string) error { return reply(550) })
	p.redeliver(vigil.NextAttempt{Delivery: p.delivery})
	if d := p.attempt(); d.Status != vigil.DeliveryDelivered || statusesOf(d)[vigil.MailDelivered] != 8 {
		t.Errorf("after a redelivery that failed: %+v", d)
	}
	p.each(2, eight()...)
}
