// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"strings"
	"unicode"
)

// The characters that emoji are joined with (Unicode Technical Standard 51, section 1.4).
const (
	emojiJoiner    = '\u200d'
	textStyle      = '\ufe0e'
	emojiStyle     = '\ufe0f'
	firstSkinColor = '\U0001f3fb'
	lastSkinColor  = '\U0001f3ff'
)

// pictographs are the blocks with the characters of the property Extended_Pictographic
// (emoji-data.txt of Unicode): no letter, mark or digit is in them.
var pictographs = &unicode.RangeTable{ //nolint:gochecknoglobals // a constant that Go cannot spell as one
	R16: []unicode.Range16{
		{Lo: 0x00a9, Hi: 0x00a9, Stride: 1},
		{Lo: 0x00ae, Hi: 0x00ae, Stride: 1},
		{Lo: 0x203c, Hi: 0x203c, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1},
		{Lo: 0x2122, Hi: 0x2122, Stride: 1},
		{Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2190, Hi: 0x21ff, Stride: 1},
		{Lo: 0x2300, Hi: 0x23ff, Stride: 1},
		{Lo: 0x24c2, Hi: 0x24c2, Stride: 1},
		{Lo: 0x25a0, Hi: 0x27bf, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2b00, Hi: 0x2bff, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1},
		{Lo: 0x303d, Hi: 0x303d, Stride: 1},
		{Lo: 0x3297, Hi: 0x3297, Stride: 1},
		{Lo: 0x3299, Hi: 0x3299, Stride: 1},
	},
	R32:         []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}},
	LatinOffset: 2,
}

// regionFlags are the flags of England, Scotland and Wales, the only ones that are written
// with tags (emoji-sequences.txt of Unicode). Tags behind anything else hide a text.
var regionFlags = strings.NewReplacer( //nolint:gochecknoglobals // a constant that Go cannot spell as one
	"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001f3f4",
	"\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", "\U0001f3f4",
	"\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f", "\U0001f3f4",
)

// withoutEmoji returns a text without the characters that join emoji, where they do: a
// joiner between two emoji, and the style of one behind it. Elsewhere they stay.
func withoutEmoji(text string) string {
	runes := []rune(regionFlags.Replace(text))
	var plain strings.Builder
	emoji := false // what stands before is an emoji that can be joined
	for i, r := range runes {
		switch {
		case r == textStyle && i > 0 && unicode.Is(pictographs, runes[i-1]):
			emoji = false
		case r == emojiStyle && i > 0 && unicode.Is(pictographs, runes[i-1]):
		case r == emojiJoiner && emoji && i+1 < len(runes) && unicode.Is(pictographs, runes[i+1]) && !isSkinColor(runes[i+1]):
			emoji = false
		default:
			emoji = unicode.Is(pictographs, r)
			plain.WriteRune(r)
		}
	}
	return plain.String()
}

func isSkinColor(r rune) bool { return r >= firstSkinColor && r <= lastSkinColor }
