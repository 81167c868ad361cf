// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/oj"
)

// document returns the body as JSON, parsed once; false when it is none.
func (a *answer) document() (any, bool) {
	if !a.parsed {
		a.parsed = true
		content, problem := a.text()
		if problem == "" {
			a.json, a.isJSON = parseDocument(content)
		}
	}
	return a.json, a.isJSON
}

// text returns the body as UTF-8, decoded once, or what is wrong with it as a sentence.
func (a *answer) text() (content []byte, problem string) {
	if !a.decoded {
		a.decoded = true
		problem := ""
		if a.problem == "" {
			if a.plain, problem = plainText(a.body, a.header.Get("Content-Type")); problem != "" {
				a.problem = "the body cannot be read: " + problem
			}
		}
	}
	return a.plain, a.problem
}

// notJSON says what came instead of JSON.
func (a *answer) notJSON() string {
	if a.problem != "" {
		return a.problem
	}
	if len(bytes.TrimSpace(a.body)) == 0 {
		return "the body is empty, which is not valid JSON"
	}
	said := "it has no content type"
	if kind := mediaType(a.header.Get("Content-Type")); kind != "" {
		said = "its content type is " + quoted(kind)
	}
	if looks := http.DetectContentType(a.plain); strings.HasPrefix(looks, "text/html") && !strings.Contains(said, "html") {
		said += ", and it looks like HTML"
	}
	return "the body is not valid JSON: " + said
}

// parseDocument reads a JSON text. Its numbers are an int64 or a float64 where these are exactly
// the number, since the filters of a JSONPath compare no others, and else a json.Number.
func parseDocument(text []byte) (any, bool) {
	if !json.Valid(text) { // one value, and nothing behind it
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var found any
	if err := decoder.Decode(&found); err != nil {
		return nil, false
	}
	return withNumbers(found), true
}

// withNumbers replaces the numbers in a document.
func withNumbers(found any) any {
	switch found := found.(type) {
	case []any:
		for i, one := range found {
			found[i] = withNumbers(one)
		}
	case map[string]any:
		for name, one := range found {
			found[name] = withNumbers(one)
		}
	case json.Number:
		return exact(found)
	}
	return found
}

// exact is a number as the type that holds it without a loss.
func exact(given json.Number) any {
	if n, err := given.Int64(); err == nil {
		return n
	}
	f, err := given.Float64()
	if err != nil {
		return given
	}
	want, ok := parseNumber(given.String())
	if got, _ := parseNumber(strconv.FormatFloat(f, 'g', -1, 64)); !ok || got.compare(want) != 0 {
		return given
	}
	return f
}

// jsonValue is a JSON value for an assertion.
func jsonValue(found any) value {
	switch found.(type) {
	case int64, float64, json.Number:
		return value{jsonText(found), true}
	}
	return text(jsonText(found))
}

// jsonText is the text of a JSON value: a string without its quotes.
func jsonText(found any) string {
	switch found := found.(type) {
	case string:
		return found
	case float64:
		return strconv.FormatFloat(found, 'f', -1, 64)
	case json.Number:
		return found.String()
	}
	return oj.JSON(found)
}
