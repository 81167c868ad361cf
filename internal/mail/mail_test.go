// SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

const password = "correct-horse-battery"

func letter() mail.Message {
	return mail.Message{
		To: []string{"ada@example.com"}, Subject: "Prüfung", Text: "Line one\nGrüße", HTML: "<p>Line &lt;one&gt;</p>",
		ID: "event-1", Thread: "incident-1",
	}
}

func mailer(t *testing.T, opts mail.Options) *mail.Mailer {
	t.Helper()
	if opts.Dialer == nil {
		opts.Dialer = egress.New(egress.Policy{AllowPrivate: true})
	}
	m, err := mail.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func failure(t *testing.T, err error) *mail.Error {
	t.Helper()
	f, ok := errors.AsType[*mail.Error](err)
	if !ok {
		t.Fatalf("not a mail error: %v", err)
	}
	return f
}

// parts returns the decoded bodies of a message by media type.
func parts(t *testing.T, raw string) (netmail.Header, map[string]string) {
	t.Helper()
	message, err := netmail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if kind != "multipart/alternative" {
		t.Fatalf("message is %s", kind)
	}
	found := make(map[string]string)
	reader := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return message.Header, found
		}
		if err != nil {
			t.Fatal(err)
		}
		if encoding := part.Header.Get("Content-Transfer-Encoding"); encoding != "quoted-printable" {
			t.Fatalf("part is encoded as %s", encoding)
		}
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := mime.ParseMediaType(part.Header.Get("Content-Type"))
		found[kind] = strings.ReplaceAll(string(body), "\r\n", "\n")
	}
}

func TestSend(t *testing.T) {
	t.Parallel()

	t.Run("TextAndHTMLArriveWithAStableID", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{})
		m := mailer(t, mail.Options{URL: "smtp://" + server.Addr, From: "alerts@vigil.test"})
		for range 2 {
			if err := m.Send(t.Context(), letter()); err != nil {
				t.Fatal(err)
			}
		}
		got := server.Messages()
		if len(got) != 2 || got[0].From != "alerts@vigil.test" || got[0].To[0] != "ada@example.com" || got[0].TLS {
			t.Fatalf("got %+v", got)
		}
		var ids []string
		for _, one := range got {
			header, bodies := parts(t, one.Data)
			ids = append(ids, header.Get("Message-ID"))
			subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
			if err != nil || subject != "Prüfung" || header.Get("Auto-Submitted") != "auto-generated" ||
				header.Get("References") != "<incident-1@vigil.test>" {
				t.Errorf("headers: %v", header)
			}
			if bodies["text/plain"] != "Line one\nGrüße" || bodies["text/html"] != "<p>Line &lt;one&gt;</p>" {
				t.Errorf("bodies: %q", bodies)
			}
		}
		if ids[0] != "<event-1@vigil.test>" || ids[0] != ids[1] {
			t.Errorf("ids: %q", ids)
		}
	})

	t.Run("StartTLSIsUsedWhereOffered", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{StartTLS: true, User: "ada", Password: password})
		m := mailer(t, mail.Options{URL: "smtp://ada:" + password + "@" + server.Addr + "?tls=mandatory&from=a@b.test", Roots: server.Roots})
		if err := m.Send(t.Context(), letter()); err != nil {
			t.Fatal(err)
		}
		if got := server.Messages(); len(got) != 1 || !got[0].TLS || got[0].User != "ada" || got[0].From != "a@b.test" {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("TLSFromTheFirstByte", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{Implicit: true, User: "ada@vigil.test", Password: password})
		m := mailer(t, mail.Options{URL: "smtps://ada%40vigil.test:" + password + "@" + server.Addr, Roots: server.Roots})
		if err := m.Send(t.Context(), letter()); err != nil {
			t.Fatal(err)
		}
		if got := server.Messages(); len(got) != 1 || !got[0].TLS || got[0].From != "ada@vigil.test" {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("APasswordGoesInClearOnThisMachineOnly", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{User: "ada", Password: password})
		m := mailer(t, mail.Options{URL: "smtp://ada:" + password + "@" + server.Addr})
		if err := m.Send(t.Context(), letter()); err != nil {
			t.Fatal(err)
		}
		away := elsewhere{server.Addr}
		m = mailer(t, mail.Options{URL: "smtp://ada:" + password + "@mail.example.com", Dialer: away})
		if f := failure(t, m.Send(t.Context(), letter())); f.Code != mail.CodeTLS {
			t.Errorf("got %+v", f)
		}
		if got := server.Messages(); len(got) != 1 {
			t.Errorf("got %+v", got)
		}
	})

	t.Run("ARefusedRecipientDoesNotKeepItFromTheOthers", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{Rcpt: func(to string) error {
			if strings.HasPrefix(to, "gone@") {
				return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user"}
			}
			return nil
		}})
		m := mailer(t, mail.Options{URL: "smtp://" + server.Addr})
		mixed := letter()
		mixed.To = []string{"gone@example.com", "ada@example.com", "bob@example.com"}
		f := failure(t, m.Send(t.Context(), mixed))
		if !f.Final() || f.Accepted != 2 || f.Status != 550 || !strings.Contains(f.Reply, "no such user") {
			t.Errorf("got %+v", f)
		}
		if got := server.Messages(); len(got) != 1 || len(got[0].To) != 2 {
			t.Errorf("got %+v", got)
		}
		mixed.To = mixed.To[:1]
		if f := failure(t, m.Send(t.Context(), mixed)); f.Final() || f.Accepted != 0 || f.Code != mail.CodeRejected {
			t.Errorf("got %+v", f)
		}
	})

	t.Run("HeadersCannotBeInjected", func(t *testing.T) {
		t.Parallel()
		server := mailtest.Start(t, mailtest.Options{})
		m := mailer(t, mail.Options{URL: "smtp://" + server.Addr})
		evil := letter()
		evil.Subject = "hello\r\nBcc: eve@example.com\r\n\r\nbody\x00\u2028x"
		evil.ID, evil.Thread = "a>\r\nX-Evil: 1", "b\nX-Evil: 2"
		evil.Text = "one\r\n.\r\nMAIL FROM:<eve@example.com>\r\n"
		if err := m.Send(t.Context(), evil); err != nil {
			t.Fatal(err)
		}
		got := server.Messages()
		header, bodies := parts(t, got[0].Data)
		if len(got) != 1 || header.Get("Bcc") != "" || header.Get("X-Evil") != "" || len(got[0].To) != 1 {
			t.Errorf("got %+v", header)
		}
		if !strings.Contains(header.Get("Subject"), "hello Bcc: eve") || !strings.Contains(bodies["text/plain"], "MAIL FROM") {
			t.Errorf("got %q, %q", header.Get("Subject"), bodies)
		}
		evil.To = []string{"ada@example.com>\r\nRCPT TO:<eve@example.com"}
		if f := failure(t, m.Send(t.Context(), evil)); f.Code != mail.CodeRejected || strings.Contains(f.Message, "eve") {
			t.Errorf("got %+v", f)
		}
	})
}

// elsewhere leads every dial to one address.
type elsewhere struct{ addr string }

func (e elsewhere) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, e.addr)
}

func TestSendFailures(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name  string
		opts  mailtest.Options
		url   string // with ADDR
		roots bool
		code  string
		state int
	}{
		{"WrongPassword", mailtest.Options{User: "ada", Password: "other"}, "smtp://ada:" + password + "@ADDR", false, mail.CodeAuth, 535},
		{"NoSignInOffered", mailtest.Options{}, "smtp://ada:" + password + "@ADDR", false, mail.CodeAuth, 0},
		{"SignInNeeded", mailtest.Options{User: "ada", Password: password}, "smtp://ADDR", false, mail.CodeAuth, 530},
		{"ContentRejected", mailtest.Options{Data: func(string) error {
			return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "looks like spam"}
		}}, "smtp://ADDR", false, mail.CodeRejected, 554},
		{"TryLater", mailtest.Options{Rcpt: func(string) error {
			return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 7, 1}, Message: "greylisted"}
		}}, "smtp://ADDR", false, mail.CodeRejected, 451},
		{"StartTLSNeeded", mailtest.Options{StartTLS: true, NeedTLS: true}, "smtp://ADDR?tls=none", false, mail.CodeTLS, 530},
		{"StartTLSNotOffered", mailtest.Options{}, "smtp://ADDR?tls=mandatory", false, mail.CodeTLS, 0},
		{"UnknownAuthority", mailtest.Options{StartTLS: true}, "smtp://ADDR", false, mail.CodeTLS, 0},
		{"UnknownAuthorityFromTheFirstByte", mailtest.Options{Implicit: true}, "smtps://ADDR", false, mail.CodeTLS, 0},
		{"PlainServerUnderTLS", mailtest.Options{}, "smtps://ADDR", true, mail.CodeTLS, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			start := mailtest.Start
			if test.name == "PlainServerUnderTLS" {
				start = mailtest.StartLibrary // a handshake is no SMTP
			}
			server := start(t, test.opts)
			var log bytes.Buffer
			opts := mail.Options{URL: strings.ReplaceAll(test.url, "ADDR", server.Addr), Log: slog.New(slog.NewTextHandler(&log, nil))}
			if test.roots {
				opts.Roots = server.Roots
			}
			f := failure(t, mailer(t, opts).Send(t.Context(), letter()))
			if f.Code != test.code || f.Status != test.state || f.Accepted != 0 || f.Final() {
				t.Errorf("got %+v", f)
			}
			if shown := f.Message + f.Reply + log.String(); strings.Contains(shown, password) {
				t.Errorf("the password is shown: %s", shown)
			}
			if len(server.Messages()) != 0 {
				t.Errorf("got %+v", server.Messages())
			}
		})
	}

	// Servers that stop at some point; the caller's deadline ends it.
	for _, test := range []struct {
		name string
		talk func(net.Conn)
		code string
	}{
		{"NoGreeting", func(net.Conn) {}, mail.CodeTimeout},
		{"GreetingByteByByte", func(c net.Conn) {
			for {
				if _, err := c.Write([]byte("2")); err != nil {
					return
				}
				time.Sleep(time.Millisecond)
			}
		}, mail.CodeTimeout},
		{"HangsAfterTheGreeting", func(c net.Conn) { _, _ = c.Write([]byte("220 hello\r\n")) }, mail.CodeTimeout},
		{"EndsTheConnection", func(c net.Conn) { _ = c.Close() }, mail.CodeReset},
		{"IsNoMailServer", func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")) }, mail.CodeFailed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			addr := listen(t, test.talk)
			patience := time.Minute // those end by themselves, if late on a busy machine
			if test.code == mail.CodeTimeout {
				patience = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			f := failure(t, mailer(t, mail.Options{URL: "smtp://" + addr}).Send(ctx, letter()))
			if f.Code != test.code {
				t.Errorf("got %+v", f)
			}
		})
	}

	t.Run("NoServerListens", func(t *testing.T) {
		t.Parallel()
		f := failure(t, mailer(t, mail.Options{URL: "smtp://" + probetest.ClosedPort(t)}).Send(t.Context(), letter()))
		if f.Code != mail.CodeRefused {
			t.Errorf("got %+v", f)
		}
	})

	t.Run("TheGuardRefuses", func(t *testing.T) {
		t.Parallel()
		m := mailer(t, mail.Options{URL: "smtp://127.0.0.1:2525", Dialer: egress.New(egress.Policy{})})
		if f := failure(t, m.Send(t.Context(), letter())); f.Code != mail.CodeUnreachable || !strings.Contains(f.Message, egress.Setting) {
			t.Errorf("got %+v", f)
		}
	})

	t.Run("TheCallerGivesUp", func(t *testing.T) {
		t.Parallel()
		addr := listen(t, func(net.Conn) {})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if f := failure(t, mailer(t, mail.Options{URL: "smtp://" + addr}).Send(ctx, letter())); f.Code != mail.CodeCanceled {
			t.Errorf("got %+v", f)
		}
	})
}

// listen runs a server that talks first and then only listens.
func listen(t *testing.T, talk func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	probetest.Serve(t, listener, func(conn net.Conn) {
		talk(conn)
		_, _ = io.Copy(io.Discard, conn)
	})
	return listener.Addr().String()
}
