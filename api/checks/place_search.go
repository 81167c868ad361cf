// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// minPlace is from how many characters on a text finds places: fewer begin most of them.
const minPlace = 3

// plainLetters writes the letters of cities that few keyboards have as people type them.
//
//nolint:gochecknoglobals // a constant
var plainLetters = strings.NewReplacer("ã", "a", "á", "a", "é", "e", "í", "i", "ó", "o", "ö", "o", "ü", "u", "ø", "o", "å", "a", "ä", "a")

// begin returns the keys of the regions and locations whose key, alias, city or name is a text or has a word
// that begins with it, in any case.
func (p *Places) begin(text string) ([]string, error) {
	text = plainLetters.Replace(strings.ToLower(strings.TrimSpace(text)))
	if utf8.RuneCountInString(text) < minPlace {
		return nil, nil
	}
	var keys []string
	for _, region := range vigil.Regions() {
		if beginsWord(region.Key, text) || beginsWord(region.City, text) {
			keys = append(keys, region.Key)
		}
	}
	names, err := p.names()
	if err != nil {
		return nil, err
	}
	for key, place := range names {
		if beginsWord(key, text) || beginsWord(place, text) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// beginsWord reports whether a text, in lower case, stands at the beginning of a word of a name.
func beginsWord(name, text string) bool {
	name = plainLetters.Replace(strings.ToLower(name))
	for at := 0; ; {
		found := strings.Index(name[at:], text)
		if found < 0 {
			return false
		}
		at += found
		before, _ := utf8.DecodeLastRuneInString(name[:at])
		if at == 0 || !unicode.IsLetter(before) && !unicode.IsNumber(before) {
			return true
		}
		at++
	}
}
