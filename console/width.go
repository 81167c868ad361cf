package console

import (
	"strings"

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
	var short strings.Builder
	left, rest, state := width-Width(mark), text, -1
	for {
		var character string
		var columns int
		character, rest, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if left -= columns; left < 0 {
			return short.String() + mark
		}
		short.WriteString(character)
	}
}
