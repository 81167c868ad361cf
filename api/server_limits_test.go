// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
)

// countingStore counts the questions that cost something.
type countingStore struct {
	*storage.Store

	readies, lookups atomic.Int64
}

// count has an API ask it.
func (s *countingStore) count(d *api.Deps) {
	s.Store = d.Stores.Accounts.(*storage.Store)
	d.Stores.Accounts, d.Stores.System = s, s
}

func (s *countingStore) Ready(ctx context.Context) error {
	s.readies.Add(1)
	return s.Store.Ready(ctx)
}

func (s *countingStore) KeyByHash(ctx context.Context, hash []byte) (account.APIKey, account.Organization, account.User, error) {
	s.lookups.Add(1)
	return s.Store.KeyByHash(ctx, hash)
}

func TestReadyIsAnsweredFromACache(t *testing.T) {
	t.Parallel()
	counting := &countingStore{}
	b := setup(t, counting.count)
	b.works(t, "w1", "eu-central-fra")
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() { b.do(t, http.MethodGet, "/ready", nil) })
	}
	wait.Wait()
	if n := counting.readies.Load(); n != 1 {
		t.Errorf("the database was asked %d times in a second, want once", n)
	}
	b.clock.Advance(time.Second)
	b.want(t, http.StatusOK, http.MethodGet, "/ready", nil)
	if n := counting.readies.Load(); n != 2 {
		t.Errorf("it was asked %d times, want once more", n)
	}
}

func TestUnknownKeysAreRemembered(t *testing.T) {
	t.Parallel()
	counting := &countingStore{}
	b := setup(t, counting.count)
	unknown, _, err := api.NewKey("unknown")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		b.as(unknown).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/checks", nil)
	}
	if n := counting.lookups.Load(); n != 1 {
		t.Errorf("the database was asked %d times for an unknown key, want once", n)
	}
	b.clock.Advance(5 * time.Second)
	b.as(unknown).want(t, http.StatusUnauthorized, http.MethodGet, "/v1/checks", nil)
	if n := counting.lookups.Load(); n != 2 {
		t.Errorf("it was asked %d times after five seconds, want once more", n)
	}
	b.signup(t).want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil)
}

// TestRequestsThatNetHTTPRefuses holds that what the server refuses before any handler
// is answered in JSON.
func TestRequestsThatNetHTTPRefuses(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "a text of a handler")
	}))
	server.Listener = rest.JSONErrors(server.Listener)
	server.Start()
	t.Cleanup(server.Close)
	for name, tt := range map[string]struct {
		request string
		status  int
		code    string // empty: the handler's own answer
	}{
		"an unknown transfer encoding":  {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400, "invalid_request"},
		"two transfer encodings":        {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400, "invalid_request"},
		"identity":                      {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n", 400, "invalid_request"},
		"no host":                       {"GET / HTTP/1.1\r\n\r\n", 400, "invalid_request"},
		"two lengths":                   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", 400, "invalid_request"},
		"no HTTP":                       {"hello\r\n\r\n", 400, "invalid_request"},
		"headers of 2 MiB":              {"GET / HTTP/1.1\r\nX-A: " + strings.Repeat("a", 2<<20) + "\r\n\r\n", 431, "payload_too_large"},
		"an answer in plain text stays": {"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := raw(t, strings.TrimPrefix(server.URL, "http://"), tt.request)
			body, err := io.ReadAll(response.Body)
			if err != nil || response.StatusCode != tt.status {
				t.Fatalf("status %d, want %d: %s (%v)", response.StatusCode, tt.status, body, err)
			}
			if tt.code == "" {
				if string(body) != "a text of a handler" {
					t.Errorf("it became %s", body)
				}
				return
			}
			var view struct {
				Error, Code string
				RequestID   string `json:"request_id"`
			}
			if err := json.Unmarshal(body, &view); err != nil || view.Code != tt.code || view.Error == "" ||
				view.RequestID == "" || view.RequestID != response.Header.Get("X-Request-Id") {
				t.Errorf("answer %s (%v)", body, err)
			}
		})
	}
}

// raw sends bytes and reads the answer to them.
func raw(t *testing.T, address, request string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", address) //nolint:noctx // a test's own socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	go func() { _, _ = io.WriteString(conn, request) }() // the server may answer before it has read everything
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// TestAClientThatDoesNotReadIsCutOff holds that an answer which is not read ends its
// connection.
func TestAClientThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(d *api.Deps) { d.Config.WriteDeadline = 200 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://")) //nolint:noctx // a test's own socket
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	// Answers that are never read fill the buffers; then the server cannot write any more.
	for err == nil {
		_, err = io.WriteString(conn, "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // as the connection returns it
		t.Error("the connection is still open after a minute")
	}
}
