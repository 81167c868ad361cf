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
		for i, flag := range flags {
			name, value, whole := strings.Cut(flag, "=")
			if name != "--"+one.Flag() {
				continue
			}
			if !whole {
				value = flags[i+1]
			}
			given[one.Variable] = value
		}
	}
	given["VIGIL_DATA_DIR"] = t.TempDir()
	read, err := ParseSettings(given)
	if err != nil {
		t.Fatal(err)
	}
	return read
}
