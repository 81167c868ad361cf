// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

const (
	// heloName is the probe's name in SMTP; it does not reveal the machine's name.
	heloName = "vigil.invalid"
	// subjectStart begins the subject of every message that is sent.
	subjectStart = "Vigil probe "
	// replyNeedsTLS is that of a server which takes no mail in plaintext (RFC 3207, section 4).
	replyNeedsTLS = 530
)

// send logs in to the SMTP server and, for a round trip, hands over a message
// with the marker in its subject.
func (p mailProbe) send(ctx context.Context, t *timeline, marker string, seen *MailMetadata) error {
	return limited(ctx, p.dialog, t, func(ctx context.Context) error {
		t.step("connecting to the SMTP server")
		since := time.Now()
		conn, days, err := p.connect(ctx, t, protocolSMTP, p.smtp)
		if err != nil {
			return t.smtpError(err)
		}
		seen.SMTPCertDays = days
		t.step("waiting for the SMTP server's greeting")
		client, err := smtp.NewClient(conn, p.smtp.host)
		if err != nil {
			_ = conn.Close()
			return smtpError(err)
		}
		defer func() { _ = conn.Close() }()
		if err := client.Hello(p.smtp.helo); err != nil {
			return t.smtpError(err)
		}
		seen.Phases.SMTPConnect = lap(&since)
		if p.smtp.username != "" {
			t.step("logging in to the SMTP server")
			if err := smtpdialog.SignIn(client, p.authentication(client), &smtp.ServerInfo{Name: p.smtp.host, TLS: true}); err != nil {
				return t.smtpError(err)
			}
			seen.Phases.SMTPAuth = lap(&since)
		}
		if p.roundTrip && p.smtp.username == "" && p.isPublic(conn.RemoteAddr()) {
			return fail("a round trip through a public mail server needs smtp.username and smtp.password")
		}
		if p.roundTrip {
			t.step("sending the message")
			if err := p.deliver(client, marker); err != nil {
				return p.refusal(t, err)
			}
			seen.Phases.SMTPSend = lap(&since)
		}
		_ = client.Quit()
		return nil
	})
}

// isPublic reports whether a connection leads to the public internet, where a
// server takes mail without a login for its own users, who did not ask for it.
func (p mailProbe) isPublic(remote net.Addr) bool {
	addr, err := netip.ParseAddrPort(remote.String())
	return err != nil || p.guard.IsPublic(addr.Addr())
}

// authentication chooses among what the server offers. The connection is
// secured: a config with a user name demands it.
func (p mailProbe) authentication(client *smtp.Client) smtp.Auth {
	_, offered := client.Extension("AUTH")
	mechanisms := " " + strings.ToUpper(offered) + " "
	switch {
	case strings.Contains(mechanisms, " LOGIN ") && !strings.Contains(mechanisms, " PLAIN "):
		return smtp.LoginAuth(p.smtp.username, p.smtp.password, p.smtp.host, true)
	case strings.Contains(mechanisms, " CRAM-MD5 ") && !strings.Contains(mechanisms, " PLAIN "):
		return smtp.CRAMMD5Auth(p.smtp.username, p.smtp.password)
	}
	return smtp.PlainAuth("", p.smtp.username, p.smtp.password, p.smtp.host, true)
}

func (p mailProbe) deliver(client *smtp.Client, marker string) error {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := message.From(p.config.From); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	if err := message.To(p.config.To); err != nil {
		return fmt.Errorf("to: %w", err)
	}
	message.Subject(subjectStart + marker)
	message.SetDate()
	message.SetMessageIDWithValue(marker + "@" + heloName)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(gomail.TypeTextPlain, "This message checks that mail is delivered. It is deleted when it arrives.\r\n")
	if err := smtpdialog.From(client, p.config.From); err != nil {
		return err
	}
	if err := smtpdialog.To(client, p.config.To); err != nil {
		return err
	}
	body, err := client.Data()
	if err != nil {
		return err
	}
	if _, err := message.WriteTo(body); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return body.Close()
}

// refusal words why a message was not taken.
func (p mailProbe) refusal(t *timeline, err error) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok && answer.Code == replyNeedsTLS && p.smtp.security == "none" {
		t.recorder.noteReply(err)
		return fail("the SMTP server answered %d %s: it requires STARTTLS, which security starttls uses", answer.Code, clip(answer.Msg, maxShown))
	}
	return t.smtpError(err)
}

// smtpError is smtpError that notes the answer for evidence.
func (t *timeline) smtpError(err error) error {
	t.recorder.noteReply(err)
	return smtpError(err)
}

// smtpError words what the server answered.
func smtpError(err error) error {
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return fail("the SMTP server answered %d %s", answer.Code, clip(answer.Msg, 2*maxShown))
	}
	if odd, ok := errors.AsType[textproto.ProtocolError](err); ok {
		_, line, _ := strings.Cut(string(odd), ": ")
		if bare, err := strconv.Unquote(line); err == nil {
			line = bare
		}
		return fail("the server did not answer with SMTP: it sent %q, expected a code of three digits", clip(line, maxShown))
	}
	if errors.Is(err, errTooMuch) {
		return fail("the SMTP server sent more than %d KiB", maxSessionBytes>>10)
	}
	return err
}
