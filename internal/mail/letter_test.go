// SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

// TestByTheLetter sends mails that are hard to write by the letter to a server that takes
// nothing else, in each way to connect.
func TestByTheLetter(t *testing.T) {
	t.Parallel()
	texts := map[string]mail.Message{
		"Plain":     letter(),
		"Dots":      {Subject: ".", Text: ".\n..\n.one\n\n.\n", HTML: "<p>\n.\n</p>"},
		"LongLines": {Subject: strings.Repeat("long ", 40), Text: strings.Repeat("x", 5000), HTML: strings.Repeat("ü", 5000)},
		"OneWord":   {Subject: strings.Repeat("x", 249), Text: "a"},
		"Encoded":   {Subject: strings.Repeat("Prüfung ", 30), Text: "Größe\r\nund\rmehr\n"},
		"LongLink":  {Subject: "a", Text: "b", Unsubscribe: "https://vigil.example/unsubscribe?token=" + strings.Repeat("t", 300)},
		"Empty":     {},
	}
	for name, how := range map[string]struct {
		opts  mailtest.Options
		url   string
		start func(testing.TB, mailtest.Options) *mailtest.Server
	}{
		"Clear": {mailtest.Options{}, "smtp://ADDR", mailtest.Start},
		"Lower": {mailtest.Options{StartTLS: true, NeedTLS: true, LowerCase: true}, "smtp://ADDR", mailtest.Start},
		"STARTTLS": {
			mailtest.Options{StartTLS: true, User: "ada", Password: password, AuthOnlyWithTLS: true, NeedTLS: true},
			"smtp://ada:" + password + "@ADDR?tls=mandatory", mailtest.Start,
		},
		"TLS": {
			mailtest.Options{Implicit: true, User: "ada", Password: password, LowerCase: true},
			"smtps://ada:" + password + "@ADDR", mailtest.Start,
		},
		"Library": {
			mailtest.Options{StartTLS: true, User: "ada", Password: password},
			"smtp://ada:" + password + "@ADDR", mailtest.StartLibrary,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := how.start(t, how.opts)
			m := mailer(
				t,
				mail.Options{URL: strings.ReplaceAll(how.url, "ADDR", server.Addr), From: "Vigil.Alerts@Example.com", Roots: server.Roots},
			)
			var mails []mail.Message
			for _, one := range texts {
				one.To = []string{"Ada.LOVELACE+on-call@Example.COM"}
				mails = append(mails, one)
			}
			for i, err := range m.SendEach(t.Context(), mails) {
				if err != nil {
					t.Errorf("%+v: %v", mails[i], err)
				}
			}
			got := server.Messages()
			if len(got) != len(texts) {
				t.Fatalf("%d mails of %d", len(got), len(texts))
			}
			for _, one := range got {
				if one.From != "Vigil.Alerts@Example.com" || one.To[0] != "Ada.LOVELACE+on-call@Example.COM" || one.TLS != (name != "Clear") {
					t.Errorf("from %s to %s, TLS %v", one.From, one.To, one.TLS)
				}
			}
		})
	}
}

// TestHELO holds the name that the mail server is given.
func TestHELO(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "vigil.example.com", "[192.0.2.1]", "[IPv6:2001:db8::1]"} {
		server := mailtest.Start(t, mailtest.Options{StartTLS: true})
		m := mailer(t, mail.Options{URL: "smtp://" + server.Addr, Roots: server.Roots, HELO: name})
		if err := m.Send(t.Context(), letter()); err != nil {
			t.Fatal(err)
		}
		want := name
		if own, err := os.Hostname(); want == "" && (err != nil || !strings.Contains(own, ".")) {
			want = smtpdialog.Literal(netip.MustParseAddr("127.0.0.1"))
		} else if want == "" {
			want = own
		}
		if got := server.Names(); len(got) != 2 || got[0] != want || got[1] != want { // once more after STARTTLS
			t.Errorf("%q: the server received %q", name, got)
		}
	}
	for _, name := range []string{
		"a b", "-a.example", "a..b", "[192.0.2]", "[2001:db8::1]",
		"a.example\r\nQUIT", "https://a.example", "bücher.example",
	} {
		if _, err := mail.New(mail.Options{URL: "smtp://mail.test", Dialer: elsewhere{}, HELO: name}); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

// TestNeedsSignInOrTLS holds that the two meanings of reply 530 are distinguished.
func TestNeedsSignInOrTLS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts mailtest.Options
		url  string
		part string
	}{
		"TLS":    {mailtest.Options{StartTLS: true, NeedTLS: true}, "smtp://ADDR?tls=none", "requires STARTTLS"},
		"SignIn": {mailtest.Options{User: "ada", Password: password}, "smtp://ADDR", "requires a sign-in"},
		"Words": {
			mailtest.Options{Rcpt: func(string) error { return &smtp.SMTPError{Code: 530, Message: "no"} }}, "smtp://ADDR", "requires STARTTLS",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mailtest.Start(t, c.opts)
			m := mailer(t, mail.Options{URL: strings.ReplaceAll(c.url, "ADDR", server.Addr)})
			if err := m.Send(t.Context(), letter()); err == nil || !strings.Contains(err.Error(), c.part) {
				t.Errorf("got %v, want %q", err, c.part)
			}
		})
	}
}
