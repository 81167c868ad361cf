package redact

import (
	"bytes"
	"strings"

	"vigil"
)

// minEscaped is the length in bytes from which a secret is looked for behind percent
// escapes of any of its characters.
const minEscaped = 4

// hideEscaped replaces secrets of which an answer escaped more characters than encoders
// usually do, up to every one (RFC 3986 section 2.1 allows that).
func (r *Redactor) hideEscaped(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	for _, secret := range r.secrets {
		if len(secret) >= minEscaped {
			text = hideOne(text, []byte(secret))
		}
	}
	return text
}

func hideOne(text string, secret []byte) string {
	plain, starts := unescape(text)
	var out strings.Builder
	from := 0 // in text
	for at := 0; ; {
		found := bytes.Index(plain[at:], secret)
		if found < 0 {
			break
		}
		begin, end := at+found, at+found+len(secret)
		out.WriteString(text[from:starts[begin]])
		out.WriteString(vigil.SecretMask)
		from, at = starts[end], end
	}
	if from == 0 {
		return text
	}
	return out.String() + text[from:]
}

// unescape decodes the percent escapes of a text. starts has the place in the text of each
// byte, and of the end.
func unescape(text string) (plain []byte, starts []int) {
	plain, starts = make([]byte, 0, len(text)), make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		starts = append(starts, i)
		if text[i] == '%' && i+2 < len(text) {
			high, low := digit(text[i+1]), digit(text[i+2])
			if high >= 0 && low >= 0 {
				plain = append(plain, byte(high<<4|low)) //nolint:gosec // two digits of four bits
				i += 3
				continue
			}
		}
		plain = append(plain, text[i])
		i++
	}
	return plain, append(starts, len(text))
}

// digit is the value of a hexadecimal digit, -1 for another character.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
