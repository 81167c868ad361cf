// SPDX-License-Identifier: Apache-2.0

package console

import "strings"

// LeastIDPart is how many hexadecimal digits of an id are accepted for the whole.
const LeastIDPart = 4

const (
	idShown  = 8  // characters of an id on a terminal
	idDigits = 32 // hexadecimal digits of an id
)

// ShortID returns the end of an id, for people. Ids are of version 7 (RFC 9562, section 5.7):
// they begin with the time, which objects that are made together share, and end with 62 random bits.
func ShortID(id string) string { return id[max(0, len(id)-idShown):] }

// IsIDPart reports whether a text can be a part of an id: 4 to 32
// hexadecimal digits, in any case and with or without hyphens.
func IsIDPart(text string) bool {
	digits := bareID(text)
	return len(digits) >= LeastIDPart && len(digits) <= idDigits && strings.Trim(digits, "0123456789abcdef") == ""
}

// HasIDPart reports whether an id has a part, as IsIDPart has it: begins or ends with it, or
// contains it when the part has 8 digits or more. Fewer digits in the middle would name things by chance.
func HasIDPart(id, part string) bool {
	id, part = bareID(id), bareID(part)
	return strings.HasPrefix(id, part) || strings.HasSuffix(id, part) || len(part) >= idShown && strings.Contains(id, part)
}

func bareID(text string) string { return strings.ToLower(strings.ReplaceAll(text, "-", "")) }
