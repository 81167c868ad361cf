package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"os"
	"strings"
	"syscall"
	"unicode"

	"vigil"
	"vigil/egress"
)

// The codes of a vigil.MailError.
const (
	CodeTimeout     = "timeout"
	CodeCanceled    = "canceled"
	CodeDNS         = "dns"
	CodeRefused     = "connection_refused"
	CodeReset       = "connection_reset"
	CodeUnreachable = "unreachable"
	CodeTLS         = "tls"
	CodeAuth        = "auth"     // the server did not accept user and password
	CodeRejected    = "rejected" // it did not accept the mail
	CodeFailed      = "failed"
)

// maxReply bounds what is kept of a server's reply, in bytes.
const maxReply = 1024

// explain makes an error of a session one for people. A server's own words are
// kept apart from the sentence.
func (s *server) explain(ctx context.Context, err error) *vigil.MailError {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		text := s.redact(fmt.Sprintf("%d %s", reply.Code, reply.Msg))
		failure := &vigil.MailError{Code: CodeRejected, Status: reply.Code, Reply: printable(text)}
		failure.Message = fmt.Sprintf("the mail server %s rejected the mail with status %d", s.address(), reply.Code)
		if signInFailed(reply.Code) {
			failure.Code = CodeAuth
			failure.Message = fmt.Sprintf("the mail server %s did not accept the sign-in (status %d)", s.address(), reply.Code)
		}
		return failure
	}
	code, what := cause(ctx, err)
	return &vigil.MailError{Code: code, Message: fmt.Sprintf("the mail server %s: %s", s.address(), what)}
}

// signInFailed reports whether a reply code is about the sign-in (RFC 4954).
func signInFailed(code int) bool {
	switch code {
	case 432, 454, 530, 534, 535, 538:
		return true
	}
	return false
}

// cause names an error that is no reply of the server.
func cause(ctx context.Context, err error) (code, what string) {
	if refusal, ok := errors.AsType[*egress.Refusal](err); ok {
		return CodeUnreachable, refusal.Error()
	}
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return CodeCanceled, "the mail was interrupted"
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return CodeTimeout, "it did not answer in time"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return CodeDNS, "the name " + dns.Name + " does not resolve"
	}
	if isNet && timeout.Timeout() {
		return CodeTimeout, "it did not answer in time"
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return CodeRefused, "it refused the connection"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return CodeUnreachable, "there is no route to it"
	case secured(err):
		return CodeTLS, "its certificate or its TLS is not acceptable"
	}
	return words(err)
}

func secured(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, name := errors.AsType[x509.HostnameError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	return verification || authority || name || record || alert
}

// words reads what has no type.
func words(err error) (code, what string) {
	text := err.Error()
	switch {
	case strings.Contains(text, "does not support STARTTLS"):
		return CodeTLS, "it does not offer STARTTLS, which is needed"
	case strings.Contains(text, "AUTH"), strings.Contains(text, "unencrypted connection"):
		return CodeAuth, "it offers no acceptable way to sign in"
	case strings.Contains(text, "tls: "):
		return CodeTLS, "its certificate or its TLS is not acceptable"
	case strings.Contains(text, "EOF"), strings.Contains(text, "reset"), strings.Contains(text, "closed"), strings.Contains(text, "broken pipe"):
		return CodeReset, "it ended the connection"
	}
	return CodeFailed, "it did not speak SMTP as expected"
}

// printable bounds a reply and keeps its lines.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	return vigil.Truncate(text, maxReply)
}
