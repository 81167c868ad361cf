// SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/smtpdialog"
)

// link is a connection to the mail server that is ready for mail.
type link struct {
	*smtp.Client

	secured bool // by TLS
}

var (
	errNoSTARTTLS = errors.New("the server does not offer STARTTLS")
	errNoSignIn   = errors.New("the server offers no way to sign in that may be used")
	errInjected   = errors.New("the server sent more in clear after its reply to STARTTLS")
)

// connect opens a session, encrypted and signed in as the settings ask. It ends with ctx.
func (s *server) connect(ctx context.Context) (*link, error) {
	conn, err := s.dialer.DialContext(ctx, "tcp", s.address())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	one, err := s.greet(ctx, conn)
	if err == nil && s.user != "" {
		err = s.signIn(one)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return one, nil
}

// greet introduces this machine, and again after STARTTLS (RFC 3207, section 4.2).
func (s *server) greet(ctx context.Context, conn net.Conn) (*link, error) {
	helo := s.name(conn.LocalAddr())
	if s.implicit {
		return s.encrypt(ctx, conn, helo, "")
	}
	client, err := hello(conn, s.host, helo, "")
	if err != nil {
		return nil, err
	}
	offered, _ := client.Extension("STARTTLS")
	switch {
	case s.startTLS == gomail.NoTLS, !offered && s.startTLS == gomail.TLSOpportunistic:
		return &link{Client: client}, nil
	case !offered:
		return nil, errNoSTARTTLS
	}
	if _, err := client.Text.Cmd("STARTTLS"); err != nil {
		return nil, fmt.Errorf("STARTTLS: %w", err)
	}
	if _, _, err := client.Text.ReadResponse(220); err != nil {
		return nil, fmt.Errorf("STARTTLS: %w", err)
	}
	if client.Text.R.Buffered() > 0 {
		return nil, errInjected
	}
	return s.encrypt(ctx, conn, helo, "220 encrypted\r\n")
}

func (s *server) encrypt(ctx context.Context, conn net.Conn, helo, greeting string) (*link, error) {
	secure := tls.Client(conn, &tls.Config{ServerName: egress.ServerName(s.host), RootCAs: s.roots, MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("encrypt: %w", err)
	}
	client, err := hello(secure, s.host, helo, greeting)
	return &link{Client: client, secured: true}, err
}

// hello waits for the greeting, which a server does not repeat after STARTTLS, and answers it.
func hello(conn net.Conn, host, helo, greeting string) (*smtp.Client, error) {
	client, err := smtp.NewClient(folded{conn, smtpdialog.NewFolded(conn, greeting, smtpdialog.FoldKeywords)}, host)
	if err != nil {
		return nil, fmt.Errorf("greeting: %w", err)
	}
	if err := client.Hello(helo); err != nil {
		return nil, fmt.Errorf("EHLO: %w", err)
	}
	return client, nil
}

// name is that of this machine in EHLO: the setting, the machine's own where it is a full one, or the
// address that it connects from (RFC 5321, section 4.1.4).
func (s *server) name(local net.Addr) string {
	if s.helo != "" {
		return s.helo
	}
	if own, err := os.Hostname(); err == nil && strings.Contains(own, ".") && smtpdialog.ValidName(own) {
		return own
	}
	if addr, err := netip.ParseAddrPort(local.String()); err == nil {
		return smtpdialog.Literal(addr.Addr())
	}
	return "localhost.localdomain"
}

// signIn picks the strongest way that both sides know. Where the operator turned TLS off, or the
// server is this machine, the password may go in plaintext.
func (s *server) signIn(one *link) error {
	clear := !s.implicit && (s.startTLS == gomail.NoTLS || local(s.host))
	_, offered := one.Extension("AUTH")
	mechanisms := " " + offered + " "
	var way smtp.Auth
	switch open := one.secured || clear; {
	case strings.Contains(mechanisms, " SCRAM-SHA-256 "):
		way = smtp.ScramSHA256Auth(s.user, s.password)
	case open && strings.Contains(mechanisms, " PLAIN "):
		way = smtp.PlainAuth("", s.user, s.password, s.host, true)
	case open && strings.Contains(mechanisms, " LOGIN "):
		way = smtp.LoginAuth(s.user, s.password, s.host, true)
	case strings.Contains(mechanisms, " CRAM-MD5 "):
		way = smtp.CRAMMD5Auth(s.user, s.password)
	default:
		return errNoSignIn
	}
	return smtpdialog.SignIn(one.Client, way, &smtp.ServerInfo{Name: s.host, TLS: one.secured})
}

// folded is a connection on which the keywords of extensions come in upper case.
type folded struct {
	net.Conn

	lines *smtpdialog.Folded
}

func (f folded) Read(p []byte) (int, error) { return f.lines.Read(p) }
