// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/base64"
	"mime"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

var _ = addFixture(fixture{
	kind: vigil.ChannelPush, address: "config.server", required: "config.topic",
	config: func(base string) map[string]any {
		return map[string]any{"server": base, "topic": "alerts", "username": "ada", "password": secretText}
	},
})

func TestPush(t *testing.T) {
	t.Parallel()

	t.Run("PublishesInTheFormOfNtfy", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		m := message()
		m.Title = "Prüfung failing"
		parse(t, registry(), vigil.ChannelPush, map[string]any{"server": r.url + "/base/", "topic": "shop_alerts"}).Send(t.Context(), m)
		got := r.only(t)
		title, err := new(mime.WordDecoder).DecodeHeader(got.header.Get("Title"))
		if err != nil || title != m.Title {
			t.Errorf("title: %q, %v", title, err)
		}
		if got.method != "POST" || got.path != "/base/shop_alerts" || string(got.body) != m.Body || got.header.Get("Priority") != "5" ||
			got.header.Get("Tags") != "rotating_light" || got.header.Get("Click") != m.Variables["incident_url"] ||
			got.header.Get("Authorization") != "" {
			t.Errorf("got %+v %s", got, got.body)
		}
	})

	t.Run("ARecoveryIsNotUrgent", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		sender := parse(t, registry(), vigil.ChannelPush, map[string]any{"server": r.url, "topic": "a"})
		resolved, merged := message(), message()
		resolved.Type, merged.Merged = vigil.EventResolved, true
		sender.Send(t.Context(), resolved)
		sender.Send(t.Context(), merged)
		for _, got := range r.requests() {
			if got.header.Get("Priority") != "3" || got.header.Get("Tags") != "white_check_mark" {
				t.Errorf("got %v", got.header)
			}
		}
	})

	t.Run("SignsInWithAUserOrAToken", func(t *testing.T) {
		t.Parallel()
		for user, want := range map[string]string{"ada": "ada:hush", "": ":hush"} {
			r := receive(t, nil)
			parse(t, registry(), vigil.ChannelPush, map[string]any{
				"server": r.url, "topic": "a", "username": user, "password": "hush",
			}).Send(t.Context(), message())
			if got := r.only(t).header.Get("Authorization"); got != "Basic "+base64.StdEncoding.EncodeToString([]byte(want)) {
				t.Errorf("got %s", got)
			}
		}
	})

	t.Run("ALongMessageIsCut", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		m := message()
		m.Body = strings.Repeat("é", 5000)
		parse(t, registry(), vigil.ChannelPush, map[string]any{"server": r.url, "topic": "a"}).Send(t.Context(), m)
		if got := r.only(t).body; len(got) > 4000 || len(got) < 3900 || !strings.HasSuffix(string(got), "é…") {
			t.Errorf("%d bytes", len(got))
		}
	})

	t.Run("DefaultsToThePublicServer", func(t *testing.T) {
		t.Parallel()
		if got := parse(t, registry(), vigil.ChannelPush, map[string]any{"topic": "a"}).Target(); got != "ntfy.sh" {
			t.Errorf("got %s", got)
		}
	})

	t.Run("TopicsThatLeadElsewhereAreRefused", func(t *testing.T) {
		t.Parallel()
		for _, topic := range []string{"../admin", "a/b", "a?b", "a b", "a\r\nb", "..", "é", strings.Repeat("a", 65)} {
			_, err := registry().Parse(vigil.ChannelPush, encode(t, map[string]any{"topic": topic}))
			if !strings.HasPrefix(vigil.ErrorMessage(err), "config.topic: ") {
				t.Errorf("%q: %v", topic, err)
			}
		}
	})

	t.Run("ATitleIsShownAsItWasWritten", func(t *testing.T) {
		t.Parallel()
		for _, title := range []string{
			"=?utf-8?q?Shop?= is failing", "=?UTF-8?B?U2hvcA==?=", "Prüfung =?utf-8?b?w7w=?= 🛒", strings.Repeat("ü=?", 60), "a ?= b",
		} {
			r, m := receive(t, nil), message()
			m.Title = title
			parse(t, registry(), vigil.ChannelPush, map[string]any{"server": r.url, "topic": "a"}).Send(t.Context(), m)
			got, err := new(mime.WordDecoder).DecodeHeader(r.only(t).header.Get("Title")) // as ntfy reads it
			if err != nil || got != title {
				t.Errorf("%q is shown as %q, %v", title, got, err)
			}
		}
	})

	t.Run("AnEmptyTextIsReplaced", func(t *testing.T) {
		t.Parallel()
		r, m := receive(t, nil), message()
		m.Variables["evidence"] = ""
		sender := parse(t, registry(), vigil.ChannelPush, map[string]any{
			"server": r.url, "topic": "a", "title_template": "{{evidence}}", "body_template": "{{evidence}} ",
		})
		sender.Send(t.Context(), m)
		if got := r.only(t); got.header.Get("Title") != m.Title || string(got.body) != m.Body {
			t.Errorf("got %v %q", got.header, got.body)
		}
	})
}

var _ = addFixture(fixture{
	kind: vigil.ChannelPush, format: "ntfy", address: "config.server", required: "config.topic",
	config: func(base string) map[string]any {
		return map[string]any{"server": base, "topic": "alerts", "username": "ada", "password": secretText}
	},
})

var (
	_ = addFixture(fixture{
		kind: vigil.ChannelPush, format: "gotify", address: "config.server", required: "config.server",
		config: func(base string) map[string]any { return map[string]any{"server": base, "token": pathToken} },
	})
	_ = addFixture(fixture{
		kind: vigil.ChannelPush, format: "pushover", address: "config.server", required: "config.token",
		config: func(base string) map[string]any {
			return map[string]any{"server": base, "token": pathToken, "user_key": pathToken + "-user", "device": "phone"}
		},
	})
)
