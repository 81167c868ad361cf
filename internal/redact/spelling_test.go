// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/redact"
)

// TestPromisedSpellings holds the list of docs/security.md: the spellings in which a secret that
// comes back is hidden. Each is tried alone, between other text and in a text that was cut off.
func TestPromisedSpellings(t *testing.T) {
	t.Parallel()
	const secret = "Tr0ub4dor&3-Über\"k"
	hidden := redact.New(secret)
	each := func(format string) string {
		var out strings.Builder
		for _, c := range secret {
			fmt.Fprintf(&out, format, c)
		}
		return out.String()
	}
	eachByte := func(format string) string {
		var out strings.Builder
		for i := range len(secret) {
			fmt.Fprintf(&out, format, secret[i])
		}
		return out.String()
	}
	backwards := []rune(secret)
	slices.Reverse(backwards)
	for name, spelled := range map[string]string{
		"clear":                      secret,
		"upper case":                 strings.ToUpper(secret),
		"lower case":                 strings.ToLower(secret),
		"mixed case":                 "tR0UB4DOR&3-Über\"K",
		"backwards":                  string(backwards),
		"backwards, upper case":      strings.ToUpper(string(backwards[:10])) + string(backwards[10:]),
		"hexadecimal":                hex.EncodeToString([]byte(secret)),
		"hexadecimal, upper case":    strings.ToUpper(hex.EncodeToString([]byte(secret))),
		"URL":                        url.QueryEscape(secret),
		"path":                       url.PathEscape(secret),
		"URL, every byte":            eachByte("%%%02x"),
		"URL, every byte, upper":     eachByte("%%%02X"),
		"HTML":                       html.EscapeString(secret),
		"HTML, decimal":              each("&#%d;"),
		"HTML, decimal, five digits": each("&#%05d;"),
		"HTML, hexadecimal":          each("&#x%x;"),
		"HTML, hexadecimal, upper":   each("&#X%04X;"),
		"HTML, by name":              "Tr0ub4dor&amp;3-&Uuml;ber&quot;k",
		"HTML, in part":              "&#84;r0ub4dor&amp;3-&#xdc;ber&#34;k",
		"JSON":                       `Tr0ub4dor&3-Über\"k`,
		"JSON, every character":      each(`\u%04x`),
		"JSON, in part":              `\u0054r0ub4dor\u00263-\u00DCber\"k`,
		"base64":                     base64.StdEncoding.EncodeToString([]byte(secret)),
		"base64 for URLs":            base64.RawURLEncoding.EncodeToString([]byte(secret)),
		"base64 of more":             base64.StdEncoding.EncodeToString([]byte("ada:" + secret + "::")),
	} {
		got := hidden.Text("a " + spelled + " b")
		if !strings.HasPrefix(got, "a ") || !strings.HasSuffix(got, " b") || !strings.Contains(got, "***") || len(got) > len("a *** b")+16 {
			t.Errorf("%s: %q became %q", name, spelled, got)
		}
		if got := hidden.Text(spelled); !strings.Contains(got, "***") {
			t.Errorf("%s alone: %q became %q", name, spelled, got)
		}
	}
	for _, text := range []string{
		"nothing of it", "100% & more", `C:\new\temp`, "&amp;&#;&#x;&#xzz;&nothing;&#99999999999;", `\u00`, `\x4`, "\\", "&", "&#", "%",
	} {
		if got := hidden.Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := redact.New("pin").Text("PIN nip 70696e"); got != "PIN nip 70696e" {
		t.Errorf("a short secret is looked for in other spellings: %q", got)
	}
	if got := hidden.Text("said " + hex.EncodeToString([]byte(secret))[:20] + "..."); got != "said ***..." {
		t.Errorf("cut off: %q", got)
	}
}

func BenchmarkText(b *testing.B) {
	hidden := redact.New("a password", "Bearer of a token", "another password")
	text := strings.Repeat("<p>100% of the text &amp; more</p>\n", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		hidden.Text(text)
	}
}
