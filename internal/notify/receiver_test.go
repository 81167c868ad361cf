// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// posted is one request that a receiver got.
type posted struct {
	method, path string
	header       http.Header
	body         []byte
	query        string
}

// receiver is a real HTTP server that records what it gets.
type receiver struct {
	url string

	mu  sync.Mutex
	got []posted
}

// receive runs a receiver that answers by the handler; nil answers 200.
func receive(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return receiveOn(t, listener, answer)
}

func receiveOn(t *testing.T, listener net.Listener, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter,
		req *http.Request,
	) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.got = append(r.got, posted{req.Method, req.URL.Path, req.Header.Clone(), body, req.URL.RawQuery})
		r.mu.Unlock()
		if answer != nil {
			answer(w, req)
		}
	})}}
	server.Start()
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

func (r *receiver) requests() []posted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]posted(nil), r.got...)
}

// only is the single request that was expected.
func (r *receiver) only(t *testing.T) posted {
	t.Helper()
	got := r.requests()
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	return got[0]
}

func answer(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// loopback lets the tests reach their own servers.
func loopback() *egress.Guard { return egress.New(egress.Policy{AllowPrivate: true}) }

func registry(opts ...notify.Option) *notify.Registry {
	return notify.NewRegistry(loopback(), append([]notify.Option{notify.WithTimeout(5 * time.Second)}, opts...)...)
}

func parse(t *testing.T, r *notify.Registry, kind vigil.ChannelType, config map[string]any) notify.Sender {
	t.Helper()
	sender, err := r.Parse(kind, encode(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return sender
}

func encode(t *testing.T, value any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func decoded(t *testing.T, raw []byte) map[string]any {
	t.Helper()
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return tree
}

// at walks into a decoded document.
func at(t *testing.T, tree any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			members, ok := tree.(map[string]any)
			if !ok {
				t.Fatalf("no object at %v of %v", step, path)
			}
			tree = members[step]
		case int:
			items, ok := tree.([]any)
			if !ok || step >= len(items) {
				t.Fatalf("no item at %v of %v", step, path)
			}
			tree = items[step]
		}
	}
	return tree
}

// message is what most tests send.
func message() notify.Message {
	return notify.Message{
		Event:     uuid.MustParse("11111111-1111-4111-8111-111111111111"),
		Type:      vigil.EventTriggered,
		Delivery:  uuid.MustParse("22222222-2222-4222-8222-222222222222"),
		Attempt:   3,
		Time:      time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC),
		Incident:  uuid.MustParse("33333333-3333-4333-8333-333333333333"),
		Severity:  vigil.Critical,
		Title:     "Checkout API is failing",
		Body:      "expected status 200, got 503",
		Variables: events.ExampleVariables(),
		Envelope: []byte(
			`{"id":"11111111-1111-4111-8111-111111111111","type":"incident.triggered","version":"1","timestamp":"2026-03-01T09:30:00Z",` +
				`"data":{"regions":["eu-central-fra"],"message":{"title":"Checkout API is failing","body":"é < & >"}}}`,
		),
	}
}

// hostile is a message whose every value tries to break out.
func hostile() notify.Message {
	m := message()
	m.Title, m.Body = breakout, breakout
	for name := range m.Variables {
		m.Variables[name] = breakout
	}
	return m
}

const breakout = "\"}],\"x\":1,\r\nBcc: eve@example.com\r\n\r\n" +
	"<script>alert(1)</script> <!channel> <https://evil.test|here> {{severity}} \u2028 \x00 \\"

// decodedHeader is a header as people read it.
func decodedHeader(value string) string {
	text, err := new(mime.WordDecoder).DecodeHeader(value)
	if err != nil {
		return value
	}
	return text
}
