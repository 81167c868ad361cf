// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/vigil-monitor/vigil"
)

// cutMark stands at the end of a text that was cut.
const cutMark = "…"

// cut bounds a text to so many bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return whole(vigil.Truncate(text, limit-len(cutMark))) + cutMark
}

// cutMarkup bounds an escaped text of a chat to so many characters, and leaves no half of
// what a template has between < and >.
func cutMarkup(text string, limit int) string {
	short := cutCharacters(text, limit)
	if short == text {
		return text
	}
	short = strings.TrimSuffix(short, cutMark)
	if open := strings.LastIndexByte(short, '<'); open >= 0 && !strings.Contains(short[open:], ">") {
		short = short[:open]
	}
	return short + cutMark
}

// cutCharacters bounds a text to so many characters. Receivers count either code points or
// units of UTF-16, of which a text never has fewer.
func cutCharacters(text string, limit int) string {
	if characters(text) <= limit {
		return text
	}
	left := limit - characters(cutMark)
	for i, r := range text {
		if left -= max(1, utf16.RuneLen(r)); left < 0 {
			return whole(text[:i]) + cutMark
		}
	}
	return text
}

// characters is the length of a text in units of UTF-16.
func characters(text string) int {
	n := 0
	for _, r := range text {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

// longestEntity is that of escapeChat and of escapeHTML, in bytes, without the semicolon.
const longestEntity = len("&quot")

// whole drops the beginning of an entity, such as &am, and a joiner of emoji from the end of
// a text that was cut there.
func whole(text string) string {
	text = strings.TrimRight(text, "\u200d")
	start := strings.LastIndexByte(text, '&')
	if start < 0 || len(text)-start > longestEntity {
		return text
	}
	for _, r := range text[start+1:] {
		if r != '#' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return text
		}
	}
	return text[:start]
}

// blank reports whether a text has nothing that is seen.
func blank(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.Is(unicode.Other, r) && !unicode.Is(unicode.Variation_Selector, r) &&
			!unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}
