// SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/console"
)

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 5, ""},
		{"check", 5, "check"},
		{"checks", 5, "chec…"},
		{"checks", 1, "…"},
		{"checks", 0, ""},
		{"checks", -1, ""},
		{"東京の店", 8, "東京の店"},
		{"東京の店", 7, "東京の…"},
		{"東京の店", 6, "東京…"},                // half of a character is none
		{"cafe\u0301s", 5, "cafe\u0301s"}, // an accent of its own takes no column
		{"cafe\u0301 Paris", 5, "cafe\u0301…"},
		{"👩‍👩‍👧 family", 3, "👩‍👩‍👧…"},
		{"👩‍👩‍👧 family", 2, "…"},
		{"🇩🇪🇫🇷 shop", 4, "🇩🇪…"},
		{"a\xffb", 2, "a…"},
	} {
		got := console.Cut(tt.text, tt.width)
		if got != tt.want || console.Width(got) > max(tt.width, 0) {
			t.Errorf("%q in %d columns is %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

// Columns stand below one another also when names have wide characters, and a narrow
// terminal gets no line that is longer than it is wide.
func TestTableOfWideCharacters(t *testing.T) {
	t.Parallel()
	for _, width := range []int{0, 80, 30} {
		c, out, _ := on("")
		c.OutTTY, c.Width = true, width
		list := console.List{Columns: console.Columns("NAME", "STATE")}
		for _, name := range []string{"Shop", "東京の店と大阪の店と名古屋の店の検査", "Cafe\u0301 🇫🇷"} {
			list.Rows = append(list.Rows, []console.Cell{console.Text(name), console.Word("healthy")})
		}
		if err := c.Print(console.Answer{Parts: []console.Part{list}}); err != nil {
			t.Fatal(err)
		}
		begins := make(map[int]bool)
		for line := range strings.Lines(out.String()) {
			line = strings.TrimSuffix(line, "\n")
			if width > 0 && console.Width(line) > width {
				t.Errorf("a terminal of %d columns gets %q", width, line)
			}
			name, _, _ := strings.Cut(strings.Replace(line, "STATE", "healthy", 1), "healthy")
			begins[console.Width(name)] = true
		}
		if len(begins) != 1 {
			t.Errorf("at %d the second column begins at %v:\n%s", width, begins, out)
		}
	}
}
