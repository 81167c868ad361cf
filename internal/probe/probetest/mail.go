// SPDX-License-Identifier: Apache-2.0

package probetest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapserver"
	"github.com/emersion/go-imap/v2/imapserver/imapmemserver"
	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Password is that of the only user of a post office, ann.
const Password = "hunter2"

// PostOffice is an SMTP server that delivers what is for ann@b.test into the
// INBOX of an IMAP server.
type PostOffice struct {
	SMTP, IMAP string        // addresses
	Delay      time.Duration // of each delivery
	Lose       bool          // messages are taken and never delivered

	tb                 testing.TB
	smtpMode, imapMode string
	user               *imapmemserver.User
	delivering         sync.WaitGroup
}

// NewPostOffice serves until the test ends. The modes are none, starttls and
// tls; a server that speaks TLS has a certificate of the authority.
func NewPostOffice(tb testing.TB, authority *Authority, smtpMode, imapMode string) *PostOffice {
	tb.Helper()
	return NewPostOfficeWith(tb, &tls.Config{Certificates: []tls.Certificate{authority.Issue(tb)}}, smtpMode, imapMode)
}

// NewPostOfficeWith is NewPostOffice with a configuration of TLS, such as one that asks for a
// certificate of the client.
func NewPostOfficeWith(tb testing.TB, secure *tls.Config, smtpMode, imapMode string) *PostOffice {
	tb.Helper()
	house := &PostOffice{tb: tb, smtpMode: smtpMode, imapMode: imapMode, user: imapmemserver.NewUser("ann", Password)}
	if err := house.user.Create("INBOX", nil); err != nil {
		tb.Fatal(err)
	}
	house.SMTP, house.IMAP = house.serveSMTP(secure), house.serveIMAP(secure, imap.CapSet{imap.CapIMAP4rev1: {}, imap.CapUIDPlus: {}})
	tb.Cleanup(house.delivering.Wait)
	return house
}

func (h *PostOffice) serveSMTP(secure *tls.Config) string {
	h.tb.Helper()
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &letterBox{office: h}, nil }))
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.Domain = "localhost"
	server.AllowInsecureAuth = h.smtpMode == "none"
	if h.smtpMode == "starttls" {
		server.TLSConfig = secure
	}
	return h.serve(secure, h.smtpMode, server.Serve, server.Close)
}

func (h *PostOffice) serveIMAP(secure *tls.Config, caps imap.CapSet) string {
	h.tb.Helper()
	memory := imapmemserver.New()
	memory.AddUser(h.user)
	options := &imapserver.Options{
		NewSession: func(*imapserver.Conn) (imapserver.Session, *imapserver.GreetingData, error) {
			return memory.NewSession(), nil, nil
		},
		Caps: caps, InsecureAuth: h.imapMode == "none", Logger: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	if h.imapMode == "starttls" {
		options.TLSConfig = secure
	}
	server := imapserver.New(options)
	return h.serve(secure, h.imapMode, server.Serve, server.Close)
}

func (h *PostOffice) serve(secure *tls.Config, mode string, serve func(net.Listener) error, stop func() error) string {
	h.tb.Helper()
	listener, err := new(net.ListenConfig).Listen(h.tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.tb.Fatal(err)
	}
	address := listener.Addr().String()
	if mode == "tls" {
		listener = tls.NewListener(listener, secure)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = serve(listener)
	}()
	h.tb.Cleanup(func() {
		_ = stop()
		<-done
	})
	return address
}

// SMTPServer is the smtp member of a config.
func (h *PostOffice) SMTPServer(password string) map[string]any {
	server := h.at(h.SMTP, map[string]any{"security": h.smtpMode})
	if h.smtpMode != "none" {
		server["username"], server["password"] = "ann", password
	}
	return server
}

// IMAPServer is the imap member of a config.
func (h *PostOffice) IMAPServer(password string) map[string]any {
	return h.at(h.IMAP, map[string]any{"security": h.imapMode, "username": "ann", "password": password})
}

// Config is that of a check of the whole way; more is added to it.
func (h *PostOffice) Config(more map[string]any) map[string]any {
	config := map[string]any{"smtp": h.SMTPServer(Password), "imap": h.IMAPServer(Password), "from": "probe@a.test", "to": "ann@b.test"}
	maps.Copy(config, more)
	return config
}

func (h *PostOffice) at(address string, more map[string]any) map[string]any {
	h.tb.Helper()
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		h.tb.Fatal(err)
	}
	more["host"], more["port"] = parsed.Addr().String(), parsed.Port()
	return more
}

// Put adds a message to the mailbox.
func (h *PostOffice) Put(message string, at time.Time) {
	h.tb.Helper()
	literal := &letter{Reader: bytes.NewReader([]byte(message))}
	if _, err := h.user.Append("INBOX", literal, &imap.AppendOptions{Time: at}); err != nil {
		h.tb.Error(err)
	}
}

// Count is how many messages the mailbox holds.
func (h *PostOffice) Count() int {
	h.tb.Helper()
	status, err := h.user.Status("INBOX", &imap.StatusOptions{NumMessages: true})
	if err != nil || status.NumMessages == nil {
		h.tb.Fatal(err)
	}
	return int(*status.NumMessages)
}

type letter struct{ *bytes.Reader }

func (l *letter) Size() int64 { return l.Reader.Size() }

// letterBox is one session with the SMTP server.
type letterBox struct {
	office *PostOffice
	known  bool
}

func (l *letterBox) AuthMechanisms() []string { return []string{sasl.Plain} }

func (l *letterBox) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "ann" || password != Password {
			return errors.New("no such user, or not with " + password)
		}
		l.known = true
		return nil
	}), nil
}

func (l *letterBox) Mail(string, *smtp.MailOptions) error {
	if !l.known && l.office.smtpMode != "none" {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (l *letterBox) Rcpt(to string, _ *smtp.RcptOptions) error {
	if to != "ann@b.test" {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such mailbox"}
	}
	return nil
}

func (l *letterBox) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil || l.office.Lose {
		return err
	}
	l.office.delivering.Go(func() {
		<-time.After(l.office.Delay)
		l.office.Put(string(text), time.Now())
	})
	return nil
}

func (l *letterBox) Reset()        {}
func (l *letterBox) Logout() error { return nil }
