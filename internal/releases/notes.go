// SPDX-License-Identifier: Apache-2.0

package releases

import "strings"

// Notes returns the part of a CHANGELOG below the heading of a version, or the one below Unreleased
// where it has none.
func Notes(changelog, version string) string {
	for _, name := range []string{strings.TrimPrefix(version, "v"), version, "Unreleased"} {
		_, part, ok := strings.Cut(changelog, "\n## ["+name+"]")
		if !ok {
			continue
		}
		_, part, _ = strings.Cut(part, "\n")
		if end := strings.Index(part, "\n## "); end >= 0 {
			part = part[:end]
		}
		return strings.TrimSpace(part)
	}
	return ""
}
