// SPDX-License-Identifier: Apache-2.0

package vigil

import "unicode/utf8"

// Truncate cuts a text to at most limit bytes, at the border of a character.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:max(0, limit)]
}

// TruncateCharacters cuts a text to at most limit characters (code points of Unicode).
func TruncateCharacters(text string, limit int) string {
	for i := range text {
		if limit--; limit < 0 {
			return text[:i]
		}
	}
	return text
}

// Shorten cuts a text to at most limit bytes, at the border of a character, with … where its
// end was. Limit is at least 3, which are the bytes of the mark.
func Shorten(text string, limit int) string {
	const mark = "…"
	if len(text) <= limit {
		return text
	}
	return Truncate(text, limit-len(mark)) + mark
}
