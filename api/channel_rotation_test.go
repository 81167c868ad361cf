// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// signedHook has a webhook with a secret, and what its receiver got.
type signedHook struct {
	*testing.T
	a    person
	path string
	got  chan http.Header
	body chan []byte
}

func newSignedHook(t *testing.T, a person) signedHook {
	t.Helper()
	h := signedHook{T: t, a: a, got: make(chan http.Header, 8), body: make(chan []byte, 8)}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.got <- r.Header
		h.body <- body
	}))
	t.Cleanup(receiver.Close)
	config := map[string]any{"url": receiver.URL + "/hook", "secret": "hunter2"}
	h.path = "/v1/notification-channels/" + text(a.channel(t, with("config", config)), "id")
	return h
}

// rotate rotates the secret, and returns the new one and the channel.
func (h signedHook) rotate(body any) (secret string, data map[string]any) {
	h.Helper()
	data = h.a.want(h.T, http.StatusOK, http.MethodPost, h.path+"/rotate-secret", body).data(h.T)
	secret, data = text(data, "secret"), data["channel"].(map[string]any)
	if !strings.HasPrefix(secret, "whsec_") || len(secret) < 40 {
		h.Errorf("the new secret is %q", secret)
	}
	return secret, data
}

// signed compares the signatures of a test message with secrets; former "" means none.
func (h signedHook) signed(secret, former string) {
	h.Helper()
	h.a.want(h.T, http.StatusOK, http.MethodPost, h.path+"/test", nil)
	header, body := <-h.got, <-h.body
	by := func(secret string) string {
		if secret == "" {
			return ""
		}
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		return "sha256=" + hex.EncodeToString(mac.Sum(nil))
	}
	for name, want := range map[string]string{"X-Service-Signature": by(secret), "X-Service-Signature-Previous": by(former)} {
		if header.Get(name) != want {
			h.Errorf("%s is %q, want %q", name, header.Get(name), want)
		}
	}
	many := 1
	if former != "" {
		many = 2
	}
	if signatures := strings.Fields(header.Get("Webhook-Signature")); len(signatures) != many {
		h.Errorf("webhook-signature is %q", signatures)
	}
}

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	h := newSignedHook(t, a)
	before := a.want(t, http.StatusOK, http.MethodGet, h.path, nil).data(t)
	if ends, given := before["secret_overlap_ends_at"]; !given || ends != nil {
		t.Errorf("before a rotation the overlap ends at %v", ends)
	}
	second, data := h.rotate(nil)
	ends, err := time.Parse(time.RFC3339, text(data, "secret_overlap_ends_at"))
	changed, _ := time.Parse(time.RFC3339, text(data, "updated_at"))
	if err != nil || ends.Sub(changed) != 24*time.Hour {
		t.Errorf("the overlap ends at %v, changed at %v (%v)", ends, changed, err)
	}
	if data["revision"] != before["revision"].(float64)+1 || data["config"].(map[string]any)["secret"] != "***" {
		t.Errorf("rotated to %v", data)
	}
	h.signed(second, "hunter2")
	shown := a.want(t, http.StatusOK, http.MethodGet, h.path, nil)
	if bytes.Contains(shown.raw, []byte(second)) || bytes.Contains(shown.raw, []byte("hunter2")) ||
		shown.data(t)["secret_overlap_ends_at"] == nil {
		t.Errorf("the channel is shown as %s", shown.raw)
	}

	refused := a.want(t, http.StatusConflict, http.MethodPost, h.path+"/rotate-secret", map[string]any{"overlap_seconds": 60})
	if refused.detail("secret_overlap_ends_at") == nil || !bytes.Contains(refused.raw, []byte("force")) {
		t.Errorf("refused with %s", refused.raw)
	}
	third, _ := h.rotate(map[string]any{"overlap_seconds": 60, "force": true})
	h.signed(third, second)
	fourth, data := h.rotate(map[string]any{"overlap_seconds": 0, "force": true})
	if data["secret_overlap_ends_at"] != nil {
		t.Errorf("without an overlap it ends at %v", data["secret_overlap_ends_at"])
	}
	h.signed(fourth, "")
	for _, seconds := range []any{-1, 604801, "60"} {
		got := a.want(t, http.StatusBadRequest, http.MethodPost, h.path+"/rotate-secret", map[string]any{"overlap_seconds": seconds})
		if got.detail("member") != "overlap_seconds" {
			t.Errorf("%v: %s", seconds, got.raw)
		}
	}

	// What is written takes effect at once, and a mask keeps both secrets.
	h.rotate(map[string]any{"overlap_seconds": 60})
	kept := a.want(t, http.StatusOK, http.MethodGet, h.path, nil).data(t)
	if back := a.want(t, http.StatusOK, http.MethodPut, h.path, kept).data(t); back["secret_overlap_ends_at"] == nil {
		t.Errorf("written back: %v", back)
	}
	config := kept["config"].(map[string]any)
	config["secret"] = "written"
	if back := a.want(t, http.StatusOK, http.MethodPut, h.path, kept).data(t); back["secret_overlap_ends_at"] != nil {
		t.Errorf("with another secret: %v", back)
	}
	h.signed("written", "")

	mail := a.channel(t, with("type", "email"), with("config", map[string]any{"email": "ada@example.com"}))
	a.want(t, http.StatusConflict, http.MethodPost, "/v1/notification-channels/"+text(mail, "id")+"/rotate-secret", nil)
	plain := "/v1/notification-channels/" + text(a.channel(t, with("config", map[string]any{"url": "https://hooks.example.com/"})), "id")
	first, _ := a.want(t, http.StatusOK, http.MethodPost, plain+"/rotate-secret", nil).data(t)["channel"].(map[string]any)
	if first["secret_overlap_ends_at"] != nil {
		t.Errorf("the first secret of a channel: %v", first)
	}
}

// TestRotateSecretAgain tests that a rotation is made once under an Idempotency-Key, and that
// no second answer has the secret.
func TestRotateSecretAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	h := newSignedHook(t, a)
	first := a.want(t, http.StatusOK, http.MethodPost, h.path+"/rotate-secret", nil, keyHeader, "one").data(t)
	again := a.want(t, http.StatusOK, http.MethodPost, h.path+"/rotate-secret", nil, keyHeader, "one").data(t)
	if text(first, "secret") == "" || again["secret"] != "" || encoded(t, again["channel"]) != encoded(t, first["channel"]) {
		t.Errorf("first %v, then %v", first, again)
	}
}
