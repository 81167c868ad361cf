// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// minEscaped is the length in bytes from which a secret is looked for in any case, and behind
// escapes of any of its characters.
const minEscaped = 4

// maxEscape is the longest escape of a byte that is read, in bytes.
const maxEscape = 12

// view is a text without escapes of one kind. starts has the place in the text of each byte,
// and of the end.
type view struct {
	plain  []byte
	starts []int
}

// hideViews replaces secrets in any case, and those of which an answer escaped more characters
// than encoders usually do, up to every one (RFC 3986 section 2.1 allows that, and so do HTML
// and JSON).
func (f *forms) hideViews(text string) string {
	if len(f.folded) == 0 {
		return text
	}
	if f.inFolded([]byte(text)) { // places in the text are counted for this case only
		text = f.hideView(text, asIs)
	}
	if strings.Contains(text, "%") {
		text = f.hideView(text, byEscapes('%', percent))
	}
	if strings.Contains(text, "&") {
		text = f.hideView(text, byEscapes('&', entity))
	}
	if strings.Contains(text, `\`) {
		text = f.hideView(text, byEscapes('\\', backslash))
	}
	return text
}

// inFolded says whether a text holds a secret in any case. It makes the letters small, in place.
func (f *forms) inFolded(text []byte) bool {
	lower(text)
	return slices.ContainsFunc(f.folded, func(secret []byte) bool { return bytes.Contains(text, secret) })
}

// hideView replaces each secret that a view of the text shows.
func (f *forms) hideView(text string, read func(string) view) string {
	seen := read(text)
	lower(seen.plain)
	for _, secret := range f.folded {
		if !bytes.Contains(seen.plain, secret) {
			continue
		}
		text = hideOne(text, seen, secret)
		seen = read(text)
		lower(seen.plain)
	}
	return text
}

func hideOne(text string, seen view, value []byte) string {
	var out strings.Builder
	from := 0 // in text
	for at := 0; ; {
		found := bytes.Index(seen.plain[at:], value)
		if found < 0 {
			break
		}
		begin, end := at+found, at+found+len(value)
		out.WriteString(text[from:seen.starts[begin]])
		out.WriteString(secret.Mask)
		from, at = seen.starts[end], end
	}
	return out.String() + text[from:]
}

// lower makes the letters of ASCII small, in place, so that every byte stays where it is.
func lower(text []byte) {
	for i, c := range text {
		if c >= 'A' && c <= 'Z' {
			text[i] = c + 'a' - 'A'
		}
	}
}

// asIs is the view of a text without escapes.
func asIs(text string) view {
	starts := make([]int, len(text)+1)
	for i := range starts {
		starts[i] = i
	}
	return view{plain: []byte(text), starts: starts}
}

// byEscapes makes a view. decode reads an escape at the beginning of a text, and returns what
// it stands for and its length, 0 for none.
func byEscapes(mark byte, decode func(string) (string, int)) func(string) view {
	return func(text string) view {
		v := view{plain: make([]byte, 0, len(text)), starts: make([]int, 0, len(text)+1)}
		for i := 0; i < len(text); {
			stands, length := text[i:i+1], 1
			if text[i] == mark {
				if decoded, n := decode(text[i:min(len(text), i+maxEscape)]); n > 0 {
					stands, length = decoded, n
				}
			}
			for range len(stands) {
				v.starts = append(v.starts, i)
			}
			v.plain = append(v.plain, stands...)
			i += length
		}
		v.starts = append(v.starts, len(text))
		return v
	}
}

// percent reads a percent escape, such as %6B.
func percent(text string) (string, int) {
	if value, n := hexadecimal(text[1:], 2); n == 2 {
		return string([]byte{byte(value)}), 3 //nolint:gosec // two digits
	}
	return "", 0
}

// entity reads a character reference of HTML: by number with or without the semicolon, or by
// name, such as &#107; &#x6B and &amp;.
func entity(text string) (string, int) {
	if len(text) < 3 || text[1] != '#' {
		end := strings.IndexByte(text, ';')
		if end < 0 {
			return "", 0
		}
		named := text[:end+1]
		if stands := html.UnescapeString(named); stands != named {
			return stands, len(named)
		}
		return "", 0
	}
	value, end := 0, 2
	if text[2] == 'x' || text[2] == 'X' {
		n := 0
		value, n = hexadecimal(text[3:], maxEscape)
		if end = 3 + n; n == 0 {
			return "", 0
		}
	} else {
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			value = 10*value + int(text[end]-'0')
			end++
		}
		if end == 2 {
			return "", 0
		}
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	return character(value), end
}

// backslash reads an escape of JSON, and of languages like it, such as k and \x6B.
func backslash(text string) (string, int) {
	if len(text) < 2 {
		return "", 0
	}
	digits := map[byte]int{'u': 4, 'x': 2}[text[1]]
	if value, n := hexadecimal(text[2:], digits); digits > 0 && n == digits {
		if digits == 2 {
			return string([]byte{byte(value)}), 4 //nolint:gosec // two digits
		}
		return character(value), 6
	}
	if stands, known := map[byte]string{
		'"': `"`, '\'': "'", '\\': `\`, '/': "/", 'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f",
	}[text[1]]; known {
		return stands, 2
	}
	return "", 0
}

func character(value int) string {
	if value > utf8.MaxRune {
		return string(utf8.RuneError)
	}
	return string(rune(value)) //nolint:gosec // in range
}

// hexadecimal reads up to most digits at the beginning of a text, and returns their value and
// number.
func hexadecimal(text string, most int) (value, n int) {
	for n < len(text) && n < most {
		d := digit(text[n])
		if d < 0 {
			break
		}
		value = value<<4&0xffffff | d
		n++
	}
	return value, n
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
