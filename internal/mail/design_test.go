// SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
)

// longLetter is the longest letter that a channel sends: a template makes 16 KiB of text, and each character is written
// as several.
func longLetter() mail.Letter {
	l := mail.Letter{
		Tone: "critical", Badge: "Critical", Title: strings.Repeat(`"<&`, 340), Footer: []string{strings.Repeat(`"`, 200)},
		Unsubscribe: "https://vigil.example.com/unsubscribe?token=" + strings.Repeat("t", 300),
		Parts: []mail.Part{
			{Text: strings.Repeat(`"`, 16<<10)},
			{Facts: []mail.Fact{{Name: "Target", Value: strings.Repeat("<", 2048)}, {Name: "Also notified", Value: strings.Repeat("'", 800)}}},
			{Quote: strings.Repeat(`"`, 600)},
			{Summary: "Last 30 results"},
			{Buttons: []mail.Button{{Text: "Open incident", URL: "https://vigil.example.com/app/incidents/1"}}},
		},
	}
	for range 30 {
		l.Parts[3].Bars = append(l.Parts[3].Bars, mail.Bar{Passed: true, Failed: true})
	}
	return l
}

// shortLetter has a part of each kind.
func shortLetter() mail.Letter {
	return mail.Letter{
		Tone: "warning", Badge: "Warning", Title: "Shop is slow", Footer: []string{"Sent by Vigil for Shop"}, Unsubscribe: "https://v.example/u",
		Parts: []mail.Part{
			{Text: "The response took 842 ms.\nSecond line"},
			{Facts: []mail.Fact{{Name: "Since", Value: "now"}}},
			{Quote: "HTTP/1.1 200 OK\n<body>"},
			{Bars: []mail.Bar{{Passed: true}, {Failed: true}, {}}, Summary: "Last 3 results: 1 passed, 1 failed, 1 missed"},
			{Buttons: []mail.Button{
				{
					Text: "Open incident",
					URL:  "https://v.example/i",
				},
				{Text: "Acknowledge", URL: "https://v.example/a"},
				{Text: "No", URL: "javascript:alert(1)"},
			}},
		},
	}
}

// TestLetterText holds what programs without HTML show.
func TestLetterText(t *testing.T) {
	t.Parallel()
	l := shortLetter()
	want := "The response took 842 ms.\nSecond line\n\nSince: now\n\n    HTTP/1.1 200 OK\n    <body>\n\n" +
		"Last 3 results: 1 passed, 1 failed, 1 missed\n\nOpen incident:\nhttps://v.example/i\nAcknowledge:\nhttps://v.example/a\n" +
		"No:\njavascript:alert(1)\n\n-- \nSent by Vigil for Shop\nTo get no more of these mails, open https://v.example/u\n"
	if got := l.Text(); got != want {
		t.Errorf("got %q", got)
	}
}

// TestLetterFitsTheClients holds the known limits of mail programs: Gmail cuts a mail behind 102 KB and drops a stylesheet
// of more than 8,192 characters; Outlook and Gmail know neither flex, grid nor position; pictures, fonts and scripts are
// not loaded, so there are none.
func TestLetterFitsTheClients(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]mail.Letter{"Long": longLetter(), "Short": shortLetter()} {
		text := l.HTML()
		if text == "" {
			t.Fatalf("%s has no HTML", name)
		}
		if len(text) > 102_000 {
			t.Errorf("%s has %d bytes", name, len(text))
		}
		style := text[strings.Index(text, "<style>"):strings.Index(text, "</style>")]
		if len(style) > 8192 {
			t.Errorf("%s: the stylesheet has %d characters", name, len(style))
		}
		for _, refused := range []string{"flex", "grid", "position:", "float", "url(", "@import", "javascript:", "<!--"} {
			if strings.Contains(strings.ReplaceAll(text, "&#34;", ""), refused) {
				t.Errorf("%s has %s", name, refused)
			}
		}
		elements(t, name, text)
	}
	short := shortLetter()
	if text := short.HTML(); strings.Count(text, "<a ") != 3 || !strings.Contains(text, "&lt;body&gt;") {
		t.Errorf("links or markup of others in %s", text)
	}
}

// elements walks through the HTML: each table says that it is one for layout, and every element is known to all programs.
func elements(t *testing.T, name, text string) {
	t.Helper()
	known := " html head meta title style body div table tbody tr td p h1 br a "
	for node := range treeOf(t, text).Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if !strings.Contains(known, " "+node.Data+" ") {
			t.Errorf("%s has <%s>", name, node.Data)
		}
		if role := attribute(node, "role"); node.Data == "table" && role != "presentation" && role != "img" {
			t.Errorf("%s has a table with the role %q", name, role)
		}
	}
}

func treeOf(t *testing.T, text string) *html.Node {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// TestLetterCanBeRead holds the contrast of each text with what is behind it, light and dark: 4.5 or more (WCAG 2.2,
// 1.4.3).
func TestLetterCanBeRead(t *testing.T) {
	t.Parallel()
	l := shortLetter()
	text := l.HTML()
	dark := text[strings.Index(text, "prefers-color-scheme: dark"):strings.Index(text, "@media (max-width")]
	colour := func(class, property string) string {
		rule := regexp.MustCompile(`\.` + class + ` \{([^}]*)\}`).FindStringSubmatch(dark)
		if rule == nil {
			t.Fatalf("no dark %s", class)
		}
		value := regexp.MustCompile(`(?:^|[ ;])` + property + `: (#[0-9a-f]{6})`).FindStringSubmatch(rule[1])
		if value == nil {
			t.Fatalf("no dark %s of %s", property, class)
		}
		return value[1]
	}
	card := colour("card", "background-color")
	for _, class := range []string{"text", "soft", "meta", "link", "critical", "warning", "info", "resolved"} {
		if got := contrast(t, colour(class, "color"), card); got < 4.5 {
			t.Errorf("dark %s has a contrast of %.1f", class, got)
		}
	}
	for _, class := range []string{"quote", "main", "other"} {
		if got := contrast(t, colour(class, "color"), colour(class, "background-color")); got < 4.5 {
			t.Errorf("dark %s has a contrast of %.1f", class, got)
		}
	}
	for tone, behind := range map[string]string{
		"#15181c": "#ffffff", "#495159": "#f1f3f5", "#626b75": "#ffffff", "#3a4cc8": "#ffffff", "#c22a1c": "#ffffff", "#8f5600": "#ffffff",
		"#0e7a56": "#ffffff", "#ffffff": "#15181c",
	} {
		if got := contrast(t, tone, behind); got < 4.5 {
			t.Errorf("%s on %s has a contrast of %.1f", tone, behind, got)
		}
	}
	for _, used := range regexp.MustCompile(`[;"]color:(#[0-9a-f]{6})`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains("#15181c #495159 #626b75 #3a4cc8 #c22a1c #8f5600 #0e7a56 #ffffff", used[1]) {
			t.Errorf("%s is used, and its contrast is not judged", used[1])
		}
	}
}

// contrast is the ratio of two colours (WCAG 2.2, "contrast ratio").
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light := func(colour string) float64 {
		sum := 0.0
		for i, share := range []float64{0.2126, 0.7152, 0.0722} {
			n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			part := float64(n) / 255
			if part <= 0.04045 {
				part /= 12.92
			} else {
				part = math.Pow((part+0.055)/1.055, 2.4)
			}
			sum += share * part
		}
		return sum
	}
	x, y := light(a), light(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// TestLetterTones holds that each tone has a colour of its own.
func TestLetterTones(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for _, tone := range []string{"", "critical", "warning", "info", "resolved"} {
		l := mail.Letter{Tone: tone, Badge: "x", Title: "t"}
		colour := regexp.MustCompile(`border-top:4px solid (#[0-9a-f]{6})`).FindStringSubmatch(l.HTML())
		if colour == nil || seen[colour[1]] != "" {
			t.Errorf("%q has the colour %v, as %s", tone, colour, fmt.Sprint(seen))
			continue
		}
		seen[colour[1]] = tone + "!"
	}
}

// TestTextGetsTheDesign holds that a mail that has a text only is sent with HTML as well: an address becomes a button, what
// is indented a quote, and the signature the footer with one way to unsubscribe.
func TestTextGetsTheDesign(t *testing.T) {
	t.Parallel()
	server := mailtest.Start(t, mailtest.Options{})
	m := mailer(t, mail.Options{URL: "smtp://" + server.Addr, From: "alerts@vigil.test"})
	text := "First\nline <b>\n\nhttps://v.example/open\n\n    name: x\n    scopes: y\n\nEnd.\n"
	for _, one := range []mail.Message{
		{Subject: "Hello", Text: text, Button: "Confirm"},
		{Subject: "Page", Text: "News\n\n-- \nYou subscribed.\nTo unsubscribe, open https://v.example/u\n", Unsubscribe: "https://v.example/u"},
	} {
		one.To = []string{"ada@example.com"}
		if err := m.Send(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	_, bodies := parts(t, server.Messages()[0].Data)
	if bodies["text/plain"] != text {
		t.Errorf("text %q", bodies["text/plain"])
	}
	for _, want := range []string{
		">Hello</h1>", ">First<br>\nline &lt;b&gt;</p>", `href="https://v.example/open"`, ">Confirm</a>", "name: x<br>\nscopes: y</div>",
		">End.</p>", ">Sent by Vigil</p>",
	} {
		if !strings.Contains(bodies["text/html"], want) {
			t.Errorf("%q is not in %s", want, bodies["text/html"])
		}
	}
	_, bodies = parts(t, server.Messages()[1].Data)
	if shown := bodies["text/html"]; !strings.Contains(shown, "You subscribed.<br>") || strings.Count(shown, "https://v.example/u") != 1 ||
		!strings.Contains(shown, ">Unsubscribe</a>") || strings.Contains(shown, "Sent by Vigil") {
		t.Errorf("got %s", shown)
	}
}
