// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// Bounds of an answer, in bytes.
const (
	keptAnswer = 4 << 10
	readAnswer = 64 << 10
)

const userAgent = "Vigil"

// maxReference bounds what an answer says that a message became, in bytes.
const maxReference = 255

// request is one HTTP request to a receiver.
type request struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
	hidden *redact.Redactor
	// wait and reference are those of a poster.
	wait      func(answer []byte) time.Duration
	reference func(answer []byte) string
}

// send makes the request once and reads the answer. It returns within the timeout;
// a success counts as soon as its status is read.
func (env *environment) send(ctx context.Context, r request) Outcome {
	began := env.now()
	ctx, cancel := context.WithTimeout(ctx, env.timeout)
	defer cancel()
	outcome := env.exchange(ctx, r)
	outcome.Duration = env.now().Sub(began)
	outcome.Error = r.hidden.Text(outcome.Error)
	return outcome
}

func (env *environment) exchange(ctx context.Context, r request) Outcome {
	written := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { written = true }, // what follows is the request
	})
	req, err := retryablehttp.NewRequestWithContext(ctx, r.method, r.url.String(), r.body)
	if err != nil {
		return Outcome{ErrorCode: CodeConfig, Error: "the request cannot be made from the channel's config", Permanent: true}
	}
	req.Header = r.header
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", userAgent)
	}
	var retryable bool
	client := &retryablehttp.Client{
		HTTPClient: env.guard.Client(ctx, egress.ClientOptions{
			TLS: &tls.Config{RootCAs: env.roots, MinVersion: tls.VersionTLS12}, NoRedirects: true,
		}),
		RetryMax: 0, // the delivery waits between attempts, not this
		CheckRetry: func(ctx context.Context, resp *http.Response, err error) (bool, error) {
			retry, cause := retryablehttp.ErrorPropagatedRetryPolicy(ctx, resp, err)
			retryable = retry
			return retry, cause
		},
		Backoff:      retryablehttp.DefaultBackoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}
	resp, err := client.Do(req)
	if resp == nil {
		outcome := failed(ctx, err, retryable, env.timeout)
		outcome.Written = written
		return outcome
	}
	defer resp.Body.Close()
	outcome := answered(resp, env.now())
	outcome.Written = written
	raw, err := io.ReadAll(io.LimitReader(resp.Body, readAnswer))
	outcome.ResponseBody = r.hidden.Excerpt(raw, err == nil && len(raw) < readAnswer, keptAnswer)
	if r.wait != nil && resp.StatusCode == http.StatusTooManyRequests {
		outcome.RetryAfter = max(outcome.RetryAfter, min(r.wait(raw), MaxRetryAfter))
	}
	if r.reference != nil && outcome.Delivered() {
		outcome.Reference = r.hidden.Text(cut(singleLine(r.reference(raw)), maxReference))
	}
	return outcome
}

// answered judges an answer by its status: any 2xx is a success, 410 ends the
// channel, everything else is tried again.
func answered(resp *http.Response, now time.Time) Outcome {
	o := Outcome{StatusCode: resp.StatusCode}
	switch status := resp.StatusCode; {
	case status >= 200 && status < 300:
		return o
	case status >= 300 && status < 400:
		o.ErrorCode, o.Error = CodeRedirect, fmt.Sprintf("the receiver answered with status %d; redirects are not followed", status)
	case status == http.StatusGone:
		o.Gone = true
		o.ErrorCode, o.Error = CodeGone, "the receiver answered with status 410: it wants no more messages"
	default:
		o.ErrorCode = CodeStatus
		o.Error = strings.TrimRight(fmt.Sprintf("the receiver answered with status %d %s", status, http.StatusText(status)), " ")
	}
	o.RetryAfter = retryAfter(resp, now)
	return o
}

// retryAfter is the wait that a 429 or 503 asks for, 0 for none: seconds, or a date in any
// of the three forms that recipients have to read (RFC 9110, sections 10.2.3 and 5.6.7).
func retryAfter(resp *http.Response, now time.Time) time.Duration {
	if resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	given := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if given != "" && strings.Trim(given, "0123456789") == "" {
		seconds, err := strconv.ParseInt(given, 10, 32)
		if err != nil {
			return MaxRetryAfter // too large to be read
		}
		return min(time.Duration(seconds)*time.Second, MaxRetryAfter)
	}
	at, err := http.ParseTime(given)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), MaxRetryAfter)
}

// failed judges a request without an answer.
func failed(ctx context.Context, err error, retryable bool, timeout time.Duration) Outcome {
	code, sentence := explain(ctx, err, timeout)
	o := Outcome{ErrorCode: code, Error: sentence}
	// A certificate is renewed, a name server repaired, and a name that led to an
	// address that may not be reached leads elsewhere tomorrow: only what our own
	// request rules out stays impossible.
	o.Permanent = !retryable && code == CodeProtocol
	return o
}
