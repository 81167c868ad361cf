// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"regexp"
	"strings"
)

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
