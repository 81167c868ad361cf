// SPDX-License-Identifier: Apache-2.0

package platform

import "testing"

func TestSmallMachines(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	for _, one := range []struct {
		mode   string
		memory int64
		want   bool
	}{
		{"auto", 2*gib - 1, true},
		{"auto", 2 * gib, false},
		{"auto", 0, false}, // not known
		{"on", 64 * gib, true},
		{"off", gib / 2, false},
	} {
		var mode smallMode
		if err := mode.UnmarshalText([]byte(one.mode)); err != nil {
			t.Fatal(err)
		}
		if got := mode.is(one.memory); got != one.want {
			t.Errorf("%s with %d bytes: %v", one.mode, one.memory, got)
		}
	}
	var mode smallMode
	if err := mode.UnmarshalText([]byte("yes")); err == nil || err.Error() != `is "yes"; it must be auto, on or off` {
		t.Errorf("yes: %v", err)
	}
}
