// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"encoding/json"

	"github.com/vigil-monitor/vigil"
)

// summaryLimit is the length in bytes that two names share in a summary, and
// encodedLimit that of a summary as JSON: the server refuses a standalone activity
// whose payload exceeds 400 bytes. Around the text are some 30, and as much as 125 when
// payloads are encrypted.
const (
	summaryLimit = 250
	encodedLimit = 260
)

// bounded truncates a text to what the server accepts as a summary. An escaped
// character, such as <, takes up to six bytes.
func bounded(text string) string {
	left := encodedLimit
	for i, r := range text {
		encoded, err := json.Marshal(string(r))
		if left -= len(encoded) - len(`""`); err != nil || left < 0 {
			return text[:i]
		}
	}
	return text
}

// summary describes a check in the Temporal UI: its name, and its target in
// parentheses.
func summary(name, target string) string {
	if target == "" || len(target) > summaryLimit/2 {
		return shortened(name)
	}
	return shortened(name) + " (" + target + ")"
}

// shortened truncates a name to its share of a summary.
func shortened(name string) string {
	if len(name) <= summaryLimit/2 {
		return name
	}
	return vigil.TruncateCharacters(name, summaryLimit/8)
}
