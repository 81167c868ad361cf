// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/secret"
)

var _ = addFixture(fixture{
	kind: vigil.ChannelEmail, required: "config.to",
	config: func(string) map[string]any { return map[string]any{"to": []string{"ada@example.com"}} },
})

// mailer is a real mailer to a real server.
func mailer(t *testing.T, opts mailtest.Options, user string) (notify.Option, *mailtest.Server) {
	t.Helper()
	server := mailtest.Start(t, opts)
	m, err := mail.New(mail.Options{URL: "smtp://" + user + server.Addr, Dialer: loopback(), From: "alerts@vigil.test"})
	if err != nil {
		t.Fatal(err)
	}
	return notify.WithMail(m), server
}

// TestEmailConformance is the same promises over SMTP.
func TestEmailConformance(t *testing.T) {
	t.Parallel()
	config := map[string]any{"to": []string{"ada@example.com", "bob@example.com"}}

	t.Run("Delivered", func(t *testing.T) {
		t.Parallel()
		option, server := mailer(t, mailtest.Options{}, "")
		got := parse(t, registry(option), vigil.ChannelEmail, config).Send(t.Context(), message())
		if !got.Delivered() || got.Error != "" || len(server.Messages()) != 1 || len(server.Messages()[0].To) != 2 {
			t.Errorf("got %+v, %+v", got, server.Messages())
		}
	})
	t.Run("ARefusedRecipientDoesNotRepeatItForTheOthers", func(t *testing.T) {
		t.Parallel()
		option, server := mailer(t, mailtest.Options{Rcpt: func(to string) error {
			if strings.HasPrefix(to, "bob") {
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
			}
			return nil
		}}, "")
		got := parse(t, registry(option), vigil.ChannelEmail, config).Send(t.Context(), message())
		if !got.Delivered() || got.StatusCode != 550 || !strings.Contains(got.ResponseBody, "no such user") || len(server.Messages()) != 1 {
			t.Errorf("got %+v", got)
		}
	})
	for _, code := range []int{421, 451, 550, 554} {
		t.Run(fmt.Sprintf("Reply%dIsTriedAgain", code), func(t *testing.T) {
			t.Parallel()
			option, _ := mailer(t, mailtest.Options{Data: func(string) error {
				return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, 0, 0}, Message: "no"}
			}}, "")
			got := parse(t, registry(option), vigil.ChannelEmail, config).Send(t.Context(), message())
			if got.Delivered() || got.StatusCode != code || got.Permanent || got.Gone {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("OneThatHangsIsATimeout", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		m, err := mail.New(mail.Options{URL: "smtp://" + listener.Addr().String(), Dialer: loopback()})
		if err != nil {
			t.Fatal(err)
		}
		got := parse(t, registry(notify.WithMail(m), notify.WithTimeout(200*time.Millisecond)), vigil.ChannelEmail,
			config).Send(t.Context(), message())
		if got.ErrorCode != notify.CodeTimeout || got.Permanent || got.Duration > 4*time.Second {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("NoWayToSendMail", func(t *testing.T) {
		t.Parallel()
		got := parse(t, registry(), vigil.ChannelEmail, config).Send(t.Context(), message())
		if got.ErrorCode != notify.CodeConfig || !got.Permanent {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("NoSecretIsShown", func(t *testing.T) {
		t.Parallel()
		option, _ := mailer(t, mailtest.Options{User: "ada", Password: "other"}, "ada:"+pathToken+"@")
		sender := parse(t, registry(option), vigil.ChannelEmail, config)
		got := sender.Send(t.Context(), message())
		if got.ErrorCode != mail.CodeAuth || got.StatusCode != 535 || !strings.Contains(got.ResponseBody, secret.Mask) {
			t.Errorf("got %+v", got)
		}
		if shown := fmt.Sprintf("%+v %s", got, sender.Target()); strings.Contains(shown, "s3cr3t") {
			t.Errorf("a secret is shown: %s", shown)
		}
	})
	t.Run("TheMailHasTheSameIDOnEveryAttempt", func(t *testing.T) {
		t.Parallel()
		option, server := mailer(t, mailtest.Options{}, "")
		sender := parse(t, registry(option), vigil.ChannelEmail, config)
		for range 3 {
			sender.Send(t.Context(), message())
		}
		for _, one := range server.Messages() {
			if !strings.Contains(one.Data, "Message-ID: <"+message().Event.String()+"@vigil.test>") {
				t.Errorf("got %s", one.Data)
			}
		}
	})
}

func TestEmail(t *testing.T) {
	t.Parallel()

	// read returns subject, text and HTML of the only mail.
	t.Run("BothFormsOfTheSpecAreAddresses", func(t *testing.T) {
		t.Parallel()
		for target, config := range map[string]map[string]any{
			"ada@example.com":                  {"email": "ada@example.com"},
			"ada@example.com, bob@example.com": {"to": []string{"bob@example.com", "ada@example.com", "bob@example.com"}},
			"ada@example.com, eve@example.com": {"to": []string{"eve@example.com"}, "email": "ada@example.com"},
		} {
			if got := parse(t, registry(), vigil.ChannelEmail, config).Target(); got != target {
				t.Errorf("%v: got %s", config, got)
			}
		}
	})
	t.Run("OtherTextsAreRefused", func(t *testing.T) {
		t.Parallel()
		for _, address := range []string{
			"ada", "Ada <ada@example.com>", "ada@example.com\r\nRCPT TO:<eve@example.com>", `"a b"@example.com`,
			"ada@example.com,eve@example.com", "@example.com", " ada@example.com", strings.Repeat("a", 250) + "@b.test",
		} {
			for member, config := range map[string]map[string]any{"config.email": {"email": address}, "config.to": {"to": []string{address}}} {
				_, err := registry().Parse(vigil.ChannelEmail, encode(t, config))
				if text := vigil.ErrorMessage(err); !strings.HasPrefix(text, member+": ") || strings.Contains(text, "eve") {
					t.Errorf("%q: got %v", address, err)
				}
			}
		}
	})
	t.Run("SaysWhatHappenedInTextAndHTML", func(t *testing.T) {
		t.Parallel()
		option, server := mailer(t, mailtest.Options{}, "")
		parse(t, registry(option), vigil.ChannelEmail, map[string]any{"email": "ada@example.com"}).Send(t.Context(), message())
		subject, bodies := readMail(t, server)
		link := message().Variables["incident_url"]
		if subject != "Checkout API is failing" ||
			!strings.HasPrefix(bodies["text/plain"], "expected status 200, got 503") || !strings.Contains(bodies["text/plain"], link) ||
			!strings.Contains(bodies["text/html"], ">expected status 200, got 503</p>") ||
			!strings.Contains(bodies["text/html"], `href="`+link+`"`) {
			t.Errorf("got %q, %q", subject, bodies)
		}
	})
	for name, templates := range map[string]map[string]any{
		"ByDefault":     {},
		"FromTemplates": {"title_template": "{{check_name}}", "body_template": "<b>{{error_message}}</b>\n{{severity}}"},
	} {
		t.Run("HostileValuesAreText"+name, func(t *testing.T) {
			t.Parallel()
			option, server := mailer(t, mailtest.Options{}, "")
			config := maps.Clone(templates)
			config["email"] = "ada@example.com"
			parse(t, registry(option), vigil.ChannelEmail, config).Send(t.Context(), hostile())
			subject, bodies := readMail(t, server)
			if strings.ContainsAny(subject, "\r\n\x00\u2028") || !strings.Contains(subject, "Bcc: eve@example.com") {
				t.Errorf("subject: %q", subject)
			}
			if !strings.Contains(bodies["text/plain"], "<script>alert(1)</script>") {
				t.Errorf("text: %q", bodies["text/plain"])
			}
			if html := bodies["text/html"]; strings.Contains(html, "<script") || strings.Contains(html, "<b>") || strings.Contains(html, "href") ||
				!strings.Contains(html, "&lt;script&gt;alert(1)&lt;/script&gt;") {
				t.Errorf("html: %q", html)
			}
			if len(server.Messages()[0].To) != 1 {
				t.Errorf("recipients: %q", server.Messages()[0].To)
			}
		})
	}
}

// readMail returns the subject and the decoded bodies of the only mail of a server, by media type.
func readMail(t *testing.T, server *mailtest.Server) (subject string, bodies map[string]string) {
	t.Helper()
	got := server.Messages()
	if len(got) != 1 {
		t.Fatalf("%d mails", len(got))
	}
	message, err := netmail.ReadMessage(strings.NewReader(got[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	if message.Header.Get("Bcc") != "" || message.Header.Get("From") != `"Vigil" <alerts@vigil.test>` {
		t.Errorf("headers: %v", message.Header)
	}
	if subject, err = new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject")); err != nil {
		t.Fatal(err)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	bodies = make(map[string]string)
	for reader := multipart.NewReader(message.Body, params["boundary"]); ; {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return subject, bodies
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		bodies[kind] = string(body)
	}
}
