// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isBinary reports whether the beginning of a body is something else than text.
func isBinary(body []byte, contentType string) bool {
	odd := 0
	for rest := body; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == 0:
			return true
		case r == utf8.RuneError && size == 1 && len(rest) >= utf8.UTFMax, unicode.IsControl(r) && !isSpace(r):
			odd++ // the last character may be cut
		}
		rest = rest[size:]
	}
	if declaredText(contentType) {
		return 3*odd > len(body)
	}
	return 20*odd > len(body)
}

// declaredText reports whether a Content-Type says text. It may be in a character set of
// which some bytes are no UTF-8.
func declaredText(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	for _, word := range []string{"json", "xml", "javascript", "x-www-form-urlencoded"} {
		if strings.HasSuffix(kind, word) {
			return true
		}
	}
	return strings.HasPrefix(kind, "text/")
}

// readable replaces the characters of a text that control a terminal or turn the direction
// of what follows. Line ends and tabs stay.
func readable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case isSpace(r):
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return utf8.RuneError
		}
		return r
	}, text)
}

func isSpace(r rune) bool { return r == '\n' || r == '\t' || r == '\r' }

func sortedNames(header http.Header) []string { return slices.Sorted(maps.Keys(header)) }
