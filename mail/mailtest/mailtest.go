// Package mailtest runs a real SMTP server on loopback for tests.
package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Message is what the server accepted.
type Message struct {
	From string
	To   []string
	Data string
	TLS  bool   // it came over an encrypted connection
	User string // who signed in; empty without a sign-in
}

// Options say how the server behaves.
type Options struct {
	// User and Password must be given when User is not empty.
	User, Password string
	// StartTLS offers STARTTLS; Implicit speaks TLS from the first byte.
	StartTLS, Implicit bool
	// Rcpt and Data judge; their errors are sent to the client. A
	// *smtp.SMTPError is sent as it is.
	Rcpt func(to string) error
	Data func(data string) error
}

// Server is a running server.
type Server struct {
	Addr  string
	Roots *x509.CertPool // trust the server's certificate

	opts     Options
	mu       sync.Mutex
	messages []Message
}

// Start runs a server until the test ends.
func Start(tb testing.TB, opts Options) *Server {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{Addr: listener.Addr().String(), opts: opts}
	server := smtp.NewServer(s)
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

// Messages returns what was accepted so far, in order.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// NewSession is called by the server for each connection.
func (s *Server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &session{server: s, conn: c}, nil
}

type session struct {
	server  *Server
	conn    *smtp.Conn
	user    string
	message Message
}

func (s *session) AuthMechanisms() []string {
	if s.server.opts.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != s.server.opts.User || password != s.server.opts.Password {
			// What a careless server says.
			return &smtp.SMTPError{Code: 535, EnhancedCode: smtp.EnhancedCode{5, 7, 8}, Message: "wrong password " + password}
		}
		s.user = user
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.opts.User != "" && s.user == "" {
		return smtp.ErrAuthRequired
	}
	_, encrypted := s.conn.TLSConnectionState()
	s.message = Message{From: from, TLS: encrypted, User: s.user}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if s.server.opts.Rcpt != nil {
		if err := s.server.opts.Rcpt(to); err != nil {
			return err
		}
	}
	s.message.To = append(s.message.To, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
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
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.messages = append(s.server.messages, s.message)
	return nil
}

func (s *session) Reset()        { s.message = Message{} }
func (s *session) Logout() error { return nil }

// certificate makes a certificate for 127.0.0.1 and localhost.
func certificate(tb testing.TB) (*tls.Config, *x509.CertPool) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now() //nolint:forbidigo // a certificate that is valid now
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "mail.test"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		tb.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, roots
}
