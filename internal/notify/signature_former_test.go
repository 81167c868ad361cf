// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// TestFormerSecret tests that a receiver with either secret verifies a message while a rotation
// overlaps, and that one with another does not.
func TestFormerSecret(t *testing.T) {
	t.Parallel()
	made := make(map[string]bool)
	secret := func() string {
		text, err := notify.NewSecret()
		if err != nil || made[text] {
			t.Fatalf("%q (%v)", text, err)
		}
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whsec_"))
		if err != nil || len(key) != 32 {
			t.Fatalf("%q has %d bytes (%v)", text, len(key), err)
		}
		made[text] = true
		return text
	}
	former, present, other := secret(), secret(), secret()
	r := receive(t, nil)
	sender := parse(t, registry(), vigil.ChannelWebhook, map[string]any{"url": r.url, "secret": present})
	notify.WithFormerSecret(sender, former).Send(t.Context(), message())
	got := r.only(t)
	for of, accepts := range map[string]bool{former: true, present: true, other: false} {
		verifier, err := standardwebhooks.NewWebhook(of)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(got.body, got.header); (err == nil) != accepts {
			t.Errorf("the signatures %q: %v", got.header.Get("Webhook-Signature"), err)
		}
	}
	if n := len(strings.Fields(got.header.Get("Webhook-Signature"))); n != 2 {
		t.Errorf("%d signatures", n)
	}

	// The sender itself still signs by one secret; so do those without a former one.
	for name, one := range map[string]notify.Sender{"present": sender, "none": notify.WithFormerSecret(sender, "")} {
		one.Send(t.Context(), message())
		all := r.requests()
		if header := all[len(all)-1].header; header.Get("X-Service-Signature-Previous") != "" ||
			strings.Contains(header.Get("Webhook-Signature"), " ") {
			t.Errorf("%s: %v", name, header)
		}
	}
}

// TestFormerSecretIsHidden tests that what a receiver sends back is searched for a former secret too.
func TestFormerSecretIsHidden(t *testing.T) {
	t.Parallel()
	const former = "former-5b1e-secret"
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("not signed by " + former))
	})
	sender := parse(t, registry(), vigil.ChannelWebhook, map[string]any{"url": r.url, "secret": "present"})
	outcome := notify.WithFormerSecret(sender, former).Send(t.Context(), message())
	if outcome.StatusCode != http.StatusBadRequest || strings.Contains(outcome.ResponseBody+outcome.Error, former) {
		t.Errorf("outcome %+v", outcome)
	}
}
