// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestPingWhereItIsForbidden: a machine without ICMP says so, and nothing of the
// target, however healthy or dead that is.
func TestPingWhereItIsForbidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	probetest.ForbidICMP(t)
	if missing := w.Unavailable(t.Context()); !slices.Equal(missing, []vigil.CheckType{vigil.TypePing}) {
		t.Errorf("unavailable: %v, want ping", missing)
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		seen := w.run(vigil.TypePing, object{"host": host})
		if !seen.Unavailable || !strings.Contains(seen.Error, "not available in this region") {
			t.Errorf("%s: got %+v", host, seen)
		}
	}
}
