// SPDX-License-Identifier: Apache-2.0

package mail

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// maxEncodedText is how many bytes an encoded word may hold, so that the word has at most 75
// characters (RFC 2047, section 2).
const maxEncodedText = 45

// HeaderText returns a text of other people for a header whose readers decode encoded words
// (RFC 2047). A text in which they would find some, by "=?", is encoded itself, so that they
// show what was written; any other text is returned as it is.
func HeaderText(text string) string {
	if !strings.Contains(text, "=?") {
		return text
	}
	var words []string
	for len(text) > 0 {
		end := min(len(text), maxEncodedText)
		for end > 1 && end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		words = append(words, "=?utf-8?b?"+base64.StdEncoding.EncodeToString([]byte(text[:end]))+"?=")
		text = text[end:]
	}
	return strings.Join(words, " ")
}
