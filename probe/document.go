package probe

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/ohler55/ojg/oj"
)

// document returns the body as JSON, parsed once; false when it is none.
func (a *answer) document() (any, bool) {
	if !a.parsed {
		a.parsed = true
		a.json, a.isJSON = parseDocument(a.body)
	}
	return a.json, a.isJSON
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
