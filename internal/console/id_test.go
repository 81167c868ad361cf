// SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"testing"

	"github.com/vigil-monitor/vigil/internal/console"
)

func TestShortID(t *testing.T) {
	t.Parallel()
	const id = "01a21251-cd90-7399-8ff4-8be26f2bd41c"
	if got := console.ShortID(id); got != "6f2bd41c" {
		t.Errorf("shown as %s", got)
	}
	if got := console.ShortID(""); got != "" {
		t.Errorf("no id is shown as %s", got)
	}
	for _, part := range []string{
		"6f2bd41c", "d41c", "6F2BD41C", "01a2", "01a21251", "01a21251-cd90", "01a21251cd90", "8ff4-8be26f2bd41c", "8ff48be26f2bd41c",
		"-8be26f2bd41c", "cd907399", "CD90-7399-8ff4", id, "01a21251cd9073998ff48be26f2bd41c",
	} {
		if !console.IsIDPart(part) || !console.HasIDPart(id, part) {
			t.Errorf("%s is not taken for a part of %s", part, id)
		}
	}
	for _, text := range []string{"", "41c", "----", "4-1-c", "Shop", "d41g", id + "0", "d41c "} {
		if console.IsIDPart(text) {
			t.Errorf("%q is taken for a part of an id", text)
		}
	}
	for _, other := range []string{"6f2b", "cd90", "41cd"} {
		if console.HasIDPart(id, other) {
			t.Errorf("%s is neither the beginning nor the end", other)
		}
	}
}
