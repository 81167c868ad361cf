// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// FuzzTemplate renders every template that is accepted, with a value that may
// look like a template itself, and compares with a second way to render.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []struct{ template, value string }{
		{"{{check_name}}", "Checkout"},
		{"a {{ severity }} b {{check_name}} }} c", "{{check_id}}"},
		{"{{check_name}}{{check_name}}", "\"}\\\x00\r\n</script>"},
		{"{ {check_name} }", "{{"},
		{"}}{{check_name}}{", "}}"},
		{"\xff{{check_name}}", "\xff\u2028"},
	} {
		f.Add(seed.template, seed.value)
	}
	placeholder := regexp.MustCompile(`\{\{[ \t]*([a-z_]+)[ \t]*\}\}`)
	r := registry()
	f.Fuzz(func(t *testing.T, template, value string) {
		config, err := json.Marshal(map[string]string{"url": "https://hooks.example.com", "title_template": template})
		if err != nil {
			t.Skip()
		}
		sender, err := r.Parse(vigil.ChannelWebhook, config)
		if err != nil {
			if vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Fatalf("not a caller's mistake: %v", err)
			}
			return
		}
		m := message()
		m.Variables = map[string]string{"check_name": value}
		var got struct {
			Data struct{ Message struct{ Title string } }
		}
		frozen := notify.Freeze(sender, m)
		if err := json.Unmarshal(frozen, &got); err != nil {
			t.Fatalf("%v in %q", err, frozen)
		}
		want := m.Title
		if template != "" {
			asJSON := strings.Map(func(r rune) rune { return r }, template) // a byte that is no character becomes one
			want = placeholder.ReplaceAllStringFunc(asJSON, func(found string) string {
				if strings.Contains(found, "check_name") {
					return line(value)
				}
				return ""
			})
			want = line(want)
		}
		title := got.Data.Message.Title
		if len(want) <= 1024 && title != want {
			t.Fatalf("%q with %q gives %q instead of %q", template, value, title, want)
		}
		if len(title) > 1024 || !utf8.ValidString(title) || strings.ContainsFunc(title, unicode.IsControl) {
			t.Fatalf("%q is not fit for a header", title)
		}
	})
}

// line joins the lines of a text.
func line(text string) string {
	words := strings.FieldsFunc(strings.ToValidUTF8(text, " "), func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
	return strings.Join(words, " ")
}

// TestDocumentedTemplates sends the beginning and the end of an incident with each template that
// docs/messages.md shows: a reader can tell one from the other.
func TestDocumentedTemplates(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/messages.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("`([^`]*\\{\\{incident_status\\}\\}[^`]*)`").FindAllStringSubmatch(string(document), -1)
	if len(shown) < 3 {
		t.Fatalf("the document shows %d templates", len(shown))
	}
	for _, template := range shown {
		for _, status := range []string{"active", "resolved"} {
			r := receive(t, nil)
			m := message()
			m.Variables["incident_status"] = status
			config := map[string]any{"webhook_url": r.url, "title_template": template[1], "body_template": template[1]}
			parse(t, registry(), vigil.ChannelChat, config).Send(t.Context(), m)
			got := decoded(t, r.only(t).body)
			for _, text := range []any{at(t, got, "text"), at(t, got, "blocks", 0, "text", "text"), at(t, got, "blocks", 1, "text", "text")} {
				if !strings.Contains(text.(string), status) { //nolint:forcetypeassert // a text
					t.Errorf("%q does not say %s: %s", template[1], status, text)
				}
			}
		}
	}
}
