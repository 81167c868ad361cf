// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// Bounds of the retries of one request.
const (
	connectionTries = 5               // waits 0.5, 1, 2 and 4 s between them
	patience        = 3 * time.Minute // for answers that say when to come back
	longestWait     = time.Minute
	requestTimeout  = time.Minute
)

// transport sends requests with the key, and repeats those that the API did not take:
// 429 and 503 with the wait of Retry-After, and broken connections. A create carries an
// Idempotency-Key and a change an If-Match, so a repeated request is not done twice.
//
// It does not use go-retryablehttp: its CheckRetry is given neither the number of the try, which
// bounds broken connections here, nor the wait, which bounds answers by patience. Both would have
// to travel in the context, and only the loop would be saved.
type transport struct {
	client  *http.Client
	key     string
	version string

	gone atomic.Bool // the last request found no server: the others try once
}

// Do answers a request; it never returns an answer of 429 or 503 before its patience ends.
func (t *transport) Do(request *http.Request) (*http.Response, error) {
	request.Header.Set("Authorization", "Bearer "+t.key)
	request.Header.Set("User-Agent", "terraform-provider-vigil/"+t.version)
	request.Header.Set("Accept", contentType)
	deadline := time.Now().Add(patience)
	request, connected := watched(request)
	for try := 1; ; try++ {
		answer, err := t.client.Do(request)
		wait, again := next(answer, err, try)
		if !again || t.gone.Load() && err != nil || time.Now().Add(wait).After(deadline) {
			t.gone.Store(err != nil)
			if err != nil && !connected.Load() {
				err = &unsentError{err}
			}
			return answer, err
		}
		if answer != nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20))
			_ = answer.Body.Close()
		}
		if err := pause(request.Context(), wait); err != nil {
			return nil, err
		}
		if request.GetBody == nil {
			continue
		}
		if request.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
}

// unsentError is the error of a request that found no connection in any try: nothing of it
// was sent.
type unsentError struct{ error }

// Unwrap returns the cause.
func (e *unsentError) Unwrap() error { return e.error }

// watched returns a request that notes whether it got a connection. The error does not say
// so: net/http repeats a request with an Idempotency-Key by itself when a connection that it
// used before breaks, and reports the error of the last try only.
func watched(request *http.Request) (*http.Request, *atomic.Bool) {
	connected := &atomic.Bool{}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	return request.WithContext(httptrace.WithClientTrace(request.Context(), trace)), connected
}

// next says whether a request is sent again, and after which wait.
func next(answer *http.Response, err error, try int) (wait time.Duration, again bool) {
	if err != nil {
		stop := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		return time.Second << try / 4, !stop && try < connectionTries
	}
	wait, asked := client.RetryAfter(answer.Header, time.Now())
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if !asked {
			wait = time.Duration(try) * time.Second
		}
	case http.StatusConflict: // the same request is still running
		if !asked {
			return 0, false
		}
	default:
		return 0, false
	}
	return min(max(wait, 100*time.Millisecond), longestWait), true
}

// pause waits, or ends with the context.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the next try: %w", ctx.Err())
	}
}
