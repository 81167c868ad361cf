// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/notify"
)

var _ = addFixture(fixture{
	kind: vigil.ChannelWebhook, address: "config.url", required: "config.url",
	config: func(base string) map[string]any {
		return map[string]any{
			"url": base + "/hook/" + pathToken + "?key=" + pathToken, "secret": secretText,
			"headers": map[string]string{"Authorization": "Bearer " + secretText, "X-Api-Key": "abc" + secretText, "X-Custom": secretText},
		}
	},
})

func TestWebhook(t *testing.T) {
	t.Parallel()

	t.Run("PostsTheEnvelopeByteByByte", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		parse(t, registry(), vigil.ChannelWebhook, map[string]any{
			"url":     r.url + "/hook",
			"headers": map[string]string{"x-team": "shop"},
		}).Send(t.Context(), message())
		got := r.only(t)
		if got.method != http.MethodPost || got.path != "/hook" || !bytes.Equal(got.body, message().Envelope) {
			t.Errorf("got %s %s %s", got.method, got.path, got.body)
		}
		for name, want := range map[string]string{
			"Content-Type": "application/json", "X-Team": "shop", "X-Service-Event": "incident.triggered", "X-Service-Attempt": "3",
			"X-Service-Delivery": "22222222-2222-4222-8222-222222222222", "Webhook-Id": "11111111-1111-4111-8111-111111111111",
			"Webhook-Signature": "", "X-Service-Signature": "",
		} {
			if got.header.Get(name) != want {
				t.Errorf("%s: %q", name, got.header.Get(name))
			}
		}
	})

	t.Run("ContinuesTheTraceOnlyWhenItIsConfigured", func(t *testing.T) {
		t.Parallel()
		const parent = "00-8f3a1c526f0e5c1b9a6e0d6f4e1b7a31-0102030405060708-01"
		own := map[string]string{"traceparent": "mine"}
		for _, test := range []struct {
			config map[string]any
			want   string
		}{
			{map[string]any{}, ""},
			{map[string]any{"traceparent": true}, parent},
			{map[string]any{"traceparent": true, "headers": own}, "mine"},
		} {
			r, m := receive(t, nil), message()
			m.Traceparent = parent
			test.config["url"] = r.url
			parse(t, registry(), vigil.ChannelWebhook, test.config).Send(t.Context(), m)
			if got := r.only(t).header.Get("Traceparent"); got != test.want {
				t.Errorf("with %v the header is %q", test.config, got)
			}
		}
	})

	t.Run("EncodesItsAddressAsBrowsersDo", func(t *testing.T) {
		t.Parallel()
		for _, address := range []string{"/hook?q=x y", "/hook?q=Ошибка", "/ho ok/100%", "/hook#a%"} {
			r := receive(t, nil)
			sent := parse(t, registry(), vigil.ChannelWebhook, map[string]any{"url": r.url + address}).Send(t.Context(), message())
			if got := r.only(t); !sent.Delivered() || got.method != http.MethodPost {
				t.Errorf("%s: %+v", address, sent)
			}
		}
	})

	t.Run("UsesTheMethodOfTheConfig", func(t *testing.T) {
		t.Parallel()
		for _, method := range []string{"PUT", "PATCH"} {
			r := receive(t, nil)
			parse(t, registry(), vigil.ChannelWebhook, map[string]any{"url": r.url, "method": method}).Send(t.Context(), message())
			if got := r.only(t); got.method != method {
				t.Errorf("got %s", got.method)
			}
		}
	})

	t.Run("RefusesWhatIsNotAMethodOrAHeader", func(t *testing.T) {
		t.Parallel()
		many := make(map[string]string)
		for i := range 51 {
			many[fmt.Sprint("X-", i)] = "a"
		}
		for want, config := range map[string]map[string]any{
			"config.method: ":                         {"method": "GET"},
			"config.headers.Host: ":                   {"headers": map[string]string{"Host": "a"}},
			"config.headers.content-length: ":         {"headers": map[string]string{"content-length": "1"}},
			"config.headers.X-Service-Signature: ":    {"headers": map[string]string{"X-Service-Signature": "a"}},
			"config.headers.webhook-id: ":             {"headers": map[string]string{"webhook-id": "a"}},
			"config.headers.X-A: ":                    {"headers": map[string]string{"X-A": "a\r\nX-B: c"}},
			"config.headers.X-A b: ":                  {"headers": map[string]string{"X-A\r\nb": "a"}},
			"config.headers.x-a: is given twice":      {"headers": map[string]string{"X-A": "a", "x-a": "b"}},
			"config.headers.X-A: must be a string":    {"headers": map[string]int{"X-A": 1}},
			"config.headers: must be an object":       {"headers": []string{"X-A"}},
			"config.headers: must have at most 50":    {"headers": many},
			"config.url: must begin with":             {"url": "file:///etc/passwd"},
			"config.url: must have at most 2048":      {"url": "https://hooks.example.com/" + strings.Repeat("a", 2048)},
			"config.secret: must have at most 1024 c": {"secret": strings.Repeat("a", 1025)},
		} {
			if config["url"] == nil {
				config["url"] = "https://hooks.example.com"
			}
			_, err := registry().Parse(vigil.ChannelWebhook, encode(t, config))
			if text := vigil.ErrorMessage(err); !strings.HasPrefix(text, want) {
				t.Errorf("got %v instead of %s", err, want)
			}
		}
	})
}

func TestSignature(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{0, 7, 255}, 8)
	encoded := "whsec_" + base64.StdEncoding.EncodeToString(key)

	signed := func(t *testing.T, secret string, opts ...notify.Option) posted {
		t.Helper()
		r := receive(t, nil)
		parse(t, registry(opts...), vigil.ChannelWebhook, map[string]any{"url": r.url, "secret": secret}).Send(t.Context(), message())
		return r.only(t)
	}

	t.Run("OfTheSpecIsTheHMACOfTheRawBody", func(t *testing.T) {
		t.Parallel()
		for _, secret := range []string{"hush", encoded, "whsecret", "WHSEC_not base64"} {
			got := signed(t, secret)
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write(got.body)
			if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); got.header.Get("X-Service-Signature") != want {
				t.Errorf("%s: got %s", secret, got.header.Get("X-Service-Signature"))
			}
		}
		// A value computed elsewhere: printf '{}' | openssl dgst -sha256 -hmac hush
		r := receive(t, nil)
		m := message()
		m.Envelope = []byte("{}")
		parse(t, registry(), vigil.ChannelWebhook, map[string]any{"url": r.url, "secret": "hush"}).Send(t.Context(), m)
		if got := r.only(t).header.Get("X-Service-Signature"); got != "sha256=505c20ac604f662945b662a1f13a9ca2f03bf0b1986f505d5aef48e10da8c918" {
			t.Errorf("got %s", got)
		}
	})

	t.Run("IsAcceptedByTheLibraryOfStandardWebhooks", func(t *testing.T) {
		t.Parallel()
		byText, err := standardwebhooks.NewWebhook(encoded)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := standardwebhooks.NewWebhookRaw([]byte("hush"))
		if err != nil {
			t.Fatal(err)
		}
		for secret, verifier := range map[string]*standardwebhooks.Webhook{encoded: byText, "hush": raw} {
			got := signed(t, secret)
			if err := verifier.Verify(got.body, got.header); err != nil {
				t.Errorf("%s: %v", secret, err)
			}
			if err := verifier.Verify(append(got.body, ' '), got.header); err == nil {
				t.Errorf("%s: a changed body is accepted", secret)
			}
			got.header.Set("Webhook-Id", uuid.NewString())
			if err := verifier.Verify(got.body, got.header); err == nil {
				t.Errorf("%s: a changed id is accepted", secret)
			}
		}
	})

	t.Run("OfASecretThatNoReceiverCouldReadIsRefused", func(t *testing.T) {
		t.Parallel()
		for _, secret := range []string{
			"whsec_", "whsec_not base64", "whsec_MDEyMzQ1Njc4OQ", "whsec_MDEyMzQ1Njc4OQ=", "whsec_-_-_-_-_", "whsec_MDEy\nMzQ1",
			"whsec_MDEyMzQ1Njc4OR==", "whsec_MDEy MzQ1", "whsec_MDEyMzQ1====",
		} {
			_, err := registry().Parse(vigil.ChannelWebhook, encode(t, map[string]any{"url": "https://hooks.example.com", "secret": secret}))
			text := vigil.ErrorMessage(err)
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(text, "config.secret: begins with whsec_") ||
				len(secret) > 6 && strings.Contains(text, secret) {
				t.Errorf("%q: %v", secret, err)
			}
		}
	})

	t.Run("HasTheTimeOfTheAttemptAndTheIDOfTheEvent", func(t *testing.T) {
		t.Parallel()
		at := time.Date(2026, 4, 5, 6, 7, 8, 9, time.UTC)
		got := signed(t, "hush", notify.WithClock(func() time.Time { return at }))
		if got.header.Get("Webhook-Timestamp") != strconv.FormatInt(at.Unix(), 10) || got.header.Get("Webhook-Id") != message().Event.String() {
			t.Errorf("got %v", got.header)
		}
	})
}

func TestFreeze(t *testing.T) {
	t.Parallel()

	t.Run("PutsTheChannelsWordsIntoTheEnvelope", func(t *testing.T) {
		t.Parallel()
		sender := parse(t, registry(), vigil.ChannelWebhook, map[string]any{
			"url": "https://hooks.example.com", "title_template": "{{severity}}: {{check_name}}",
			"body_template": "{{error_message}}\nin {{regions_down}}",
		})
		frozen := notify.Freeze(sender, message())
		got := decoded(t, frozen)
		if at(t, got, "data", "message", "title") != "critical: Checkout API" ||
			at(t, got, "data", "message", "body") != "expected status 200, got 503\nin eu-central-fra, na-east-ewr" ||
			at(t, got, "data", "regions", 0) != "eu-central-fra" || at(t, got, "type") != "incident.triggered" {
			t.Errorf("got %s", frozen)
		}
		again := message()
		again.Envelope = frozen
		if !bytes.Equal(notify.Freeze(sender, again), frozen) {
			t.Error("freezing again changes it")
		}
	})

	t.Run("LeavesItAloneWithoutTemplatesAndForOthers", func(t *testing.T) {
		t.Parallel()
		for kind, config := range httpConfigs("https://hooks.example.com") {
			if !bytes.Equal(notify.Freeze(parse(t, registry(), kind.kind(), config), message()), message().Envelope) {
				t.Errorf("%s changes the envelope", kind)
			}
		}
	})

	t.Run("NeverOutgrowsTheEnvelope", func(t *testing.T) {
		t.Parallel()
		sender := parse(t, registry(), vigil.ChannelWebhook, map[string]any{
			"url": "https://hooks.example.com", "body_template": strings.Repeat("{{error_message}}", 500),
		})
		m := message()
		m.Variables["error_message"] = strings.Repeat("\x01\u2028<&>", 1000)
		for _, padding := range []int{0, 30_000, 60_000} {
			m.Envelope = []byte(strings.Replace(string(message().Envelope), "eu-central-fra", strings.Repeat("a", padding), 1))
			if frozen := notify.Freeze(sender, m); len(frozen) > events.MaxEnvelope {
				t.Errorf("%d bytes", len(frozen))
			}
		}
	})
}

func TestSample(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 4, 5, 6, 7, 8, 0, time.UTC)
	channel := vigil.Channel{ID: uuid.New(), Name: "On call"}
	m, err := notify.Sample(channel, account.Organization{ID: uuid.New(), Name: "Example Shop"},
		"https://vigil.example.com", now)
	if err != nil {
		t.Fatal(err)
	}
	got := decoded(t, m.Envelope)
	if at(t, got, "type") != "channel.test" || at(t, got, "id") != m.Event.String() ||
		at(t, got, "data", "organization", "name") != "Example Shop" ||
		!strings.Contains(m.Title, "On call") || m.Incident != uuid.Nil || m.Attempt != 1 || m.Event == uuid.Nil {
		t.Errorf("got %+v", m)
	}
	for _, name := range events.VariableNames() {
		if (m.Variables[name] == "") != (name == events.VariableDrill) { // a test is no drill
			t.Errorf("%s has the value %q", name, m.Variables[name])
		}
	}
	if link := m.Variables["incident_url"]; link != "https://vigil.example.com/app/channels/"+channel.ID.String() {
		t.Errorf("a test leads to %s, not to the page of its channel", link)
	}
	if m.Variables["event_type"] != "channel.test" || m.Variables["organization_name"] != "Example Shop" {
		t.Errorf("got %v", m.Variables)
	}
}
