// SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"mime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
)

func TestSendEach(t *testing.T) {
	t.Parallel()
	to := func(addresses ...string) []mail.Message {
		mails := make([]mail.Message, len(addresses))
		for i, address := range addresses {
			mails[i] = letter()
			mails[i].To = []string{address}
		}
		return mails
	}

	t.Run("OneThatIsRefusedKeepsNoneOfTheOthers", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{
			Rcpt: func(to string) error {
				if strings.HasPrefix(to, "bob") {
					return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
				}
				return nil
			},
		})
		m := mailer(t, mail.Options{URL: "smtp://" + server.Addr, From: "vigil@example.com"})
		errs := m.SendEach(t.Context(), to("ada@example.com", "bob@example.com", "not an address", "eve@example.com"))
		if errs[0] != nil || failure(t, errs[1]).Status != 550 || failure(t, errs[2]).Code != mail.CodeRejected || errs[3] != nil {
			t.Errorf("got %v", errs)
		}
		got := server.Messages()
		if len(got) != 2 || got[0].To[0] != "ada@example.com" || got[1].To[0] != "eve@example.com" {
			t.Errorf("messages %+v", got)
		}
	})

	t.Run("AServerThatClosesAgainFailsTheRest", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int64
		server := mailtest.Start(t, mailtest.Options{
			Rcpt: func(string) error {
				if asked.Add(1) > 1 {
					return &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2}, Message: "closing"}
				}
				return nil
			},
		})
		m := mailer(t, mail.Options{URL: "smtp://" + server.Addr, From: "vigil@example.com"})
		errs := m.SendEach(t.Context(), to("ada@example.com", "bob@example.com", "eve@example.com"))
		if errs[0] != nil || failure(t, errs[1]).Status != 421 || failure(t, errs[2]).Status != 421 || asked.Load() != 3 {
			t.Errorf("got %v after %d recipients", errs, asked.Load())
		}
	})

	t.Run("UnsubscribeHeadersAreThoseOfRFC8058", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{})
		m := mailer(t, mail.Options{URL: "smtp://" + server.Addr, From: "vigil@example.com"})
		one := letter()
		one.Unsubscribe = "https://vigil.example/unsubscribe?token=x\r\nBcc: eve@example.com"
		if err := m.Send(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		header, _ := parts(t, server.Messages()[0].Data)
		if header.Get("List-Unsubscribe") != "<https://vigil.example/unsubscribe?token=x Bcc: eve@example.com>" ||
			header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" || header.Get("Bcc") != "" {
			t.Errorf("headers %v", header)
		}
	})
}

// TestSubjectsAreNoEncodedWords holds that a subject is shown as it was written, and not as
// the text that an encoded word in it stands for.
func TestSubjectsAreNoEncodedWords(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Options{})
	m := mailer(t, mail.Options{URL: "smtp://" + server.Addr, From: "vigil@example.com"})
	for i, subject := range []string{
		"=?utf-8?q?Your_account_is_locked?=", "api =?utf-8?b?aGVsbG8=?= failing", strings.Repeat("=?utf-8?q?=C3=A9?= ", 12) + "end",
		"Prüfung =?x",
	} {
		one := letter()
		one.Subject = subject
		if err := m.Send(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		header, _ := parts(t, server.Messages()[i].Data)
		if got, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject")); err != nil || got != subject {
			t.Errorf("%q is read as %q, %v", subject, got, err)
		}
	}
}
