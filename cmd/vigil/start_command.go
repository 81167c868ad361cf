// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
)

// startCommand starts the platform of a data directory.
func startCommand(dir string) string {
	standard := defaultDataDir()
	if resolved, err := filepath.EvalSymlinks(standard); err == nil {
		standard = resolved
	}
	if dir == standard {
		return "vigil up"
	}
	if strings.ContainsFunc(dir, func(r rune) bool { return !strings.ContainsRune(shellPlain, r) }) {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "vigil up --data-dir " + dir
}

// shellPlain are the characters that a shell takes as they are.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,="
