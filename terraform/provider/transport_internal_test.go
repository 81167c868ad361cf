// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestRequestIsRepeatedWhenTheServerSaysSo(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		name   string
		status int
		after  string
		times  int64
	}{
		{"TooMany", http.StatusTooManyRequests, "0", 3},
		{"Unavailable", http.StatusServiceUnavailable, "0", 3},
		{"StillRunning", http.StatusConflict, "0", 3},
		{"StillRunningIMFFixdate", http.StatusConflict, "Fri, 31 Dec 1999 23:59:59 GMT", 3},
		{"StillRunningRFC850", http.StatusConflict, "Friday, 31-Dec-99 23:59:59 GMT", 3},
		{"StillRunningAsctime", http.StatusConflict, "Fri Dec 31 23:59:59 1999", 3},
		{"Conflict", http.StatusConflict, "", 1},
		{"Invalid", http.StatusBadRequest, "0", 1},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			var seen atomic.Int64
			keys := make(chan string, 3)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				keys <- r.Header.Get("Idempotency-Key") + string(body)
				if seen.Add(1) == 3 {
					return
				}
				if one.after != "" {
					w.Header().Set("Retry-After", one.after)
				}
				w.WriteHeader(one.status)
			}))
			defer server.Close()
			doer := &transport{client: server.Client(), key: "k"}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Idempotency-Key", "one-")
			answer, err := doer.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if got := seen.Load(); got != one.times {
				t.Errorf("the request was sent %d times, not %d", got, one.times)
			}
			for range one.times {
				if got := <-keys; got != "one-body" {
					t.Errorf("a repeated request has the key and body %q", got)
				}
			}
		})
	}
}

func TestConnectionThatBreaksIsTriedAgain(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if seen.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&transport{client: server.Client()}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent || seen.Load() != 2 {
		t.Errorf("status %d after %d requests", answer.StatusCode, seen.Load())
	}
}

func TestRequestThatMayHaveArrivedIsNotCalledUnsent(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") == "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_ = server.Listener.Close() // a repeated request finds no server
		panic(http.ErrAbortHandler)
	}))
	defer server.Close()
	doer := &transport{client: server.Client()}
	send := func(key string) error {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		if key != "" {
			request.Header.Set("Idempotency-Key", key)
			doer.gone.Store(true) // one try is enough here
		}
		answer, err := doer.Do(request)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err
	}
	if err := send(""); err != nil {
		t.Fatal(err)
	}
	err := send("arrives")
	if _, unsent := errors.AsType[*unsentError](err); err == nil || unsent {
		t.Errorf("the error of a request that arrived is %v (unsent: %t)", err, unsent)
	}
	err = send("finds no server")
	if _, unsent := errors.AsType[*unsentError](err); !unsent {
		t.Errorf("the error of a request that found no server is %v", err)
	}
}
