// SPDX-License-Identifier: Apache-2.0

package vigil

import (
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
