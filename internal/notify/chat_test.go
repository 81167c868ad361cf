// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

var _ = addFixture(fixture{
	kind: vigil.ChannelChat, address: "config.webhook_url", required: "config.webhook_url",
	config: func(base string) map[string]any {
		return map[string]any{"webhook_url": base + "/services/T0/B0/" + pathToken}
	},
})

func TestChat(t *testing.T) {
	t.Parallel()

	t.Run("PostsTextAndBlocks", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		parse(t, registry(), vigil.ChannelChat, map[string]any{"webhook_url": r.url + "/services/x"}).Send(t.Context(), message())
		request := r.only(t)
		got := decoded(t, request.body)
		if request.path != "/services/x" || request.header.Get("Content-Type") != "application/json" ||
			at(t, got, "text") != "Checkout API is failing\nexpected status 200, got 503\n<"+message().Variables["incident_url"]+"|Open incident>" ||
			at(t, got, "blocks", 0, "type") != "header" || at(t, got, "blocks", 0, "text", "text") != "Checkout API is failing" ||
			at(t, got, "blocks", 1, "text", "type") != "mrkdwn" || at(t, got, "blocks", 1, "text", "text") != "expected status 200, got 503" ||
			at(t, got, "blocks", 2, "text", "text") != "<"+message().Variables["incident_url"]+"|Open incident>" {
			t.Errorf("got %s", request.body)
		}
	})

	t.Run("ValuesMakeNoMentionsAndNoLinks", func(t *testing.T) {
		t.Parallel()
		for name, config := range map[string]map[string]any{
			"default":  {},
			"template": {"title_template": "{{check_name}}", "body_template": "{{error_message}}"},
		} {
			r := receive(t, nil)
			config["webhook_url"] = r.url
			parse(t, registry(), vigil.ChannelChat, config).Send(t.Context(), hostile())
			got := decoded(t, r.only(t).body)
			text := at(t, got, "text").(string) + at(t, got, "blocks", 1, "text", "text").(string)
			if strings.ContainsAny(text, "<>\x00") || !strings.Contains(text, "&lt;!channel&gt;") || !strings.Contains(text, "{{severity}}") {
				t.Errorf("%s: %s", name, text)
			}
			if blocks := at(t, got, "blocks").([]any); len(blocks) != 2 {
				t.Errorf("%s: %d blocks, one of a link that is none", name, len(blocks))
			}
		}
	})

	t.Run("TheWordsOfATemplateAreMarkup", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		parse(t, registry(), vigil.ChannelChat, map[string]any{
			"webhook_url":   r.url,
			"body_template": "<!here> *{{check_name}}*",
		}).Send(t.Context(), message())
		if got := at(t, decoded(t, r.only(t).body), "blocks", 1, "text", "text"); got != "<!here> *Checkout API*" {
			t.Errorf("got %v", got)
		}
	})

	t.Run("BlocksStayInsideTheirBounds", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		m := message()
		m.Title, m.Body = strings.Repeat("é", 500), strings.Repeat("é", 9000)
		parse(t, registry(), vigil.ChannelChat, map[string]any{"webhook_url": r.url}).Send(t.Context(), m)
		got := decoded(t, r.only(t).body)
		title, body := at(t, got, "blocks", 0, "text", "text").(string), at(t, got, "blocks", 1, "text", "text").(string)
		if utf8.RuneCountInString(title) > 150 || utf8.RuneCountInString(body) > 3000 || !utf8.ValidString(title+body) {
			t.Errorf("%d, %d", len(title), len(body))
		}
	})

	t.Run("AnEmptyBodyMakesNoBlock", func(t *testing.T) {
		t.Parallel()
		r := receive(t, nil)
		m := message()
		m.Body, m.Variables = "", nil
		parse(t, registry(), vigil.ChannelChat, map[string]any{"webhook_url": r.url}).Send(t.Context(), m)
		if blocks := at(t, decoded(t, r.only(t).body), "blocks").([]any); len(blocks) != 1 {
			t.Errorf("got %v", blocks)
		}
	})

	t.Run("NoBlockIsEmptyAndAnEmptyTemplateGivesTheDefault", func(t *testing.T) {
		t.Parallel()
		for _, template := range []string{"{{dns_current}}", " {{ssl_days_remaining}}\t", "{{label.unknown}}", "\u200b{{evidence}}\u00a0"} {
			r, m := receive(t, nil), message()
			for _, name := range []string{"dns_current", "ssl_days_remaining", "evidence"} {
				m.Variables[name] = ""
			}
			parse(t, registry(), vigil.ChannelChat, map[string]any{
				"webhook_url": r.url, "title_template": template, "body_template": template,
			}).Send(t.Context(), m)
			got := decoded(t, r.only(t).body)
			if at(t, got, "blocks", 0, "text", "text") != m.Title || at(t, got, "blocks", 1, "text", "text") != m.Body {
				t.Errorf("%q: %s", template, r.only(t).body)
			}
		}
		r, m := receive(t, nil), message()
		m.Title, m.Body, m.Variables = " \u200b", "\u2060", nil
		parse(t, registry(), vigil.ChannelChat, map[string]any{"webhook_url": r.url}).Send(t.Context(), m)
		if got := decoded(t, r.only(t).body); got["blocks"] != nil {
			t.Errorf("got %v", got)
		}
	})

	t.Run("ValuesMentionNoUserInAnyProduct", func(t *testing.T) {
		t.Parallel()
		const calls = "@everyone @HERE (@channel) x@everyone @all, <!channel> <!here|now> <@U024BE7LH> <@&7> <!subteam^S1> <users/all> @ada.b"
		for name, config := range map[string]map[string]any{
			"default":  {},
			"template": {"title_template": "{{check_name}}", "body_template": "{{error_message}}"},
		} {
			r, m := receive(t, nil), message()
			m.Title, m.Body, m.Variables["incident_url"] = calls, calls+" to ada@example.com", ""
			m.Variables["check_name"], m.Variables["error_message"] = m.Title, m.Body
			config["webhook_url"] = r.url
			parse(t, registry(), vigil.ChannelChat, config).Send(t.Context(), m)
			got := decoded(t, r.only(t).body)
			header, section := at(t, got, "blocks", 0, "text", "text").(string), at(t, got, "blocks", 1, "text", "text").(string)
			for part, text := range map[string]string{"text": at(t, got, "text").(string), "header": header, "section": section} {
				if live := regexp.MustCompile(`(?i)@(everyone|here|channel|all|U024|&|ada\.)`).FindString(text); live != "" {
					t.Errorf("%s, %s: %s is live in %q", name, part, live, text)
				}
				if part != "header" && strings.ContainsAny(text, "<>") {
					t.Errorf("%s, %s: markup in %q", name, part, text)
				}
			}
			if !strings.Contains(section, "to ada@example.com") {
				t.Errorf("%s: an address is changed in %q", name, section)
			}
		}
	})

	t.Run("IsCutAfterEscapingAndNeverInsideACharacter", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/services/x", "/api/webhooks/1/x/slack"} {
			r := receive(t, nil)
			sender := parse(t, registry(), vigil.ChannelChat, map[string]any{"webhook_url": r.url + path})
			for _, unit := range []string{"<", "&", "a&", "é<", "👩\u200d🚀", "𝔘>"} {
				for padding := range 6 {
					m := message()
					m.Title, m.Body = strings.Repeat("a", padding)+strings.Repeat(unit, 400), strings.Repeat("a", padding)+strings.Repeat(unit, 6000)
					sender.Send(t.Context(), m)
					got := decoded(t, r.requests()[len(r.requests())-1].body)
					limit := map[string]int{"/services/x": 4000, "/api/webhooks/1/x/slack": 2000}[path]
					for part, text := range map[string]string{
						"text": at(t, got, "text").(string), "section": at(t, got, "blocks", 1, "text", "text").(string),
						"header": at(t, got, "blocks", 0, "text", "text").(string),
					} {
						most := map[string]int{"text": limit, "section": 3000, "header": 150}[part]
						size := len(utf16.Encode([]rune(text)))
						if size > most || size < most-40 || strings.ContainsRune(text, utf8.RuneError) || strings.Contains(text, "\u200d…") {
							t.Errorf("%s of %q at %s has %d characters: …%q", part, unit, path, size, text[len(text)-20:])
						}
						if part != "header" && len(regexp.MustCompile(`&(amp|lt|gt);`).FindAllString(text, -1)) != strings.Count(text, "&") {
							t.Errorf("%s of %q at %s has half an entity: …%q", part, unit, path, text[len(text)-90:])
						}
					}
					if !strings.HasSuffix(at(t, got, "text").(string), "|Open incident>") {
						t.Errorf("the link of %q at %s is cut", unit, path)
					}
				}
			}
		}
	})
}
