// SPDX-License-Identifier: Apache-2.0

package mailtest

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// StartLibrary runs the server of a library until the test ends: a second opinion. It knows the
// options up to Data.
func StartLibrary(tb testing.TB, opts Options) *Server {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Addr: listener.Addr().String(), opts: opts}
	server := smtp.NewServer(backend{s})
	server.Domain = "mail.test"
	server.AllowInsecureAuth = true
	config, roots := certificate(tb)
	s.Roots = roots
	switch {
	case opts.Implicit:
		listener = tls.NewListener(listener, config)
	case opts.StartTLS:
		server.TLSConfig = config
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	tb.Cleanup(func() {
		_ = listener.Close() // a server that does not serve yet does not close it
		_ = server.Close()
		<-done
	})
	return s
}

// backend makes the sessions of the library.
type backend struct{ *Server }

// NewSession is called by the server for each connection.
func (s backend) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &librarySession{server: s.Server, conn: c}, nil
}

type librarySession struct {
	server  *Server
	conn    *smtp.Conn
	user    string
	message Message
}

func (s *librarySession) AuthMechanisms() []string {
	if s.server.opts.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *librarySession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != s.server.opts.User || password != s.server.opts.Password {
			// What a careless server says.
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong password " + password}
		}
		s.user = user
		return nil
	}), nil
}

func (s *librarySession) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.opts.User != "" && s.user == "" {
		return smtp.ErrAuthRequired
	}
	_, encrypted := s.conn.TLSConnectionState()
	s.message = Message{From: from, TLS: encrypted, User: s.user}
	return nil
}

func (s *librarySession) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.server.opts.Rcpt != nil {
		if err := s.server.opts.Rcpt(to); err != nil {
			return err
		}
	}
	s.message.To = append(s.message.To, to)
	return nil
}

func (s *librarySession) Data(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return errors.New("message cut short")
	}
	if s.server.opts.Data != nil {
		if err := s.server.opts.Data(string(data)); err != nil {
			return err
		}
	}
	s.message.Data = string(data)
	s.server.keep(s.message)
	return nil
}

func (s *librarySession) Reset()        { s.message = Message{} }
func (s *librarySession) Logout() error { return nil }
