package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
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
	var lost error // the request was sent, and its answer did not come
	for try := 1; ; try++ {
		answer, err := t.client.Do(request)
		if err != nil && lost == nil && !neverSent(err) {
			lost = err
		}
		wait, again := next(answer, err, try)
		if !again || t.gone.Load() && err != nil || time.Now().Add(wait).After(deadline) {
			t.gone.Store(err != nil)
			if err != nil && lost != nil {
				err = lost
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

// neverSent reports whether a request failed before any part of it was sent.
func neverSent(err error) bool {
	failed, ok := errors.AsType[*net.OpError](err)
	return ok && failed.Op == "dial"
}

// next says whether a request is sent again, and after which wait.
func next(answer *http.Response, err error, try int) (wait time.Duration, again bool) {
	if err != nil {
		stop := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		return time.Second << try / 4, !stop && try < connectionTries
	}
	seconds, parseErr := strconv.Atoi(answer.Header.Get("Retry-After"))
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if parseErr != nil {
			seconds = try
		}
	case http.StatusConflict: // the same request is still running
		if parseErr != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return min(max(time.Duration(seconds)*time.Second, 100*time.Millisecond), longestWait), true
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
