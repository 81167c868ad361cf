// SPDX-License-Identifier: Apache-2.0

package console

import (
	"github.com/rivo/uniseg"
)

// Width is how many columns of a terminal a text without line breaks takes: a character of
// East Asia and an emoji take two, an accent on a letter takes none (Unicode, Annexes 11 and 29).
func Width(text string) int { return uniseg.StringWidth(text) }

// Cut bounds a text without line breaks to so many columns of a terminal, with … where its end
// was. It never divides what is seen as one character.
func Cut(text string, width int) string {
	if Width(text) <= width {
		return text
	}
	const mark = "…"
	if width < Width(mark) {
		return ""
	}
	return head(text, width-Width(mark)) + mark
}

// head returns the beginning of a text that takes so many columns at most.
func head(text string, width int) string {
	rest, state := text, -1
	for rest != "" {
		_, after, columns, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if width -= columns; width < 0 {
			return text[:len(text)-len(rest)]
		}
		rest, state = after, next
	}
	return text
}
