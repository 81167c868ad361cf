package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"vigil/egress"
)

// explain names an error in a word for programs and a sentence for people. What
// a library says is never repeated, since it quotes addresses and answers.
func explain(ctx context.Context, err error, timeout time.Duration) (code, sentence string) {
	if refusal, ok := errors.AsType[*egress.Refusal](err); ok {
		return CodeForbidden, refusal.Error()
	}
	late := "the receiver did not answer within " + timeout.String()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return CodeCanceled, "the attempt was interrupted"
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return CodeTimeout, late
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		if dns.IsNotFound {
			return CodeDNS, "no such host: " + dns.Name
		}
		return CodeDNS, "the name server could not resolve " + dns.Name
	}
	if timed, ok := errors.AsType[net.Error](err); ok && timed.Timeout() {
		return CodeTimeout, late
	}
	peer := ""
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" && op.Addr != nil {
		peer = op.Addr.String()
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return CodeRefused, strings.TrimSuffix("connection refused by "+peer, " by ")
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return CodeReset, "the receiver reset the connection"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return CodeUnreachable, strings.TrimSuffix("there is no route to "+peer, " to ")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return CodeUnreachable, "the worker ran out of file descriptors"
	}
	if sentence := explainTLS(err); sentence != "" {
		return CodeTLS, sentence
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return CodeReset, "the receiver closed the connection without an answer"
	}
	return CodeProtocol, "the receiver did not answer with valid HTTP"
}

func explainTLS(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "the receiver's certificate has expired or is not valid yet"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "the receiver's certificate is for another name"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "the receiver's certificate is signed by an unknown authority"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the receiver's certificate is not valid"
	}
	_, record := errors.AsType[tls.RecordHeaderError](err)
	if record || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client") {
		return "the receiver does not speak TLS on this port"
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok || strings.Contains(err.Error(), "tls: ") {
		return "the TLS handshake with the receiver failed"
	}
	return ""
}
