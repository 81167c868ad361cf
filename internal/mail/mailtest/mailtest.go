// SPDX-License-Identifier: Apache-2.0

package mailtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"sync"
	"testing"
	"time"
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
	// AuthOnlyWithTLS offers AUTH after STARTTLS only, and NeedTLS takes nothing else before it
	// (reply 530).
	AuthOnlyWithTLS, NeedTLS bool
	// Command judges DATA, and as END the content that was taken: the reply to it.
	Command func(name string) error
	// LowerCase writes the keywords of EHLO in lower case.
	LowerCase bool
}

// ErrHangup of a judge makes the server end the connection without a reply.
var ErrHangup = errors.New("end the connection")

// Server is a running server.
type Server struct {
	Addr  string
	Roots *x509.CertPool // trust the server's certificate

	opts     Options
	mu       sync.Mutex
	messages []Message
	names    []string
}

// Messages returns what was accepted so far, in order.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
}

// Names returns the names that clients gave in EHLO, in order.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.names...)
}

func (s *Server) note(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, name)
}

func (s *Server) keep(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
}

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
