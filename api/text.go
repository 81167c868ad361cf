package api

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"vigil"
)

// maxName bounds every name that people give to something, in characters.
const maxName = 200

// cleanName trims a name and refuses what no name holds: nothing, too much, or
// characters that break a line wherever the name is shown.
func cleanName(member, name string) (string, error) {
	if strings.ContainsFunc(name, breaksLine) {
		return "", vigil.Invalid(member, "must not contain line breaks or control characters")
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

// plainAddress is an address that every mail server understands, with no
// quoting and no display name.
var plainAddress = regexp.MustCompile(`^[^\s"(),:;<>@\[\\\]]{1,64}@[^\s"(),:;<>@\[\\\]]+$`)

// cleanEmail refuses what cannot be an email address.
func cleanEmail(member, email string) (string, error) {
	if len(email) > 254 || !plainAddress.MatchString(email) || strings.ContainsFunc(email, breaksLine) {
		return "", vigil.Invalid(member, "must be an email address such as ada@example.com")
	}
	return email, nil
}

// localPart is what stands before the @ of an address.
func localPart(email string) string {
	local, _, _ := strings.Cut(email, "@")
	return local
}
