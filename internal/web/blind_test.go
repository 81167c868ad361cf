// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestPagesSayThatAWorkerHasLostItsLine: every page does while it is so, and the regions of the
// form of a check.
func TestPagesSayThatAWorkerHasLostItsLine(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	const said, note = "A worker has lost its line: Frankfurt, Newark", "no line"
	blind := func(since *time.Time) {
		t.Helper()
		if _, err := o.site.store.DB().NewRaw("UPDATE worker_leases SET blind_since = ?", since).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		// The pages keep the regions for some seconds.
		timingtest.Eventually(t, 30*time.Second, "the overview knows of the line", func() bool {
			return strings.Contains(o.view(t, "/app").raw, said) == (since != nil)
		})
		for path, text := range map[string]string{"/app/incidents": said, "/app/channels": said, "/app/checks/new?type=https": note} {
			if got := strings.Contains(o.view(t, path).raw, text); got != (since != nil) {
				t.Errorf("%s says %q: %t", path, text, got)
			}
		}
	}
	blind(nil)
	blind(new(time.Now().Add(-2 * time.Minute)))
	blind(nil)
}
