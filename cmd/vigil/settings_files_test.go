// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/vigil-monitor/vigil/internal/manifest"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// TestFilesCannotReadSettings holds that no file of a project reads what the program is
// configured with.
func TestFilesCannotReadSettings(t *testing.T) {
	t.Parallel()
	for _, one := range platform.AllSettings() {
		if !manifest.OwnVariable(one.Variable) {
			t.Errorf("a file may read ${%s}", one.Variable)
		}
	}
}
