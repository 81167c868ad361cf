// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// payloadConfig is that of a webhook whose body is a template.
func payloadConfig(address, contentType, template string) map[string]any {
	config := map[string]any{"url": address, "payload": "template", "payload_template": template}
	if contentType != "" {
		config["content_type"] = contentType
	}
	return config
}

// delivered sends a message with the body that is frozen for it.
func delivered(t *testing.T, r *receiver, config map[string]any, m notify.Message) posted {
	t.Helper()
	sender := parse(t, registry(), vigil.ChannelWebhook, config)
	m.Envelope = notify.Freeze(sender, m)
	if got := sender.Send(t.Context(), m); !got.Delivered() {
		t.Fatalf("got %+v", got)
	}
	requests := r.requests()
	return requests[len(requests)-1]
}

func TestWebhookPayload(t *testing.T) {
	t.Parallel()

	t.Run("IsTheWholeBody", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		const template = `{"to": "ops", "text": "{{incident_title}}: {{ error_message }}", ` +
			`"status": {{status_code}}, "days": {{ssl_days_remaining}}}`
		got := delivered(t, r, payloadConfig(r.url, "", template), message())
		if got.header.Get("Content-Type") != "application/json" ||
			string(got.body) != `{"to": "ops", "text": "Checkout API is failing: expected status 200, got 503", "status": 503, "days": 12}` {
			t.Errorf("got %s %s", got.header, got.body)
		}
	})

	t.Run("ANumberWithoutAValueIsNull", func(t *testing.T) {
		t.Parallel()
		r, m := receive(t, nil), message()
		m.Variables["status_code"] = ""
		got := delivered(t, r, payloadConfig(r.url, "", `{"status": {{status_code}}}`), m)
		if string(got.body) != `{"status": null}` {
			t.Errorf("got %s", got.body)
		}
	})

	t.Run("NoValueBreaksOut", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		got := delivered(t, r, payloadConfig(r.url, "", `{"a": "{{error_message}}", "b": {{status_code}}, "c": ["{{label.team}}"]}`), hostile())
		tree := decoded(t, got.body)
		want := strings.NewReplacer("\r", "", "\x00", "").Replace(breakout)
		if len(tree) != 3 || tree["a"] != want || tree["b"] != nil || at(t, tree, "c", 0) != want {
			t.Errorf("got %s", got.body)
		}
		form := delivered(t, r, payloadConfig(r.url, "application/x-www-form-urlencoded", `To=1&Body={{error_message}}&End=2`), hostile())
		values, err := url.ParseQuery(string(form.body))
		if err != nil || len(values) != 3 || values.Get("Body") != want || values.Get("End") != "2" {
			t.Errorf("got %s, %v", form.body, err)
		}
	})

	t.Run("StaysWithinItsBound", func(t *testing.T) {
		t.Parallel()
		r, m := receive(t, nil), message()
		m.Variables["error_message"] = strings.Repeat("\"\u2028<", 5000)
		template := `{"a": "` + strings.Repeat("{{error_message}} ", 300) + `"}`
		if got := delivered(t, r, payloadConfig(r.url, "", template), m); len(got.body) > events.MaxEnvelope || decoded(t, got.body)["a"] == "" {
			t.Errorf("%d bytes", len(got.body))
		}
	})

	t.Run("IsFrozenAndSigned", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		config := payloadConfig(r.url, "text/plain; charset=utf-8", "{{incident_title}}")
		config["secret"] = "a secret"
		got := delivered(t, r, config, message())
		if string(got.body) != "Checkout API is failing" || got.header.Get("Content-Type") != "text/plain; charset=utf-8" ||
			!strings.HasPrefix(got.header.Get("X-Service-Signature"), "sha256=") {
			t.Errorf("got %s %s", got.header, got.body)
		}
	})
}

func TestWebhookPayloadIsTriedAtWrite(t *testing.T) {
	t.Parallel()
	const address = "https://hooks.example.com"
	for name, test := range map[string]struct {
		config map[string]any
		want   string // what the error begins with
	}{
		"NoTemplate":       {map[string]any{"url": address, "payload": "template"}, "config.payload_template: is required"},
		"TemplateAlone":    {map[string]any{"url": address, "payload_template": "{}"}, "config.payload_template: is used only where"},
		"NotJSON":          {payloadConfig(address, "", `{"a": }`), "config.payload_template: makes no valid body of the type application/json"},
		"TextWithoutMarks": {payloadConfig(address, "", `{"a": {{check_name}}}`), "config.payload_template: has a placeholder of a text outside"},
		"Backslash":        {payloadConfig(address, "", `{"a": "\{{check_name}}"}`), "config.payload_template: has a backslash"},
		"Unknown":          {payloadConfig(address, "", `{"a": "{{nope}}"}`), "config.payload_template: has {{nope}}"},
		"Form":             {payloadConfig(address, "application/x-www-form-urlencoded", "a=%zz"), "config.payload_template: makes no"},
		"XML":              {payloadConfig(address, "application/xml", "<a/>"), "config.content_type: must be application/json"},
		"ContentType":      {payloadConfig(address, "a\r\nX-B: c", "{}"), "config.content_type: must be a media type"},
		"TooLong":          {payloadConfig(address, "", `"`+strings.Repeat("é", 40000)+`"`), "config.payload_template: must have at most 65535"},
		"Titled": {
			func() map[string]any {
				config := payloadConfig(address, "", "{}")
				config["title_template"] = "{{check_name}}"
				return config
			}(),
			"config.title_template: has no effect",
		},
		"TwoContentTypes": {
			map[string]any{"url": address, "content_type": "text/plain", "headers": map[string]string{"content-type": "text/html"}},
			"config.content_type: is given in headers as well",
		},
	} {
		_, err := registry().Parse(vigil.ChannelWebhook, encode(t, test.config))
		if text := vigil.ErrorMessage(err); vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(text, test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	for _, template := range []string{
		`{"a": "{{check_name}} \" {{label.team}}", "b": [{{failure_count}}]}`, `"{{evidence}}"`, strings.Repeat(" ", 60000) + "{}",
	} {
		if _, err := registry().Parse(vigil.ChannelWebhook, encode(t, payloadConfig(address, "", template))); err != nil {
			t.Errorf("%.40s: %v", template, err)
		}
	}
}

// TestWebhookContentType holds that the envelope is sent with the type that the config says.
func TestWebhookContentType(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	for _, config := range []map[string]any{
		{"url": r.url},
		{"url": r.url, "content_type": "application/cloudevents+json"},
		{"url": r.url, "headers": map[string]string{"Content-Type": "text/json"}},
	} {
		parse(t, registry(), vigil.ChannelWebhook, config).Send(t.Context(), message())
	}
	var got []string
	for _, one := range r.requests() {
		got = append(got, one.header.Get("Content-Type"))
	}
	if !slices.Equal(got, []string{"application/json", "application/cloudevents+json", "text/json"}) {
		t.Errorf("got %q", got)
	}
}
