// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// TestTurnTimeout holds what docs/operations.md says of how long a turn may keep a result while Postgres is
// away.
func TestTurnTimeout(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	one, several := activities.TurnTimeout(region, 1), activities.TurnTimeout(region, 2)
	for _, place := range []string{vigil.HeartbeatRegion, office} {
		if d := activities.TurnTimeout(place, 1); d != several {
			t.Errorf("a turn in %s may take %v, want %v as one of several slots", place, d, several)
		}
	}
	said := fmt.Sprintf("than its turn may take: %.0f minutes, and %.0f minutes where a turn covers", one.Minutes(), several.Minutes())
	if !strings.Contains(strings.Join(strings.Fields(string(page)), " "), said) {
		t.Errorf("the page does not say %q", said)
	}
}
