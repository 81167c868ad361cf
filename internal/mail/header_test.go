// SPDX-License-Identifier: Apache-2.0

package mail_test

import (
	"mime"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/mail"
)

// TestHeaderText holds that who decodes a header reads what was written.
func TestHeaderText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "api failing", "=?utf-8?q?=48ello?=", "=?UTF-8?B?aGVsbG8=?= =?utf-8?q?x?=", "a =? b", "=?",
		"=?utf-8?q?" + strings.Repeat("é世", 60) + "?=", strings.Repeat("=?", 200),
	} {
		encoded := mail.HeaderText(text)
		for word := range strings.SplitSeq(encoded, " ") {
			if strings.Contains(text, "=?") && len(word) > 75 {
				t.Errorf("%q has a word of %d characters", encoded, len(word))
			}
		}
		if got, err := new(mime.WordDecoder).DecodeHeader(encoded); err != nil || got != text {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}
