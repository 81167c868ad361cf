// SPDX-License-Identifier: Apache-2.0

package manifest_test

import (
	"fmt"
	"testing"

	"github.com/vigil-monitor/vigil/internal/manifest"
)

// TestKeys pins that each key is made once, also of names that look like keys with a number.
func TestKeys(t *testing.T) {
	t.Parallel()
	var keys manifest.Keys
	keys.Take("home-3")
	for _, one := range [][2]string{
		{"Home", "home"},
		{"home!", "home-2"},
		{"HOME", "home-4"},
		{"home 2", "home-2-2"},
		{"home", "home-5"},
		{"日本", "check"},
		{"", "check-2"},
	} {
		if key := keys.Free("", one[0], "check"); key != one[1] {
			t.Errorf("%q has the key %s, expected %s", one[0], key, one[1])
		}
	}
	for i := range 100_000 { // quadratic, this takes minutes
		if key := keys.Free("", "Same", "check"); i > 0 && key != fmt.Sprintf("same-%d", i+1) {
			t.Fatal(key)
		}
	}
}
