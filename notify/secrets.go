package notify

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"vigil"
)

// minToken is the length from which a text that may or may not be a secret,
// such as a header's value, is hidden. Known secrets are, however short.
const minToken = 8

// secrets are texts that leave with a request and must not come back with an
// answer, in every spelling that an answer is likely to repeat them in.
type secrets struct {
	texts    []string // longest first
	longest  int
	replacer *strings.Replacer
}

// hide makes the secrets of the given texts. Empty ones hide nothing.
func hide(texts ...string) *secrets {
	s := &secrets{}
	for _, text := range texts {
		if text == "" {
			continue
		}
		s.texts = append(s.texts, text, jsonText(text, true), jsonText(text, false), html.EscapeString(text), url.QueryEscape(text), url.PathEscape(text))
		if len(text) >= minToken {
			s.texts = append(s.texts, base64.StdEncoding.EncodeToString([]byte(text)))
		}
	}
	slices.SortFunc(s.texts, func(a, b string) int { return len(b) - len(a) })
	s.texts = slices.Compact(s.texts)
	pairs := make([]string, 0, 2*len(s.texts))
	for _, text := range s.texts {
		s.longest = max(s.longest, len(text))
		pairs = append(pairs, text, vigil.SecretMask)
	}
	s.replacer = strings.NewReplacer(pairs...)
	return s
}

func (s *secrets) redact(text string) string { return s.replacer.Replace(text) }

// excerpt is the start of an answer that may be kept: text of at most limit
// bytes without secrets. One that lies across the end of what was read cannot
// be recognised, so such an end is left out.
func (s *secrets) excerpt(raw []byte, whole bool, limit int) string {
	text := s.redact(string(raw))
	if !whole {
		text = text[:max(0, len(text)-s.longest)]
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	if len(text) > limit {
		for limit > 0 && !utf8.RuneStart(text[limit]) {
			limit--
		}
		text = text[:limit]
	}
	return text
}

// jsonText is a text as it stands between the quotes of JSON, by encoders that
// take care of HTML and by those that do not.
func jsonText(text string, careful bool) string {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(careful)
	if err := encoder.Encode(text); err != nil {
		return text
	}
	inner := strings.TrimSuffix(quoted.String(), "\"\n")
	return strings.TrimPrefix(inner, `"`)
}

// hideHeader lists what of a header's value is not to be repeated.
func hideHeader(name, value string) []string {
	switch strings.ToLower(name) {
	case "authorization", "proxy-authorization", "cookie", "x-api-key":
	default:
		if len(value) < minToken {
			return nil
		}
	}
	found := []string{value}
	if _, credentials, ok := strings.Cut(value, " "); ok {
		found = append(found, credentials)
	}
	return found
}

// hidePath lists the parts of an address that may be tokens: those of its path
// and the values of its query.
func hidePath(u *url.URL) []string {
	found := []string{u.RequestURI(), u.Path, u.RawQuery}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		found = append(found, part)
	}
	for _, values := range u.Query() {
		found = append(found, values...)
	}
	return slices.DeleteFunc(found, func(text string) bool { return len(text) < minToken })
}
