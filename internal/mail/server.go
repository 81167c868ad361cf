// SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strconv"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/vigil-monitor/vigil/internal/redact"
	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

// server is where mail is handed over.
type server struct {
	host           string
	port           int
	user, password string
	implicit       bool // TLS from the first byte
	startTLS       gomail.TLSPolicy
	helo           string // name of the client in EHLO; empty: the machine's
	dialer         dialer
	roots          *x509.CertPool
}

// policy is how the server is asked for STARTTLS. A password goes over an
// unencrypted connection to this machine only, unless the operator insists.
func policy(setting string, s *server) (gomail.TLSPolicy, error) {
	switch {
	case setting == "mandatory", setting == "" && s.user != "" && !local(s.host):
		return gomail.TLSMandatory, nil
	case setting == "none":
		return gomail.NoTLS, nil
	case setting == "opportunistic", setting == "":
		return gomail.TLSOpportunistic, nil
	}
	return gomail.NoTLS, errors.New("mail: tls must be mandatory, opportunistic or none")
}

// session sends messages over one connection, which the first message opens.
type session struct {
	server *server
	client *link  // nil: not connected
	failed *Error // of the connection: no further message can be sent
	idle   bool   // the last message was sent whole
	sent   int    // messages that the server took
}

// end ends the connection, if there is one.
func (s *session) end() {
	if s.client == nil {
		return
	}
	if s.idle {
		_ = s.client.Quit() // the messages are theirs already
	}
	_ = s.client.Close()
}

// send sends one message. Recipients that are refused do not keep it from the others. The
// error is a *Error.
func (s *session) send(ctx context.Context, from string, to []string, message *gomail.Msg, begins func() error) error {
	if s.failed != nil {
		return s.failed
	}
	failure := s.exchange(ctx, from, to, message, begins)
	if failure == nil {
		return nil // not a nil *Error
	}
	if failure.Status == 0 || failure.Status == statusClosing {
		s.failed = failure
	}
	return failure
}

// statusClosing is the reply of a server that ends the connection (RFC 5321).
const statusClosing = 421

func (s *session) exchange(ctx context.Context, from string, to []string, message *gomail.Msg, begins func() error) *Error {
	var err error
	switch {
	case s.client == nil:
		if s.client, err = s.server.connect(ctx); err != nil {
			s.client = nil
			failure := s.server.explain(ctx, err, s.server.implicit)
			s.failed = failure
			return failure
		}
	case !s.idle:
		if err := s.client.Reset(); err != nil {
			return s.server.explain(ctx, err, s.client.secured)
		}
	}
	s.idle = false
	if err := smtpdialog.From(s.client.Client, from); err != nil {
		return s.server.explain(ctx, err, s.client.secured)
	}
	accepted, refusal := 0, error(nil)
	for _, recipient := range to {
		switch err := smtpdialog.To(s.client.Client, recipient); {
		case err == nil:
			accepted++
		case status(err) == 0:
			return s.server.explain(ctx, err, s.client.secured) // the connection, not the recipient
		case refusal == nil || status(err) < status(refusal):
			refusal = err // one that may pass counts more than one that will not
		}
	}
	if accepted == 0 {
		return s.refused(ctx, refusal)
	}
	if err := begins(); err != nil {
		return &Error{Code: CodeFailed, Message: "the mail was not sent, since that could not be stored"}
	}
	if unknown, err := transfer(s.client.Client, message); err != nil {
		failure := s.refused(ctx, err)
		if failure.Unknown = unknown && failure.Status == 0; failure.Unknown {
			failure.Message += "; the mail was handed over, and may have been taken"
		}
		return failure
	}
	s.idle = true
	s.sent++
	if refusal == nil {
		return nil
	}
	failure := s.refused(ctx, refusal)
	failure.Accepted = accepted
	failure.Message = fmt.Sprintf("the mail server refused %d of %d recipients with status %d", len(to)-accepted, len(to), failure.Status)
	return failure
}

// refused explains a reply about the recipients or the content.
func (s *session) refused(ctx context.Context, err error) *Error {
	failure := s.server.explain(ctx, err, s.client.secured)
	failure.Refused = failure.Code == CodeRejected && failure.Status >= statusPermanent
	return failure
}

// statusPermanent is the first reply code for good (RFC 5321, section 4.2.1).
const statusPermanent = 500

// transfer sends the content. The message counts as sent when the server says so after its
// end; without a reply to that it is unknown whether it was taken.
func transfer(client *smtp.Client, message *gomail.Msg) (unknown bool, err error) {
	data, err := client.Data()
	if err != nil {
		return false, fmt.Errorf("data: %w", err)
	}
	if _, err := message.WriteTo(data); err != nil {
		return false, fmt.Errorf("content: %w", err) // not closed: a part of a message must not look whole
	}
	if err := data.Close(); err != nil {
		return true, fmt.Errorf("end of content: %w", err)
	}
	return false, nil
}

// status is the reply code inside an error, or 0 when the server gave none.
func status(err error) int {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		return reply.Code
	}
	return 0
}

// address is the server for people.
func (s *server) address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// redact removes the password from a server's reply, in plaintext and as the
// mechanisms of SMTP encode it.
func (s *server) redact(text string) string {
	if s.password == "" {
		return text
	}
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return redact.New(s.password, encode(s.password), encode("\x00"+s.user+"\x00"+s.password)).Text(text)
}
