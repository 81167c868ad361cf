// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// mailPolicy answers for the store, whose own tests are in storage and api.
type mailPolicy struct {
	admission account.MailAdmission
	err       error
	asked     []string
	again     []string
	begun     []string
	beginErr  error
	ended     []vigil.DeliveryRecipient
}

func (p *mailPolicy) AdmitMail(context.Context, uuid.UUID, uuid.UUID, []string, bool) (account.MailAdmission, error) {
	return p.admission, p.err
}

func (p *mailPolicy) BeginMail(_ context.Context, _ uuid.UUID, address string) error {
	p.begun = append(p.begun, address)
	return p.beginErr
}

func (p *mailPolicy) EndMail(_ context.Context, _ uuid.UUID, outcome vigil.DeliveryRecipient) error {
	p.ended = append(p.ended, outcome)
	return nil
}

func (p *mailPolicy) AskRecipients(_ context.Context, _ uuid.UUID, addresses []string) ([]account.Confirmation, error) {
	p.asked = append(p.asked, addresses...)
	links := make([]account.Confirmation, len(addresses))
	for i, address := range addresses {
		links[i] = account.Confirmation{Address: address, Token: "token", Organization: "see https://evil.example"}
	}
	return links, nil
}

func (p *mailPolicy) AskAgain(_ context.Context, _ uuid.UUID, address string) error {
	p.again = append(p.again, address)
	return nil
}

func recipientsOf(addresses ...string) []account.MailRecipient {
	list := make([]account.MailRecipient, len(addresses))
	for i, address := range addresses {
		list[i] = account.MailRecipient{Address: address, UnsubscribeToken: "token-of-" + address}
	}
	return list
}

func TestRecipients(t *testing.T) {
	t.Parallel()
	config := map[string]any{"to": []string{"ada@example.com", "bob@example.com"}}
	send := func(t *testing.T, policy *mailPolicy, opts mailtest.Options) (notify.Outcome, []mailtest.Message) {
		t.Helper()
		option, server := mailer(t, opts, "")
		sender := parse(t, registry(option, notify.WithRecipients(policy, "https://vigil.test")), vigil.ChannelEmail, config)
		return sender.Send(t.Context(), message()), server.Messages()
	}
	refuse := func(code int) mailtest.Options {
		return mailtest.Options{Rcpt: func(to string) error {
			if strings.HasPrefix(to, "bob") {
				return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 0, 0}, Message: "no"}
			}
			return nil
		}}
	}
	both := account.MailAdmission{Recipients: recipientsOf("ada@example.com", "bob@example.com")}

	t.Run("EachGetsItsOwnMailAndLink", func(t *testing.T) {
		t.Parallel()
		got, mails := send(t, &mailPolicy{admission: both}, mailtest.Options{})
		if !got.Delivered() || len(mails) != 2 {
			t.Fatalf("got %+v, %+v", got, mails)
		}
		for _, one := range mails {
			// The whole address is looked for, since "ada" alone stands in a hexadecimal boundary now and then.
			data := strings.ReplaceAll(one.Data, "=\r\n", "")
			names := map[string][2]string{"ada@example.com": {"ada", "bob"}, "bob@example.com": {"bob", "ada"}}[one.To[0]]
			if len(one.To) != 1 || !strings.Contains(data, "token-of-"+names[0]+"%40example.com") ||
				strings.Contains(data, names[1]+"%40") || strings.Contains(data, names[1]+"@") {
				t.Errorf("mail to %v: %s", one.To, one.Data)
			}
		}
	})
	t.Run("OneThatIsRefusedForGoodIsNotTriedAgain", func(t *testing.T) {
		t.Parallel()
		if got, mails := send(t, &mailPolicy{admission: both}, refuse(550)); !got.Delivered() || got.StatusCode != 550 || len(mails) != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OneThatIsRefusedForNowIsTriedAgain", func(t *testing.T) {
		t.Parallel()
		if got, _ := send(t, &mailPolicy{admission: both}, refuse(451)); got.Delivered() || got.Permanent || got.StatusCode != 451 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("WithoutAConfirmedRecipientItWaitsAndTheyAreAsked", func(t *testing.T) {
		t.Parallel()
		policy := &mailPolicy{
			admission: account.MailAdmission{Unverified: true, Pending: []string{"ada@example.com", "bob@example.com"}},
		}
		got, mails := send(t, policy, refuse(451))
		if got.ErrorCode != notify.CodeUnconfirmed || got.Permanent {
			t.Errorf("got %+v", got)
		}
		if len(mails) != 1 || !strings.Contains(mails[0].Data, "/confirm-recipient?token") ||
			strings.Contains(mails[0].Data, "evil.example") {
			t.Errorf("mails %+v", mails)
		}
		if !slices.Equal(policy.asked, []string{"ada@example.com", "bob@example.com"}) ||
			!slices.Equal(policy.again, []string{"bob@example.com"}) {
			t.Errorf("asked %v, again %v", policy.asked, policy.again)
		}
	})
	t.Run("RecipientsWhoUnsubscribedAreNotAsked", func(t *testing.T) {
		t.Parallel()
		policy := &mailPolicy{}
		got, mails := send(t, policy, mailtest.Options{})
		if got.ErrorCode != notify.CodeUnconfirmed || !got.Permanent || len(mails) != 0 || policy.asked != nil {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("AUsedUpQuotaIsTriedAgainWhenItEnds", func(t *testing.T) {
		t.Parallel()
		admission := both
		admission.Wait = 7 * time.Minute
		got, mails := send(t, &mailPolicy{admission: admission}, mailtest.Options{})
		if got.ErrorCode != notify.CodeQuota || got.Permanent || got.RetryAfter != 7*time.Minute || len(mails) != 0 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("WithoutAnAnswerOfTheStoreNothingIsSent", func(t *testing.T) {
		t.Parallel()
		got, mails := send(t, &mailPolicy{err: errors.New("away")}, mailtest.Options{})
		if got.ErrorCode != notify.CodeUnavailable || got.Permanent || len(mails) != 0 {
			t.Errorf("got %+v", got)
		}
	})
}
