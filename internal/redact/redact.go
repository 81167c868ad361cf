// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// minEncoded is the length in bytes from which a secret is looked for in base64, in
// hexadecimal digits and backwards; a shorter one has too few characters there to distinguish
// it from other text.
const minEncoded = 6

// CutMark ends a text that was cut off before it was redacted.
const CutMark = "..."

// minCutOff is the length in bytes of the beginning of a secret that counts as
// one where a text was cut off.
const minCutOff = 4

// Redactor replaces secrets by secret.Mask, in the spellings that docs/security.md
// promises: clear and in any case; with escapes of JSON, of HTML and of URLs, of a part of its
// characters or of all; backwards; in hexadecimal digits; and in base64, also inside a longer
// base64 text. Nil hides nothing. It may be used by any number of goroutines.
type Redactor struct {
	secrets []value // each once, none empty
	// forms are made for the first text: many redactors are made for a failure that does not
	// come.
	forms func() *forms
}

// secret is one of a redactor, and of those that are made of it.
type value struct {
	text    string
	spelled func() spelled // made once
}

// spelled are the forms in which a secret is recognized, see forms.
type spelled struct {
	spellings []string
	folded    [][]byte
}

func secretOf(text string) value {
	return value{text, sync.OnceValue(func() spelled { return spelled{spellings(text), folded(text)} })}
}

// forms are what the secrets of a redactor look like in a text.
type forms struct {
	spellings []string // longest first
	replacer  *strings.Replacer
	// folded are what is looked for in any case and behind escapes: the secrets, backwards
	// too, and their hexadecimal digits, in small letters.
	folded [][]byte
}

// New makes a redactor of secrets. Empty ones are left out; without any it is nil.
func New(secrets ...string) *Redactor {
	var none *Redactor
	return none.With(secrets...)
}

// With returns a redactor of more secrets, which is r itself where it has them all.
func (r *Redactor) With(secrets ...string) *Redactor {
	more := make([]value, 0, len(secrets))
	for _, text := range secrets {
		if text != "" {
			more = append(more, secretOf(text))
		}
	}
	return r.with(more)
}

func (r *Redactor) with(secrets []value) *Redactor {
	var all []value
	if r != nil {
		all = r.secrets[:len(r.secrets):len(r.secrets)] // r's own stay as they are
	}
	known := len(all)
	for _, one := range secrets {
		if !slices.ContainsFunc(all, func(other value) bool { return other.text == one.text }) {
			all = append(all, one)
		}
	}
	if len(all) == known {
		return r
	}
	return &Redactor{secrets: all, forms: sync.OnceValue(func() *forms { return formsOf(all) })}
}

// Join returns a redactor of the secrets of both.
func (r *Redactor) Join(other *Redactor) *Redactor {
	if other == nil {
		return r
	}
	return r.with(other.secrets)
}

func formsOf(secrets []value) *forms {
	f := &forms{}
	for _, one := range secrets {
		spelled := one.spelled()
		f.spellings = append(f.spellings, spelled.spellings...)
		f.folded = append(f.folded, spelled.folded...)
	}
	slices.SortFunc(f.spellings, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	f.spellings = slices.Compact(f.spellings)
	pairs := make([]string, 0, 2*len(f.spellings))
	for _, spelling := range f.spellings {
		pairs = append(pairs, spelling, secret.Mask)
	}
	f.replacer = strings.NewReplacer(pairs...)
	return f
}

// Text returns a text with its secrets replaced. Where the text was cut off, as
// CutMark says, the beginning of a secret is replaced, too.
func (r *Redactor) Text(text string) string {
	if r == nil || text == "" {
		return text
	}
	f := r.forms()
	return f.cutOff(f.hideViews(f.replacer.Replace(text)))
}

// cutOff replaces the beginning of a secret before each mark of a cut. Its cost grows with the text alone: an answer
// may consist of marks.
func (f *forms) cutOff(text string) string {
	if !strings.Contains(text, CutMark) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for {
		head, tail, found := strings.Cut(text, CutMark)
		if !found {
			b.WriteString(text)
			return b.String()
		}
		if n := f.beginningAtEnd(head); n > 0 {
			head = head[:len(head)-n] + secret.Mask
		}
		b.WriteString(head)
		b.WriteString(CutMark)
		text = tail
	}
}

// beginningAtEnd is how many bytes at the end of a text are the beginning of a secret, 0 where fewer than minCutOff are.
func (f *forms) beginningAtEnd(text string) (longest int) {
	for _, spelling := range f.spellings {
		for n := min(len(spelling)-1, len(text)); n >= minCutOff && n > longest; n-- {
			if strings.HasSuffix(text, spelling[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// Tree replaces the secrets in the texts of a tree of maps and slices, in place,
// and returns it.
func (r *Redactor) Tree(value any) any {
	if r == nil {
		return value
	}
	switch value := value.(type) {
	case string:
		return r.Text(value)
	case []any:
		for i := range value {
			value[i] = r.Tree(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = r.Tree(value[name])
		}
	}
	return value
}

// Excerpt returns the start of an answer: valid text without secrets of at most
// limit bytes. A secret that lies across the end of what was read cannot be
// recognized, so that end is left out unless the answer is whole.
func (r *Redactor) Excerpt(answer []byte, whole bool, limit int) string {
	text := r.Text(string(answer))
	if !whole && r != nil {
		text = text[:max(0, len(text)-r.longest())]
	}
	return vigil.Truncate(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", ""), limit)
}

// longest is the length of the longest form in which a secret is recognized, in bytes: that in
// which every character is a reference of HTML.
func (r *Redactor) longest() int {
	n := len(r.forms().spellings[0])
	for _, one := range r.secrets {
		n = max(n, len("&#x0000;")*len(one.text))
	}
	return n
}

// folded lists what is looked for in small letters.
func folded(secret string) [][]byte {
	if len(secret) < minEscaped {
		return nil
	}
	all := [][]byte{[]byte(secret)}
	if len(secret) >= minEncoded {
		all = append(all, []byte(backwards(secret)), []byte(hex.EncodeToString([]byte(secret))))
	}
	for _, one := range all {
		lower(one)
	}
	return all
}

// backwards is a text from its last character to its first.
func backwards(text string) string {
	characters := []rune(text)
	slices.Reverse(characters)
	return string(characters)
}

// spellings lists the forms in which a secret is recognized.
func spellings(secret string) []string {
	query, path := url.QueryEscape(secret), url.PathEscape(secret)
	all := []string{
		secret, quoted(secret, true), quoted(secret, false), html.EscapeString(secret),
		query, path, lowerEscapes(query), lowerEscapes(path),
	}
	if len(secret) >= minEscaped { // in whole: where a text was cut off, its beginning counts
		all = append(all, strings.ToUpper(secret), strings.ToLower(secret))
	}
	if len(secret) < minEncoded {
		return all
	}
	digits := hex.EncodeToString([]byte(secret))
	all = append(all, digits, strings.ToUpper(digits), backwards(secret))
	all = append(all, base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)))
	// Inside a longer text the encoding depends on the bytes before: there are
	// three forms, of which the characters count that no neighbor changes.
	for offset := range 3 {
		padded := append(make([]byte, offset), secret...)
		from, to := (8*offset+5)/6, 8*len(padded)/6
		all = append(all, base64.RawStdEncoding.EncodeToString(padded)[from:to], base64.RawURLEncoding.EncodeToString(padded)[from:to])
	}
	return all
}

// quoted is a text as it stands between the quotes of JSON, by encoders that
// escape HTML and by those that do not.
func quoted(text string, escapeHTML bool) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(escapeHTML)
	if err := encoder.Encode(text); err != nil {
		return text
	}
	return strings.TrimPrefix(strings.TrimSuffix(out.String(), "\"\n"), `"`)
}

// lowerEscapes writes the digits of percent escapes in lower case.
func lowerEscapes(text string) string {
	escaped := []byte(text)
	for i := 0; i+2 < len(escaped); i++ {
		if escaped[i] == '%' {
			copy(escaped[i+1:i+3], bytes.ToLower(escaped[i+1:i+3]))
		}
	}
	return string(escaped)
}
