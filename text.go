// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckLine refuses a text that no name and no value of a label has: with characters that
// break a line wherever it is shown, or that make it look like another text. The error is
// a CodeInvalid error about the member.
func CheckLine(member, text string) error {
	if err := checkBreaks(member, text); err != nil {
		return err
	}
	plain := withoutEmoji(text)
	if i := strings.IndexFunc(plain, misleads); i >= 0 {
		r, _ := utf8.DecodeRuneInString(plain[i:])
		return Invalid(member, "must not contain invisible characters or those that change the direction of text; it has %U", r)
	}
	return nil
}

// JoinWords writes words as a sentence does: "a", "a and b", "a, b and c".
func JoinWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// checkBreaks refuses characters that break a line wherever the text is shown.
func checkBreaks(member, text string) error {
	if strings.ContainsFunc(text, breaksLine) {
		return Invalid(member, "must not contain line breaks or control characters")
	}
	return nil
}

func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// misleads reports whether a character makes a text look like another one: it has no
// width, or it changes the direction of the characters around it (Unicode Technical
// Report 36, section 2). The joiners U+200C and U+200D are among them outside of emoji, so
// texts in scripts that need them are written without.
func misleads(r rune) bool {
	switch {
	case unicode.Is(unicode.Bidi_Control, r), r >= '\u200b' && r <= '\u200d', r >= '\u2060' && r <= '\u2064',
		r == '\u00ad', r == '\u034f', r == '\u115f', r == '\u1160', r == '\u180e', r == '\u3164', r == '\ufeff', r == '\uffa0':
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r) && r != '\ufe0f' || r >= 0xe0000 && r <= 0xe007f
}

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

// linkRemoved stands where WithoutLinks removed an address.
const linkRemoved = "[link removed]"

// Mail programs make links of addresses with a scheme or www, and of names with dots.
var (
	linkAddress = regexp.MustCompile(`(?i)(\b[a-z][a-z0-9+.-]*:/+|\bmailto:|\bwww\.)[^\s<>"]*`)   // compiled once
	linkName    = regexp.MustCompile(`(?i)\b[\pL\pN-]+(\.[\pL\pN-]+)*\.\pL[\pL\pN-]+[.]?(/\S*)?`) // compiled once
)

// WithoutLinks returns a text in which no mail program finds a link: addresses are
// removed, and host names are written as example[.]com.
func WithoutLinks(text string) string {
	text = linkAddress.ReplaceAllString(text, linkRemoved)
	return linkName.ReplaceAllStringFunc(text, func(name string) string { return strings.ReplaceAll(name, ".", "[.]") })
}

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

// NilIfZero returns a pointer to v, or nil for the zero value of its type: what JSON
// shows as null, and SQL stores as NULL.
func NilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
