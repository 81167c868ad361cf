// SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/console"
)

// TestEntries holds that a summary fits its terminal, with every word, and is the same in a pipe at any
// width.
func TestEntries(t *testing.T) {
	t.Parallel()
	summary := console.Entries{
		{Label: "carried over whole", What: "2 checks"},
		{Label: "carried over partly", What: "12 checks, 3 channels, 12 rules", Notes: []string{
			"retry_interval: 20: after a failure it tries again every 20 s",
			"type mysql: the protocol: only the port is \x1b[2Jchecked",
		}},
	}
	const whole = "  carried over whole   2 checks\n" +
		"  carried over partly  12 checks, 3 channels, 12 rules  retry_interval: 20: after a failure it tries again every 20 s\n" +
		"                                                        type mysql: the protocol: only the port is [2Jchecked\n"
	for _, width := range []int{0, 40, 60, 80, 100, 200} {
		for _, terminal := range []bool{false, true} {
			c, out, _ := on("")
			c.OutTTY, c.Width = terminal, width
			if err := c.Print(console.Answer{Parts: []console.Part{summary}}); err != nil {
				t.Fatal(err)
			}
			if !terminal || width == 0 || width == 200 {
				if out.String() != whole {
					t.Errorf("at %d the summary is\n%s\nexpected\n%s", width, out, whole)
				}
				continue
			}
			for line := range strings.Lines(out.String()) {
				if n := console.Width(strings.TrimRight(line, "\n")); n > width {
					t.Errorf("at %d a line has %d characters: %s", width, n, line)
				}
			}
			if got, want := strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(whole), " "); got != want {
				t.Errorf("at %d the words are %q", width, got)
			}
		}
	}
}
