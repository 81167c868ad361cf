// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// A request is repeated after repeatAfter and, each time doubled, at most repeats times.
const (
	repeats     = 3
	repeatAfter = 250 * time.Millisecond
)

// transport sends the requests of the generated client. It implements its HttpRequestDoer.
//
// It does not use go-retryablehttp: after a broken connection its CheckRetry is given neither the
// request, whose method and Idempotency-Key decide here, nor the wait. Both would have to travel
// in the context, and only the loop would be saved.
type transport struct {
	http    *http.Client
	key     string
	agent   string
	timeout time.Duration
	debug   bool
	now     func() time.Time
	con     *console.Console
}

func newTransport(key, version string, timeout time.Duration, debug bool, con *console.Console) *transport {
	return &transport{
		http: &http.Client{
			// A redirect could lead the key to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		key: key, agent: "vigil-cli/" + version, timeout: timeout, debug: debug, now: con.Now, con: con,
	}
}

// Do sends a request. One that can be repeated safely is repeated after an error of the
// connection and the statuses 429 and 503, as long as the time for the request lasts.
// So is one that the server still works on.
func (t *transport) Do(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	if !streams(request) {
		ctx, cancel = context.WithTimeout(request.Context(), t.limit(request))
	}
	request = request.WithContext(ctx)
	request.Header.Set("User-Agent", t.agent)
	if t.key != "" && request.Header.Get("Authorization") == "" {
		request.Header.Set("Authorization", "Bearer "+t.key)
	}
	for round := 0; ; round++ {
		response, err := t.once(request)
		wait, again := t.waitFor(request, response, err, round)
		if !again {
			if err != nil {
				cancel()
				return nil, err
			}
			response.Body = &canceling{response.Body, cancel}
			return response, nil
		}
		if response != nil {
			_ = response.Body.Close()
		}
		if err := sleep(ctx, wait); err != nil {
			cancel()
			return nil, err
		}
		if request.GetBody != nil {
			if request.Body, err = request.GetBody(); err != nil {
				cancel()
				return nil, err
			}
		}
	}
}

const (
	standardTimeout = 30 * time.Second
	// testTimeout is longer than the server waits for a test by hand, or for another apply.
	testTimeout = 100 * time.Second
)

// limit is how long a request may take.
func (t *transport) limit(request *http.Request) time.Duration {
	if t.timeout != standardTimeout {
		return t.timeout
	}
	for _, slow := range []string{"/test", "/v1/checks/try", "/v1/apply"} {
		if strings.HasSuffix(request.URL.Path, slow) {
			return testTimeout
		}
	}
	return t.timeout
}

// streams reports whether an answer lasts until it is ended.
func streams(request *http.Request) bool {
	return strings.HasSuffix(request.URL.Path, "/v1/stream/alerts")
}

// once sends a request once and shows it if asked to.
func (t *transport) once(request *http.Request) (*http.Response, error) {
	began := t.now()
	response, err := t.http.Do(request)
	if t.debug {
		took := t.now().Sub(began).Round(time.Millisecond)
		path := redacted(request.URL.RequestURI())
		if err != nil {
			t.con.Warn("%s %s: %s, after %s", request.Method, path, redacted(reason(err)), took)
		} else {
			t.con.Warn("%s %s %d, %s, request %s", request.Method, path, response.StatusCode, took, response.Header.Get("X-Request-Id"))
		}
	}
	return response, err
}

// waitFor decides whether to send a request again, and after how long.
func (t *transport) waitFor(request *http.Request, response *http.Response, err error, round int) (time.Duration, bool) {
	safe := request.Method == http.MethodGet || request.Header.Get("Idempotency-Key") != ""
	if round >= repeats || !safe || request.Context().Err() != nil {
		return 0, false
	}
	wait := repeatAfter<<round + rand.N(repeatAfter/4) //nolint:gosec // spreads clients, guards nothing
	if err != nil {
		return wait, !errors.Is(err, context.Canceled)
	}
	asked, given := client.RetryAfter(response.Header, t.now())
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
	case http.StatusConflict: // the first one of a request that is sent twice still runs
		if !given {
			return 0, false
		}
	default:
		return 0, false
	}
	wait = max(wait, asked)
	if end, ok := request.Context().Deadline(); ok && t.now().Add(wait).After(end) {
		return 0, false // the answer says how long to wait
	}
	if t.con.ErrTTY && wait >= time.Second {
		what := "rate limited"
		if response.StatusCode == http.StatusServiceUnavailable {
			what = "not available"
		}
		t.con.Note("%s, going on in %s", what, console.Span(wait))
	}
	return wait, true
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// canceling is a body that releases the time limit of its request.
type canceling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close closes the body.
func (b *canceling) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// redacted hides API keys and session tokens in a text.
func redacted(text string) string {
	return secrets().ReplaceAllString(text, "$1***")
}

func secrets() *regexp.Regexp {
	return regexp.MustCompile(`(vgl_|eyJ)[A-Za-z0-9_.-]{6,}`)
}

// reason returns an error of the connection without the address, which the caller names.
func reason(err error) string {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "no answer in time"
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return fmt.Sprint(err)
		}
		err = next
	}
}
