// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/notify"
)

// linkOf is the token of the link to acknowledge an incident, as a message to a channel has it.
func (b *testServer) linkOf(t *testing.T, incident, channel uuid.UUID, who string) string {
	t.Helper()
	made := notify.NewAcknowledgeLinks("http://vigil.test", bytes.Repeat([]byte{7}, 32)).URL(notify.Acknowledgement{
		Incident: incident, Channel: channel, Who: who, Until: b.clock.Now().Add(notify.AcknowledgeLifetime),
	})
	u, err := url.Parse(made)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("token")
}

// press sends the form of the page, and returns what it shows.
func (b *testServer) press(t *testing.T, status int, token string) string {
	t.Helper()
	form := url.Values{"token": {token}}.Encode()
	return string(b.want(t, status, http.MethodPost, "/acknowledge", form, "Content-Type", "application/x-www-form-urlencoded").raw)
}

// TestAcknowledgeByLink holds that the reader of a message acknowledges its incident by a button, without signing in: once,
// in the reader's name, with an entry of the audit log; that opening the link changes nothing; and that a link works neither
// too late, nor after its channel is disabled or deleted, nor for what its channel was not notified of.
func TestAcknowledgeByLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	b.record(t, result(e.check, b.clock.Now(), false))
	id := e.open(t)
	token := b.linkOf(t, id, e.channel, "ada@example.com")
	state := func() map[string]any { return a.want(t, http.StatusOK, http.MethodGet, e.incidentPath, nil).data(t) }
	page := func(token string) string {
		return string(b.want(t, http.StatusOK, http.MethodGet, "/acknowledge?token="+url.QueryEscape(token), nil).raw)
	}

	for range 3 { // a mail scanner opens it
		shown := page(token)
		for _, want := range []string{"Home page is failing", "503 from Newark", "critical", `<button>Acknowledge</button>`} {
			if !strings.Contains(shown, want) {
				t.Errorf("%q is not in %s", want, shown)
			}
		}
		b.want(t, http.StatusOK, http.MethodHead, "/acknowledge?token="+url.QueryEscape(token), nil)
	}
	if got := state(); got["status"] != "active" {
		t.Fatalf("opening the link acknowledged: %v", got)
	}
	other := b.linkOf(t, id, uuid.New(), "eve@example.com")
	for _, wrong := range []string{"", "x", "x.y", token[:len(token)-2], other, b.linkOf(t, uuid.New(), e.channel, "")} {
		if shown := page(wrong); !strings.Contains(shown, "This link does not work") || strings.Contains(shown, "<button") {
			t.Errorf("%q: %s", wrong, shown)
		}
		b.press(t, http.StatusBadRequest, wrong)
	}
	if got := state(); got["status"] != "active" {
		t.Fatalf("a wrong link acknowledged: %v", got)
	}
	if shown := b.press(t, http.StatusOK, token); !strings.Contains(shown, "The incident is acknowledged") {
		t.Errorf("got %s", shown)
	}
	got := state()
	if got["status"] != "acknowledged" || got["acknowledged_by"] != "ada@example.com" {
		t.Errorf("incident %v", got)
	}
	a.audited(t, "incident.acknowledge")
	// A second reader sees who has it, and changes nothing.
	second := b.linkOf(t, id, e.channel, "bob@example.com")
	b.press(t, http.StatusOK, second)
	if shown := page(second); !strings.Contains(shown, "ada@example.com, ") || strings.Contains(shown, "<button") {
		t.Errorf("got %s", shown)
	}
	if again := state(); encoded(t, again) != encoded(t, got) {
		t.Errorf("first %v\nagain %v", got, again)
	}
	b.clock.Advance(notify.AcknowledgeLifetime + time.Second)
	if shown := page(token); !strings.Contains(shown, "older than 7 days") {
		t.Errorf("got %s", shown)
	}
	b.press(t, http.StatusBadRequest, token)
}

// TestAcknowledgeByLinkOfAGoneChannel holds that a message to a channel that is disabled or deleted gives no right any more,
// and that one that many read acknowledges in the name of its channel.
func TestAcknowledgeByLinkOfAGoneChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	e := b.episode(t, a)
	id := e.open(t)
	token := b.linkOf(t, id, e.channel, "")
	path := "/v1/notification-channels/" + e.channel.String()
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": false})
	b.press(t, http.StatusBadRequest, token)
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": true})
	b.press(t, http.StatusOK, token)
	got := a.want(t, http.StatusOK, http.MethodGet, e.incidentPath, nil).data(t)
	if got["acknowledged_by"] != "a reader of Hook" {
		t.Errorf("incident %v", got)
	}
	e.resolve(t, id)
	if shown := b.press(t, http.StatusOK, token); !strings.Contains(shown, "The incident is resolved") {
		t.Errorf("got %s", shown)
	}
}
