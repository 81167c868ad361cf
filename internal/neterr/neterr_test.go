// SPDX-License-Identifier: Apache-2.0

package neterr_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/neterr"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	known := neterr.Exchange{Peer: "the receiver", Doing: "reading the body", Waited: "15s"}
	bare := neterr.Exchange{Peer: "the receiver"}
	at := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
	dialed := func(err error) error { return fmt.Errorf("request: %w", &net.OpError{Op: "dial", Addr: at, Err: err}) }
	_, err := egress.New(egress.Policy{}).DialContext(t.Context(), "tcp", "127.0.0.1:1")
	refusal, ok := errors.AsType[*egress.Refusal](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	for name, c := range map[string]struct {
		err               error
		code, long, short string
	}{
		"Refusal": {err, neterr.Forbidden, refusal.Error(), refusal.Error()},
		"Deadline": {
			context.DeadlineExceeded, neterr.Timeout, "timed out after 15s while reading the body", "the receiver did not answer in time",
		},
		"SocketDeadline": {
			dialed(os.ErrDeadlineExceeded),
			neterr.Timeout,
			"timed out after 15s while reading the body",
			"the receiver did not answer in time",
		},
		"SystemTimeout": {
			dialed(syscall.ETIMEDOUT),
			neterr.Timeout,
			"timed out after 15s while reading the body",
			"the receiver did not answer in time",
		},
		"NoSuchHost": {&net.DNSError{Name: "a.test", IsNotFound: true}, neterr.DNS, "no such host: a.test", "no such host: a.test"},
		"SilentDNS": {
			&net.DNSError{Name: "a.test", IsTimeout: true},
			neterr.DNS,
			"the name server did not answer for a.test",
			"the name server did not answer for a.test",
		},
		"BrokenDNS": {
			&net.DNSError{Name: "a.test"},
			neterr.DNS,
			"the name server could not resolve a.test",
			"the name server could not resolve a.test",
		},
		"Refused": {
			dialed(syscall.ECONNREFUSED),
			neterr.Refused,
			"connection refused by 192.0.2.1:80",
			"connection refused by 192.0.2.1:80",
		},
		"RefusedSomehow": {syscall.ECONNREFUSED, neterr.Refused, "connection refused", "connection refused"},
		"Reset": {
			syscall.ECONNRESET, neterr.Reset, "the connection was reset while reading the body", "the receiver reset the connection",
		},
		"Pipe": {syscall.EPIPE, neterr.Reset, "the connection was reset while reading the body", "the receiver reset the connection"},
		"NoRoute": {
			dialed(syscall.EHOSTUNREACH),
			neterr.Unreachable,
			"there is no route to 192.0.2.1:80",
			"there is no route to 192.0.2.1:80",
		},
		"NoNetwork": {syscall.ENETUNREACH, neterr.Unreachable, "there is no route", "there is no route"},
		"NoAddress": {syscall.EADDRNOTAVAIL, neterr.Unreachable, "there is no route", "there is no route"},
		"Descriptors": {
			syscall.EMFILE, neterr.Unreachable, "the worker ran out of file descriptors", "the worker ran out of file descriptors",
		},
		"End": {
			io.EOF, neterr.Reset, "the connection was closed while reading the body",
			"the receiver closed the connection without an answer",
		},
		"Closed": {
			net.ErrClosed, neterr.Reset, "the connection was closed while reading the body",
			"the receiver closed the connection without an answer",
		},
		"NotSuitable": {
			&net.AddrError{Err: "no suitable address", Addr: "a.test"},
			neterr.Unreachable,
			"the host has no suitable address",
			"the host has no suitable address",
		},
		"Other": {errors.New("secret text"), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if code, sentence := known.Explain(t.Context(), c.err); code != c.code || sentence != c.long {
				t.Errorf("got %q, %q", code, sentence)
			}
			if code, sentence := bare.Explain(t.Context(), c.err); code != c.code || sentence != c.short {
				t.Errorf("without more knowledge: %q, %q", code, sentence)
			}
		})
	}
	t.Run("OnlyHowLong", func(t *testing.T) {
		t.Parallel()
		_, sentence := (neterr.Exchange{Peer: "it", Waited: "2s"}).Explain(t.Context(), context.DeadlineExceeded)
		if sentence != "it did not answer within 2s" {
			t.Errorf("got %q", sentence)
		}
	})
	t.Run("AnEndedContextCountsMoreThanTheError", func(t *testing.T) {
		t.Parallel()
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		for exchange, want := range map[neterr.Exchange]string{known: "interrupted while reading the body", bare: "the attempt was interrupted"} {
			if code, sentence := exchange.Explain(canceled, io.EOF); code != neterr.Canceled || sentence != want {
				t.Errorf("got %q, %q", code, sentence)
			}
		}
		late, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
		defer stop()
		if code, _ := known.Explain(late, io.EOF); code != neterr.Timeout {
			t.Errorf("got %q", code)
		}
	})
}

func TestExplainTLS(t *testing.T) {
	t.Parallel()
	exchange := neterr.Exchange{Peer: "the receiver"}
	day := 24 * time.Hour
	expired := func(from, to time.Duration) error {
		return x509.CertificateInvalidError{
			Reason: x509.Expired,
			Cert:   &x509.Certificate{NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(to)},
		}
	}
	mismatch := func(names ...string) error {
		return x509.HostnameError{Host: "b.test", Certificate: &x509.Certificate{DNSNames: names}}
	}
	for want, err := range map[string]error{
		"the certificate expired on ":                           expired(-2*day, -day),
		"the certificate is not valid before ":                  expired(day, 2*day),
		"the certificate is for a.test, not for b.test":         mismatch("a.test"),
		"the certificate is for no name at all, not for b.test": mismatch(),
		"the certificate is for a, b, c and others, not for":    mismatch("a", "b", "c", "d"),
		"the certificate is for x y, not for b.test":            mismatch("x\r\ny"),
		"the certificate is signed by an unknown authority":     x509.UnknownAuthorityError{},
		"the receiver did not answer with TLS":                  tls.RecordHeaderError{},
		`the receiver did not answer with TLS, but with text that begins with "SSH-2"`: tls.RecordHeaderError{
			RecordHeader: [5]byte{'S', 'S', 'H', '-', '2'},
		},
		"the receiver ended the TLS handshake: bad certificate":    tls.AlertError(42),
		"the certificate is for " + strings.Repeat("n", 255) + ",": mismatch(strings.Repeat("n", 300)),
	} {
		code, sentence := exchange.Explain(t.Context(), fmt.Errorf("request: %w", err))
		if code != neterr.TLS || !strings.HasPrefix(sentence, want) {
			t.Errorf("got %q, %q, want %q", code, sentence, want)
		}
	}
	address := &x509.Certificate{IPAddresses: []net.IP{netip.MustParseAddr("192.0.2.1").AsSlice()}}
	_, sentence := exchange.Explain(t.Context(), x509.HostnameError{Host: "b.test", Certificate: address})
	if !strings.Contains(sentence, "for 192.0.2.1,") {
		t.Errorf("got %q", sentence)
	}
}

// TestIsTLS asks a real server that speaks plain HTTP for TLS.
func TestIsTLS(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.Replace(server.URL, "http:", "https:", 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := egress.New(egress.Policy{AllowPrivate: true}).Client(t.Context(), egress.ClientOptions{}).Do(request)
	if err == nil {
		response.Body.Close()
		t.Fatal("plain HTTP answered a TLS request")
	}
	code, _ := neterr.Exchange{}.Explain(t.Context(), err)
	if code != neterr.TLS && !neterr.IsTLS(err) {
		t.Errorf("got %q for %v", code, err)
	}
	for text, want := range map[string]bool{
		"tls: internal error":                             true,
		"http: server gave HTTP response to HTTPS client": true,
		"malformed HTTP":                                  false,
	} {
		if got := neterr.IsTLS(errors.New(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !neterr.IsTLS(&tls.CertificateVerificationError{Err: errors.New("x509: not allowed")}) {
		t.Error("a certificate that was not accepted")
	}
}
