// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"regexp"
)

// Credentials as programs print them: password=..., "api_key": "...", Authorization: Bearer ...,
// and the user of an address.
var (
	assigned = regexp.MustCompile(`([A-Za-z][A-Za-z0-9_.-]*)("?\s*[=:]\s*"?)((?:(?i:bearer|basic)\s+)?[^\s"',;&]+)`)
	userInfo = regexp.MustCompile(`(://[^\s/@:]*:)[^\s/@]+@`)
)

// MaskOutput returns what a program printed without the values that their names call credentials,
// and without those of addresses. The others of a program are not known.
func MaskOutput(text string) string {
	text = userInfo.ReplaceAllString(text, "${1}"+Mask+"@")
	return assigned.ReplaceAllStringFunc(text, func(found string) string {
		parts := assigned.FindStringSubmatch(found)
		if !IsCredentialName(parts[1]) && !IsCredentialParameter(parts[1]) {
			return found
		}
		return parts[1] + parts[2] + Mask
	})
}
