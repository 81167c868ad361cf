// SPDX-License-Identifier: Apache-2.0

package attest

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/module"
)

// licences are sentences that only the text of one licence has, most particular first.
var licences = []struct{ id, says string }{ //nolint:gochecknoglobals // a table
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"BSD-3-Clause", "neither the name"},
	{"BSD-3-Clause", "names of its contributors may be used to endorse"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"MIT", "permission is hereby granted, free of charge"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
	{"CC0-1.0", "cc0 1.0 universal"},
}

// licenceOf returns the SPDX identifier of the licence of a module, from its file in the module cache;
// "" where it has none or another one. A module may have several: this is the first of its root.
func licenceOf(cache, path, version string) string {
	escaped, err := module.EscapePath(path)
	if err != nil || cache == "" {
		return ""
	}
	at, err := module.EscapeVersion(version)
	if err != nil {
		return ""
	}
	dir := filepath.Join(cache, filepath.FromSlash(escaped)+"@"+at)
	for _, name := range []string{"LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "License", "COPYING", "LICENSE-MIT", "MIT-LICENSE.txt"} {
		text, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // of the module cache
		if err == nil {
			return recognize(string(text))
		}
	}
	return ""
}

// recognize returns the identifier of a licence by its text.
func recognize(text string) string {
	words := strings.Join(strings.Fields(strings.ToLower(text)), " ")
	for _, l := range licences {
		if strings.Contains(words, l.says) {
			return l.id
		}
	}
	return ""
}
