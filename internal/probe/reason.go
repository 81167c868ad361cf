// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/neterr"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const maxReason = 500 // bytes of an explanation

// verdict is a failure that is already a sentence for people.
type verdict string

func (v verdict) Error() string { return string(v) }

func fail(format string, args ...any) error { return verdict(fmt.Sprintf(format, args...)) }

// unanswered is a verdict about the network: there was no answer to judge.
type unanswered struct{ verdict }

func (u unanswered) Unwrap() error { return u.verdict }

func failUnanswered(format string, args ...any) error {
	return unanswered{verdict(fmt.Sprintf(format, args...))}
}

// judged is what a probe finds wrong with an answer, worded as an error of the network.
type judged struct{ error }

func (j judged) Unwrap() error { return j.error }

// explain turns an error into a sentence for people, and reports whether it is a failure
// of the network. Nothing of a URL but its host appears in the sentence.
func explain(ctx context.Context, t *timeline, err error) (sentence string, network bool) {
	if failed, ok := errors.AsType[tokenFailure](err); ok {
		sentence, network = explain(ctx, t, failed.error)
		return "no access token: " + sentence, network
	}
	if known, ok := errors.AsType[verdict](err); ok {
		_, network = errors.AsType[unanswered](err)
		return string(known), network
	}
	elapsed := time.Since(t.began)
	if own, ok := errors.AsType[expiry](context.Cause(ctx)); ok {
		elapsed = time.Duration(own) // not what a busy machine made of it
	}
	exchange := neterr.Exchange{Peer: "the server", Doing: t.doing(), Waited: humanDuration(elapsed)}
	if code, sentence := exchange.Explain(ctx, err); sentence != "" {
		_, answered := errors.AsType[judged](err)
		return sentence, !answered && neterr.IsNetwork(code)
	}
	// The URL around an HTTP client's error holds path and query.
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return explainHTTP(err), false
}

// http2Frame matches what the library says of an answer that begins with a SETTINGS frame.
var http2Frame = regexp.MustCompile(`malformed HTTP (response|status code|version) "\\x00\\x00(\\x[0-9a-f]{2}|\\[abfnrtv"\\]|.)\\x04`)

// explainHTTP words what the HTTP client finds wrong. Its errors quote what the
// server sent; the causes are few, and are named without.
func explainHTTP(err error) string {
	for _, known := range []error{egress.ErrTooManyRedirects, egress.ErrRedirectScheme, egress.ErrRedirectBody} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if refused, ok := errors.AsType[*egress.ProxyError](err); ok {
		return refused.Error()
	}
	text := err.Error()
	// The first frame of HTTP/2 is SETTINGS: its length, the type 4, no flags, stream 0 (RFC 9113,
	// section 3.4).
	if http2Frame.MatchString(text) {
		return "the server speaks HTTP/2 only, expected HTTP/1.1"
	}
	for _, known := range [...][2]string{
		{"http2: response header list", fmt.Sprintf("the headers of the answer exceed %d KiB", egress.MaxHeaderBytes>>10)},
		{"GOAWAY", "the server ended the HTTP/2 connection"},
		{"stream error", "the server reset the HTTP/2 stream"},
		{"http2: ", "the HTTP/2 of the answer is malformed"},
		{"connection error", "the HTTP/2 of the answer is malformed"},
		{"response headers exceeded", fmt.Sprintf("the headers of the answer exceed %d KiB", egress.MaxHeaderBytes>>10)},
		{"too many 1xx", "the server sent too many interim answers"},
		{"malformed HTTP", "the server did not answer with HTTP" + sent(text)},
		{"malformed MIME header", "the headers of the answer are malformed"},
		{"server gave HTTP response to HTTPS client", "the server answered with plain HTTP, not with TLS"},
		{"Location header", "the address of the redirect is not valid"},
		{"invalid redirect", "the address of the redirect is not valid"},
		{"missing Location", "the redirect names no address"},
		{"http3: unsupported protocol scheme", "redirected to an address that HTTP/3 does not serve"},
		{"unsupported protocol scheme", egress.ErrRedirectScheme.Error()},
		{"gzip:", "the answer is not valid gzip"},
		{"transfer encoding", "the answer has an unsupported transfer encoding"},
		{"header line too long", "the chunks of the answer are malformed (header line too long)"},
		{"chunk", "the chunks of the answer are malformed"},
		{"Content-Length", "the Content-Length of the answer is not valid"},
	} {
		if strings.Contains(text, known[0]) {
			return known[1]
		}
	}
	return "the answer cannot be read: " + strings.TrimPrefix(text, "net/http: ")
}

// sent shows what an error of the HTTP client quotes: what the server sent.
func sent(text string) string {
	quoted, err := strconv.QuotedPrefix(text[max(0, strings.IndexByte(text, '"')):])
	if err != nil {
		return ""
	}
	got, err := strconv.Unquote(quoted)
	if err != nil || strings.TrimSpace(clip(got, maxShown)) == "" {
		return ""
	}
	return fmt.Sprintf(", but with %q", clip(got, maxShown))
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
