// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"strings"
	"testing"
)

// settingsFrom reads settings that are written as flags; the others have their defaults.
func settingsFrom(t *testing.T, flags ...string) Settings {
	t.Helper()
	given := make(map[string]string)
	for _, one := range AllSettings() {
		if one.Fallback != "" {
			given[one.Variable] = one.Fallback
		}
		for _, flag := range flags {
			if name, value, _ := strings.Cut(flag, "="); name == "--"+one.Flag() {
				given[one.Variable] = value
			}
		}
	}
	given["VIGIL_DATA_DIR"] = t.TempDir()
	read, err := ParseSettings(given)
	if err != nil {
		t.Fatal(err)
	}
	return read
}
