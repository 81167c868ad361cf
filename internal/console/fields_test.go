// SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/console"
)

// TestFields holds that the values of one thing fit a terminal with every character, and that a pipe
// gets them as they are.
func TestFields(t *testing.T) {
	t.Parallel()
	url := "https://shop.example.com/" + strings.Repeat("a/very/long/path/", 12) + "?token=***&x=…"
	fields := console.Fields{
		{Name: "name", Value: console.Text("A check with a name of many words that a narrow terminal has no room for")},
		{Name: "config.url", Value: console.Text(url)},
		{Name: "place", Value: console.Text(strings.Repeat("東京の店", 30))},
		{Name: "empty", Value: console.Text("")},
		{Name: "health", Value: console.Word("healthy").Toned(console.Good)},
	}
	long := append(fields[:len(fields):len(fields)], console.Field{
		Name: "config.headers.X-A-Header-Whose-Name-Is-Longer-Than-A-Terminal", Value: console.Text(url),
	})
	for _, all := range []console.Fields{fields, long} {
		var whole strings.Builder
		for _, field := range all {
			c, out, _ := on("")
			if err := c.Print(console.Answer{Parts: []console.Part{console.Fields{field}}}); err != nil {
				t.Fatal(err)
			}
			if out.String() == "" || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("a pipe gets %q", out)
			}
			whole.WriteString(out.String())
		}
		for _, width := range []int{0, 24, 25, 40, 60, 61, 100, 400} {
			c, out, _ := on("")
			c.OutTTY, c.Width = true, width
			if err := c.Print(console.Answer{Parts: []console.Part{all}}); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(out.String()) {
				if n := console.Width(strings.TrimRight(line, "\n")); width > 0 && n > width {
					t.Errorf("at %d a line has %d columns: %s", width, n, line)
				}
			}
			without := func(text string) string { return strings.Join(strings.Fields(text), "") }
			if got, want := without(out.String()), without(whole.String()); got != want {
				t.Errorf("at %d it is\n%s\nexpected\n%s", width, got, want)
			}
		}
	}
	c, out, _ := on("")
	c.OutTTY, c.Width = true, 40
	if err := c.Print(console.Answer{Parts: []console.Part{fields[:1]}}); err != nil {
		t.Fatal(err)
	}
	const want = "name  A check with a name of many words\n      that a narrow terminal has no room\n      for\n"
	if out.String() != want {
		t.Errorf("it is\n%sexpected\n%s", out, want)
	}
}
