// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// target is an HTTP service that a test can switch to errors.
type target struct {
	*httptest.Server
	broken atomic.Bool
}

func newTarget(t *testing.T) *target {
	t.Helper()
	s := &target{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s.broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// sink is a webhook receiver that records its requests.
type sink struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
}

type request struct {
	header http.Header
	body   []byte
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, request{header: r.Header.Clone(), body: body})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) all() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}
