// SPDX-License-Identifier: Apache-2.0

package mail

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"strings"
	"unicode"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/neterr"
)

// The codes of a Error.
const (
	CodeTimeout     = neterr.Timeout
	CodeCanceled    = neterr.Canceled
	CodeDNS         = neterr.DNS
	CodeRefused     = neterr.Refused
	CodeReset       = neterr.Reset
	CodeUnreachable = neterr.Unreachable
	CodeTLS         = neterr.TLS
	CodeAuth        = "auth"     // the server did not accept user and password
	CodeRejected    = "rejected" // it did not accept the mail
	CodeFailed      = "failed"
)

// maxReply bounds what is kept of a server's reply, in bytes.
const maxReply = 1024

// statusRequired is the reply of a server that wants STARTTLS, or a sign-in, before anything else
// (RFC 3207 section 4, RFC 4954 section 6).
const statusRequired = 530

// explain makes an error of a session, which was secured by TLS or not, one for people. A server's own words are
// kept apart from the sentence.
func (s *server) explain(ctx context.Context, err error, secured bool) *Error {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		text := s.redact(fmt.Sprintf("%d %s", reply.Code, reply.Msg))
		failure := &Error{Code: CodeRejected, Status: reply.Code, Reply: printable(text)}
		failure.Message = fmt.Sprintf("the mail server %s rejected the mail with status %d", s.address(), reply.Code)
		switch {
		case reply.Code == statusRequired && !secured && !asksForSignIn(reply.Msg):
			failure.Code = CodeTLS
			failure.Message = fmt.Sprintf("the mail server %s requires STARTTLS before it takes mail (status %d); "+
				"tls=mandatory in the address of the mail server uses it", s.address(), reply.Code)
		case reply.Code == statusRequired && s.user == "":
			failure.Code = CodeAuth
			failure.Message = fmt.Sprintf("the mail server %s requires a sign-in (status %d)", s.address(), reply.Code)
		case signInFailed(reply.Code):
			failure.Code = CodeAuth
			failure.Message = fmt.Sprintf("the mail server %s did not accept the sign-in (status %d)", s.address(), reply.Code)
		}
		return failure
	}
	code, what := cause(ctx, err)
	return &Error{Code: code, Message: fmt.Sprintf("the mail server %s: %s", s.address(), what)}
}

// asksForSignIn reports whether the text of a reply, whose code two standards share, is about the
// sign-in.
func asksForSignIn(text string) bool {
	text = strings.ToUpper(text)
	return strings.Contains(text, "AUTH") && !strings.Contains(text, "TLS")
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
	code, what = neterr.Exchange{Peer: "it"}.Explain(ctx, err)
	switch {
	case code == neterr.Forbidden:
		return CodeUnreachable, what
	case code != "":
		return code, what
	}
	return words(err)
}

// words reads what has no type.
func words(err error) (code, what string) {
	text := err.Error()
	switch {
	case errors.Is(err, errNoSTARTTLS):
		return CodeTLS, "it does not offer STARTTLS, which is needed"
	case errors.Is(err, errNoSignIn), strings.Contains(text, "AUTH"):
		return CodeAuth, "it offers no acceptable way to sign in"
	case strings.Contains(text, "EOF"),
		strings.Contains(text, "reset"),
		strings.Contains(text, "closed"),
		strings.Contains(text, "broken pipe"):
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
