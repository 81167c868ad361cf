// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/rest"
)

// TestAFormThatDoesNotArrive holds that a form whose body stops to arrive is answered, and
// does not hold its connection; no other request does, either, whether its body is read or not.
func TestAFormThatDoesNotArrive(t *testing.T) {
	t.Parallel()
	const deadline = 300 * time.Millisecond
	b := setup(t, func(d *api.Deps) { d.Config.BodyDeadline = deadline })
	for line, status := range map[string]int{
		"POST /verify":            http.StatusBadRequest,
		"POST /recover":           http.StatusBadRequest,
		"POST /email-change":      http.StatusBadRequest,
		"POST /confirm-recipient": http.StatusBadRequest,
		"POST /unsubscribe":       http.StatusBadRequest,
		"POST /acknowledge":       http.StatusBadRequest,
		"POST /v1/auth/login":     http.StatusBadRequest, // within the deadline of the operation
		"POST /v1/checks":         http.StatusUnauthorized,
		"DELETE /v1/checks/x":     http.StatusUnauthorized,
		"POST /nowhere":           http.StatusNotFound,
		"GET /health":             http.StatusBadRequest,
		"GET /v1/stream/alerts":   http.StatusBadRequest,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			address := strings.TrimPrefix(b.url, "http://")
			contentType, begin := "application/x-www-form-urlencoded", "token"
			if strings.Contains(line, "/v1/") {
				contentType, begin = "application/json", `{"email"`
			}
			response, conn := half(t, address, line, contentType, begin)
			if response.StatusCode != status {
				t.Errorf("status %d, want %d", response.StatusCode, status)
			}
			if _, err := io.Copy(io.Discard, conn); err != nil {
				t.Errorf("the connection is still open: %v", err)
			}
			if took := time.Since(began); took < deadline {
				t.Errorf("answered after %v already", took)
			}
		})
	}
}

// half sends the first bytes of a body of 100, and returns the answer and what follows it
// until the server closes the connection.
func half(t *testing.T, address, line, contentType, begin string) (*http.Response, io.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address) //nolint:noctx // a test's own socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, line+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: "+contentType+
		"\r\nContent-Length: 100\r\n\r\n"+begin); err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(conn)
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response, from
}

// TestTheDeadlineOfABodyEndsWithIt holds that neither a handler that works longer than the
// deadline nor the next request of its connection is cut off.
func TestTheDeadlineOfABodyEndsWithIt(t *testing.T) {
	t.Parallel()
	const deadline = 50 * time.Millisecond
	works := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the body ends with %v", err)
		}
		select {
		case <-r.Context().Done():
			t.Errorf("%s: the request ended", r.Method)
		case <-time.After(4 * deadline):
		}
		_, _ = w.Write(body)
	})
	server := httptest.NewServer(rest.TimeBodies(works, deadline))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://")) //nolint:noctx // a test's own socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	from := bufio.NewReader(conn)
	for _, request := range []struct{ text, body string }{
		{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nform", "form"},
		{"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nform\r\n0\r\n\r\n", "form"},
		{"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nform", ""}, // what is skipped
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", ""},
	} {
		if _, err := io.WriteString(conn, request.text); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || string(body) != request.body || response.StatusCode != http.StatusOK {
			t.Errorf("answer %d %q (%v), want %q", response.StatusCode, body, err, request.body)
		}
	}
}
