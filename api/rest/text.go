package rest

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"vigil"
)

// maxName bounds every name that people give to something, in characters.
const maxName = 200

// CleanName trims a name and refuses what no name holds: nothing, too much, or
// characters that break a line wherever the name is shown.
func CleanName(member, name string) (string, error) {
	if strings.ContainsFunc(name, breaksLine) {
		return "", vigil.Invalid(member, "must not contain line breaks or control characters")
	}
	if i := strings.IndexFunc(name, misleads); i >= 0 {
		r, _ := utf8.DecodeRuneInString(name[i:])
		return "", vigil.Invalid(member, "must not contain invisible characters or those that change the direction of text; it has %U", r)
	}
	name = strings.TrimSpace(name)
	switch {
	case name == "":
		return "", vigil.Invalid(member, "must not be empty")
	case utf8.RuneCountInString(name) > maxName:
		return "", vigil.Invalid(member, "must have at most %d characters", maxName)
	}
	return name, nil
}

func breaksLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// misleads reports whether a character makes a text look like another one: it has no
// width, or it changes the direction of the characters around it (Unicode Technical
// Report 36, section 2). The joiners U+200C and U+200D are among them, so names in
// scripts that need them are written without.
func misleads(r rune) bool {
	switch {
	case unicode.Is(unicode.Bidi_Control, r), r >= '\u200b' && r <= '\u200d', r >= '\u2060' && r <= '\u2064',
		r == '\u00ad', r == '\u034f', r == '\u115f', r == '\u1160', r == '\u180e', r == '\u3164', r == '\ufeff', r == '\uffa0':
		return true
	}
	return unicode.Is(unicode.Variation_Selector, r) && r != '\ufe0f' || r >= 0xe0000 && r <= 0xe007f
}

// plainAddress is an address that every mail server understands, with no
// quoting and no display name.
var plainAddress = regexp.MustCompile(`^[^\s"(),:;<>@\[\\\]]{1,64}@[^\s"(),:;<>@\[\\\]]+$`)

// CleanEmail refuses what cannot be an email address.
func CleanEmail(member, email string) (string, error) {
	if len(email) > 254 || !plainAddress.MatchString(email) || strings.ContainsFunc(email, breaksLine) ||
		strings.ContainsFunc(email, misleads) {
		return "", vigil.Invalid(member, "must be an email address such as ada@example.com")
	}
	return email, nil
}

// LocalPart is what stands before the @ of an address.
func LocalPart(email string) string {
	local, _, _ := strings.Cut(email, "@")
	return local
}

// Counted writes a number with its noun.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
