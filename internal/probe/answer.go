// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// answer is an HTTP answer, for assertions and extractions.
type answer struct {
	status   int
	url      *url.URL // that answered, after the redirects
	protocol string
	header   http.Header
	body     []byte // what was read of it, without its content coding
	problem  string // why the body cannot be read as a text: a sentence about it
	unread   string // why more of the body may follow: a sentence; empty when this is all
	expired  bool   // the time was up while the body came
	certDays *int
	// certSubject names the certificate with these days, where it is not the own one of the server.
	certSubject string
	took        time.Duration
	recorder    *recorder // of the exchange; nil: nothing is collected

	decoded bool // whether plain and its problem are set
	plain   []byte

	parsed bool // whether json and isJSON are set
	json   any
	isJSON bool
}

// evidence returns what the exchange saw, nil when nothing was collected.
func (a *answer) evidence(hidden *redact.Redactor) *vigil.Evidence {
	if a.recorder == nil {
		return nil
	}
	return a.recorder.evidence(nil, hidden)
}

// statusRange is a status code or a class of them.
type statusRange struct{ from, to int }

// parseStatus reads a status, which has any three digits in practice, or one of the classes of
// RFC 9110, section 15.
func parseStatus(text string) (statusRange, bool) {
	if class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok {
		n, err := strconv.Atoi(class)
		return statusRange{n * 100, n*100 + 99}, err == nil && n >= 1 && n <= 5
	}
	n, err := strconv.Atoi(text)
	return statusRange{n, n}, err == nil && n >= 100 && n <= 999
}

func (s statusRange) String() string {
	if s.from != s.to {
		return strconv.Itoa(s.from/100) + "xx"
	}
	return strconv.Itoa(s.from)
}

// judge returns why the answer is a failure, or nil.
func (r *httpRequest) judge(ctx context.Context, t *timeline, got *answer, seen *HTTPMetadata) error {
	for i := range r.asserts {
		if ctx.Err() != nil && !got.expired {
			t.step("checking the assertions")
			return ctx.Err()
		}
		if reason := r.asserts[i].check(got); reason != "" {
			seen.FailedAssertions = append(seen.FailedAssertions, clip(reason, maxReason))
		}
	}
	if r.endsSecure && got.url.Scheme == "http" {
		return fail("the redirects end on plain HTTP, at %s, which allow_http_redirect permits", clip(got.url.Host, maxShown))
	}
	if !r.expects(got.status) {
		return fail("status %d, expected %s", got.status, r.expectation())
	}
	switch failed := seen.FailedAssertions; len(failed) {
	case 0:
		return nil
	case 1:
		return verdict(failed[0])
	default:
		return fail("%s (and %d more assertions failed)", failed[0], len(failed)-1)
	}
}

func (r *httpRequest) expects(status int) bool {
	for _, one := range r.expected {
		if status >= one.from && status <= one.to {
			return true
		}
	}
	return len(r.expected) == 0
}

func (r *httpRequest) expectation() string {
	texts := make([]string, len(r.expected))
	for i, one := range r.expected {
		texts[i] = one.String()
	}
	return strings.Join(texts, " or ")
}

// protocolName is the name of a version of HTTP (RFC 9110, section 2.5), which the newer ones write
// without a minor version; empty for another protocol.
func protocolName(given string) string {
	switch strings.ToUpper(given) {
	case "HTTP/1.0":
		return "HTTP/1.0"
	case "HTTP/1.1":
		return "HTTP/1.1"
	case "HTTP/2", "HTTP/2.0", "H2":
		return "HTTP/2"
	case "HTTP/3", "HTTP/3.0", "H3":
		return "HTTP/3"
	}
	return ""
}

// finalURL is an address in the form in which two that are equal are the same text (RFC 3986,
// section 6.2.3): without a fragment, with a path, and without the scheme's own port.
func finalURL(given *url.URL) string {
	plain := *given
	plain.User, plain.Fragment, plain.RawFragment = nil, "", ""
	plain.Host = strings.ToLower(plain.Host)
	if port := plain.Port(); plain.Scheme == "http" && port == "80" || plain.Scheme == "https" && port == "443" {
		plain.Host = strings.TrimSuffix(plain.Host, ":"+port)
	}
	if plain.Path == "" {
		plain.Path = "/"
	}
	return plain.String()
}
