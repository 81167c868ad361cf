// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

const (
	rightToLeft = "\u202eשירות התשלום נכשל\u202c — الخدمة متوقفة"
	emoji       = "🚨 👩\u200d🚀 🏳️\u200d🌈 é 𝔘"
	mentions    = "@everyone @here @channel @all @room <!channel> <!here|x> <@U024BE7LH> <@&7> <users/all> @**all** @_**Ada** @*ops* " +
		"[click](https://evil.test) <https://evil.test|here> #**general**"
)

// variations are messages that have broken a product before, by name.
func variations() map[string]notify.Message {
	with := func(change func(m *notify.Message)) notify.Message {
		m := message()
		change(&m)
		return m
	}
	say := func(text string) notify.Message {
		return with(func(m *notify.Message) {
			m.Title, m.Body = text, text+"\n"+text
			for _, name := range []string{
				"check_name", "check_target", "rule_name", "organization_name", "incident_title", "error_message", "evidence", "label.team",
			} {
				m.Variables[name] = text
			}
		})
	}
	all := map[string]notify.Message{
		"plain":    message(),
		"warning":  with(func(m *notify.Message) { m.Severity = vigil.Warning }),
		"info":     with(func(m *notify.Message) { m.Severity = vigil.Info }),
		"resolved": with(func(m *notify.Message) { m.Type = vigil.EventResolved }),
		"merged":   with(func(m *notify.Message) { m.Merged = true }),
		"test":     with(func(m *notify.Message) { m.Type, m.Incident, m.Severity = vigil.EventTest, uuid.Nil, vigil.Info }),
		"emoji":    say(emoji), "right-to-left": say(rightToLeft), "mentions": say(mentions), "hostile": hostile(),
		"long":            say(strings.Repeat("0123456789 ", 1000)),
		"long emoji":      say(strings.Repeat("👩\u200d🚀", 1000)),
		"long marks":      say(strings.Repeat(`*_\<[`, 2000)),
		"long quotes":     say(strings.Repeat(`"`, 10000)),
		"lines":           say(strings.Repeat("a\n", 5000)),
		"no variables":    with(func(m *notify.Message) { m.Variables = nil }),
		"nothing to read": with(func(m *notify.Message) { m.Title, m.Body, m.Variables = "\u200b", " ", nil }),
		"no status code":  with(func(m *notify.Message) { m.Variables["status_code"] = "" }),
		"empty variables": with(func(m *notify.Message) {
			for name := range m.Variables {
				m.Variables[name] = ""
			}
		}),
	}
	for _, name := range slices.Collect(maps.Keys(all)) {
		m := all[name]
		m.Facts = facts()
		for i := range 10 { // others as hostile as the rest
			m.Facts.Others = append(m.Facts.Others, vigil.Truncate(m.Title, 200)+strconv.Itoa(i))
		}
		all[name+" with facts"] = m
	}
	return all
}

// TestFormats sends each variation in each form to a receiver that judges it as the product does.
func TestFormats(t *testing.T) {
	t.Parallel()
	receivers := strictReceivers()
	for kind := range httpConfigs("") {
		judge := receivers[kind]
		if judge == nil {
			if kind != form(vigil.ChannelWebhook) {
				t.Errorf("%s has no strict receiver", kind)
			}
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			r := receive(t, nil)
			for templates, words := range map[string]map[string]any{
				"default":   {},
				"templates": {"title_template": "{{check_name}} {{status_code}}", "body_template": "{{error_message}}"},
			} {
				config := httpConfigs(r.url)[kind]
				maps.Copy(config, words)
				sender := parse(t, registry(), kind.kind(), config)
				for name, m := range variations() {
					if got := sender.Send(t.Context(), m); !got.Delivered() {
						t.Fatalf("%s, %s: %+v", templates, name, got)
					}
					requests := r.requests()
					if wrong := judge(requests[len(requests)-1]); len(wrong) > 0 {
						t.Errorf("%s, %s is refused: %q", templates, name, wrong)
					}
				}
			}
		})
	}
}

// TestFormatsKeepTheWords holds that what people read is there, in every form.
func TestFormatsKeepTheWords(t *testing.T) {
	t.Parallel()
	for kind := range strictReceivers() {
		r := receive(t, nil)
		for _, text := range []string{rightToLeft, emoji} {
			m := message()
			m.Title = text
			parse(t, registry(), kind.kind(), httpConfigs(r.url)[kind]).Send(t.Context(), m)
			requests := r.requests()
			if shown := shownText(requests[len(requests)-1]); !strings.Contains(shown, text) {
				t.Errorf("%s: %q is not in %q", kind, text, shown)
			}
		}
	}
}

// shownText is all text of a request.
func shownText(p posted) string {
	var found []string
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case string:
			found = append(found, value)
		case []any:
			for _, item := range value {
				walk(item)
			}
		case map[string]any:
			for _, member := range value {
				walk(member)
			}
		}
	}
	var tree any
	if json.Unmarshal(p.body, &tree) == nil {
		walk(tree)
	} else if values, err := url.ParseQuery(string(p.body)); err == nil && p.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		for _, given := range values {
			found = append(found, given...)
		}
	} else {
		found = append(found, string(p.body))
	}
	return strings.Join(append(found, decodedHeader(p.header.Get("Title")), p.header.Get("Actions")), "\n")
}

// TestFormatsMentionNoOne holds that no value mentions people or becomes a link in a chat.
func TestFormatsMentionNoOne(t *testing.T) {
	t.Parallel()
	const everywhere = `(?i)@(everyone|here|channel|all|room)`
	live := map[form]string{
		"chat/discord":     `|(^|[^\\])<[@!#]|[^\\]\]\(`,
		"chat/mattermost":  `|[^\\]\]\(`,
		"chat/rocketchat":  `|[^\\]\]\(`,
		"chat/teams":       `|[^\\]\]\(`,
		"chat/google_chat": `|<(users/|https)`,
		"chat/zulip":       `|@_?\*|#\*\*|\]\(`,
	}
	for kind := range strictReceivers() {
		if kind.kind() != vigil.ChannelChat {
			continue
		}
		for name, words := range map[string]map[string]any{
			"default": {}, "templates": {"title_template": "{{check_name}}", "body_template": "{{error_message}}"},
		} {
			r, m := receive(t, nil), variations()["mentions"]
			m.Variables["incident_url"] = ""
			config := httpConfigs(r.url)[kind]
			maps.Copy(config, words)
			parse(t, registry(), kind.kind(), config).Send(t.Context(), m)
			text := shownText(r.only(t))
			if found := regexp.MustCompile(everywhere + live[kind]).FindString(text); found != "" {
				t.Errorf("%s, %s: %q is live in %q", kind, name, found, text)
			}
			if kind == "chat/discord" && name == "default" &&
				!slices.Equal(at(t, decoded(t, r.only(t).body), "allowed_mentions", "parse").([]any), []any{}) {
				t.Errorf("Discord may mention people: %s", r.only(t).body)
			}
		}
	}
}

// TestFormatsWait gives the answers to too many messages as the products do.
func TestFormatsWait(t *testing.T) {
	t.Parallel()
	for kind, test := range map[form]struct {
		header, body string
		want         time.Duration
	}{
		"chat/slack":      {"7", "rate_limited", 7 * time.Second},
		"chat/discord":    {"", `{"message": "You are being rate limited.", "retry_after": 64.57, "global": false}`, 64570 * time.Millisecond},
		"chat/telegram":   {"", `{"ok":false,"error_code":429,"parameters":{"retry_after":35}}`, 35 * time.Second},
		"chat/matrix":     {"", `{"errcode":"M_LIMIT_EXCEEDED","error":"Too many requests","retry_after_ms":2500}`, 2500 * time.Millisecond},
		"chat/zulip":      {"", `{"code":"RATE_LIMIT_HIT","result":"error","retry-after":28.7}`, 28700 * time.Millisecond},
		"chat/mattermost": {"3", "", 3 * time.Second},
		"pager/pagerduty": {"", `{"retry_after": 9}`, 0}, // it does not say so
	} {
		for status, counts := range map[int]bool{http.StatusTooManyRequests: true, http.StatusBadRequest: false} {
			r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
				if test.header != "" {
					w.Header().Set("Retry-After", test.header)
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte(test.body))
			})
			got := parse(t, registry(), kind.kind(), httpConfigs(r.url)[kind]).Send(t.Context(), message())
			if got.Delivered() || counts && got.RetryAfter != test.want || !counts && got.RetryAfter != 0 {
				t.Errorf("%s, %d: waits %s", kind, status, got.RetryAfter)
			}
		}
	}
	for _, body := range []string{
		`{"retry_after": 1e300}`, `{"retry_after": 90000}`, `{"retry_after": -1}`, `{"retry_after": "soon"}`, `[]`, ``,
	} {
		r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(body))
		})
		got := parse(t, registry(), vigil.ChannelChat, httpConfigs(r.url)["chat/discord"]).Send(t.Context(), message()).RetryAfter
		if large := strings.ContainsAny(body, "e0") &&
			strings.Contains(body, "0}"); large != (got == notify.MaxRetryAfter) ||
			!large && got != 0 {
			t.Errorf("%s: waits %s", body, got)
		}
	}
}

// TestHostsNameTheirFormat holds which addresses need no format.
func TestHostsNameTheirFormat(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   vigil.ChannelType
		config map[string]any
		want   string // a member that only one format refuses, and the format that does
	}{
		{vigil.ChannelChat, map[string]any{"webhook_url": "https://hooks.slack.com/services/a", "topic": "x"}, "slack"},
		{vigil.ChannelChat, map[string]any{"webhook_url": "https://discord.com/api/webhooks/1/a", "topic": "x"}, "discord"},
		{vigil.ChannelChat, map[string]any{"webhook_url": "https://DISCORDAPP.com./api/webhooks/1/a", "topic": "x"}, "discord"},
		{vigil.ChannelChat, map[string]any{"webhook_url": "https://discord.com/api/webhooks/1/a/slack", "topic": "x"}, "slack"},
		{vigil.ChannelChat, map[string]any{"webhook_url": "https://prod-1.westeurope.logic.azure.com:443/workflows/a", "topic": "x"}, "teams"},
		{vigil.ChannelChat, map[string]any{"webhook_url": "https://chat.googleapis.com/v1/spaces/a/messages?key=b", "topic": "x"}, "google_chat"},
		{vigil.ChannelChat, map[string]any{"webhook_url": "https://discord.com.evil.example/a", "topic": "x"}, "slack"},
		{vigil.ChannelPush, map[string]any{"server": "https://api.pushover.net", "token": "a", "user_key": "b", "topic": "x"}, "pushover"},
		{vigil.ChannelPush, map[string]any{"topic": "x", "token": "a"}, "ntfy"},
		{vigil.ChannelPager, map[string]any{"url": "https://api.eu.opsgenie.com", "api_key": "a", "routing_key": "x"}, "opsgenie"},
		{vigil.ChannelPager, map[string]any{"url": "https://api.incident.io/v2/1", "api_key": "a", "routing_key": "x"}, "incident_io"},
		{
			vigil.ChannelPager,
			map[string]any{"url": "https://alert.victorops.com/a", "api_key": "a", "routing_key": "x", "username": "x"},
			"splunk_oncall",
		},
		{vigil.ChannelPager, map[string]any{"routing_key": "x", "api_key": "a"}, "pagerduty"},
	} {
		_, err := registry().Parse(test.kind, encode(t, test.config))
		if text := vigil.ErrorMessage(err); !strings.Contains(text, "is no member of a config in the format "+test.want+", which takes ") {
			t.Errorf("%v: got %v, want %s", test.config, err, test.want)
		}
	}
}

// TestFormatInEffect holds that the registry says the format that messages are sent in: the one that a
// config names, or the one of its address, or the default.
func TestFormatInEffect(t *testing.T) {
	t.Parallel()
	all := notify.NewRegistry(nil)
	for config, want := range map[string]string{
		`{"webhook_url":"https://discord.com/api/webhooks/1/x"}`:                       "discord",
		`{"webhook_url":"https://DISCORD.com./api/webhooks/1/x"}`:                      "discord",
		`{"webhook_url":"https://discord.com/api/webhooks/1/x/slack"}`:                 "slack",
		`{"webhook_url":"https://chat.example.com/hooks/x"}`:                           "slack",
		`{"webhook_url":"https://discord.com/api/webhooks/1/x","format":"rocketchat"}`: "rocketchat",
		`{"format":"telegram","token":"x","chat_id":"1"}`:                              "telegram",
	} {
		if got := all.Format(vigil.ChannelChat, json.RawMessage(config)); got != want {
			t.Errorf("%s: %q, want %q", config, got, want)
		}
	}
	for kind, want := range map[vigil.ChannelType]string{
		vigil.ChannelPush: "ntfy", vigil.ChannelPager: "pagerduty", vigil.ChannelEmail: "", vigil.ChannelWebhook: "", "morse": "",
	} {
		if got := all.Format(kind, json.RawMessage(`{}`)); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
