package notify_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"vigil"
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
			at(t, got, "text") != "Checkout API is failing\nexpected status 200, got 503" ||
			at(t, got, "blocks", 0, "type") != "header" || at(t, got, "blocks", 0, "text", "text") != "Checkout API is failing" ||
			at(t, got, "blocks", 1, "text", "type") != "mrkdwn" || at(t, got, "blocks", 1, "text", "text") != "expected status 200, got 503" ||
			at(t, got, "blocks", 2, "text", "text") != "<"+message().Variables["incident_url"]+"|Incident>" {
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
		parse(t, registry(), vigil.ChannelChat, map[string]any{"webhook_url": r.url,
			"body_template": "<!here> *{{check_name}}*"}).Send(t.Context(), message())
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
}
