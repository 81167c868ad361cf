package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"vigil"
	"vigil/egress"
	"vigil/redact"
)

const maxReason = 500 // bytes of an explanation

// verdict is a failure that is already a sentence for people.
type verdict string

func (v verdict) Error() string { return string(v) }

func fail(format string, args ...any) error { return verdict(fmt.Sprintf(format, args...)) }

// explain turns an error into a sentence for people. Nothing of a URL but its
// host appears in it.
func explain(ctx context.Context, t *timeline, err error) string {
	if told, ok := errors.AsType[verdict](err); ok {
		return string(told)
	}
	if refusal, ok := errors.AsType[*egress.Refusal](err); ok {
		return refusal.Error()
	}
	elapsed := time.Since(t.began)
	if own, ok := errors.AsType[expiry](context.Cause(ctx)); ok {
		elapsed = time.Duration(own) // not what a busy machine made of it
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "interrupted while " + t.doing()
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "timed out after " + humanDuration(elapsed) + " while " + t.doing()
	}
	// QUIC wraps a bad certificate in an error that is also a closed connection.
	if sentence := explainTLS(err); sentence != "" {
		return sentence
	}
	if sentence := explainNetwork(t, err); sentence != "" {
		return sentence
	}
	// The URL around an HTTP client's error holds path and query.
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return explainHTTP(err)
}

func explainNetwork(t *timeline, err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case dns.IsNotFound:
			return "no such host: " + dns.Name
		case dns.IsTimeout:
			return "the name server did not answer for " + dns.Name
		}
		return "the name server could not resolve " + dns.Name
	}
	peer := ""
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		peer = op.Addr.String()
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return strings.TrimSuffix("connection refused by "+peer, " by ")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset while " + t.doing()
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return strings.TrimSuffix("there is no route to "+peer, " to ")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "the worker ran out of file descriptors"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "the connection was closed while " + t.doing()
	}
	if _, ok := errors.AsType[*net.AddrError](err); ok {
		return "the host has no suitable address"
	}
	return ""
}

func explainTLS(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired && invalid.Cert != nil {
		if time.Now().Before(invalid.Cert.NotBefore) {
			return "the certificate is not valid before " + invalid.Cert.NotBefore.UTC().Format(time.RFC3339)
		}
		return "the certificate expired on " + invalid.Cert.NotAfter.UTC().Format(time.RFC3339)
	}
	if host, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("the certificate is for %s, not for %s", names(host.Certificate), host.Host)
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the certificate is signed by an unknown authority"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server did not answer with TLS"
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return "the server ended the TLS handshake: " + strings.TrimPrefix(alert.Error(), "tls: ")
	}
	return ""
}

// names lists a few of the names that a certificate is for.
func names(certificate *x509.Certificate) string {
	all := append([]string{}, certificate.DNSNames...)
	for _, ip := range certificate.IPAddresses {
		all = append(all, ip.String())
	}
	switch {
	case len(all) == 0:
		return "no name at all"
	case len(all) > 3:
		return strings.Join(all[:3], ", ") + " and others"
	}
	return strings.Join(all, ", ")
}

// explainHTTP words what the HTTP client finds wrong. Its errors quote what the
// server sent; the causes are few, and are named without.
func explainHTTP(err error) string {
	for _, known := range []error{egress.ErrTooManyRedirects, egress.ErrRedirectScheme, egress.ErrRedirectBody} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	text := err.Error()
	for _, known := range [...][2]string{
		{"response headers exceeded", fmt.Sprintf("the headers of the answer exceed %d KiB", egress.MaxHeaderBytes>>10)},
		{"too many 1xx", "the server sent too many interim answers"},
		{"malformed HTTP", "the server did not answer with HTTP"},
		{"malformed MIME header", "the headers of the answer are malformed"},
		{"server gave HTTP response to HTTPS client", "the server answered with plain HTTP, not with TLS"},
		{"Location header", "the address of the redirect is not valid"},
		{"invalid redirect", "the address of the redirect is not valid"},
		{"missing Location", "the redirect names no address"},
		{"http3: unsupported protocol scheme", "redirected to an address that HTTP/3 does not serve"},
		{"unsupported protocol scheme", egress.ErrRedirectScheme.Error()},
		{"gzip:", "the answer is not valid gzip"},
		{"transfer encoding", "the answer has an unsupported transfer encoding"},
		{"chunk", "the chunks of the answer are malformed"},
		{"Content-Length", "the Content-Length of the answer is not valid"},
	} {
		if strings.Contains(text, known[0]) {
			return known[1]
		}
	}
	return strings.TrimPrefix(text, "net/http: ")
}

// clip makes a text safe to store and show: valid, printable, bounded.
func clip(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	if len(text) <= limit {
		return text
	}
	return vigil.Truncate(text, limit) + redact.CutMark
}
