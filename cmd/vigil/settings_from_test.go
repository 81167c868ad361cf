// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// settingsFrom reads settings that are written as flags; the others have their defaults.
func settingsFrom(t *testing.T, flags ...string) settings {
	t.Helper()
	given := make(map[string]string)
	for _, one := range allSettings() {
		if one.fallback != "" {
			given[one.variable] = one.fallback
		}
		for _, flag := range flags {
			if name, value, _ := strings.Cut(flag, "="); name == "--"+one.flag() {
				given[one.variable] = value
			}
		}
	}
	given["VIGIL_DATA_DIR"] = t.TempDir()
	read, err := parseSettings(given)
	if err != nil {
		t.Fatal(err)
	}
	return read
}
