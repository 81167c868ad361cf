package probe

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ohler55/ojg/oj"

	"vigil"
	"vigil/config"
)

// Assertion is one thing that the answer of an HTTP target must be like.
type Assertion struct {
	Source   string `json:"source" doc:"What is looked at" enum:"status,header,body,json,response_time,cert_days"`
	Property string `json:"property,omitempty" doc:"Name of the header, or JSONPath of the value; only for these two sources" maxLength:"256" example:"$.status"`
	Operator string `json:"operator" doc:"How it is compared" enum:"eq,ne,lt,gt,contains,not_contains,matches,exists"`
	Target   any    `json:"target,omitempty" doc:"What it is compared with: a string, number or boolean; a regular expression (RE2) for matches, which looks at the first part only of long bodies; true (the default) or false for exists. Milliseconds for response_time, whole days for cert_days"`
}

// The sources of assertions.
const (
	sourceStatus       = "status"
	sourceHeader       = "header"
	sourceBody         = "body"
	sourceJSON         = "json"
	sourceResponseTime = "response_time"
	sourceCertDays     = "cert_days"
)

// Bounds of what an assertion handles.
const (
	maxShown    = 100     // bytes of a value in an explanation
	maxSelected = 1000    // values that a JSONPath selects
	maxRendered = 4 << 20 // bytes of these values as text
)

// assertion is an Assertion that was read.
type assertion struct {
	Assertion

	text    string  // the target as text
	number  float64 // the target as a number
	numeric bool
	pattern pattern
	path    jsonPath
}

func parseAssertions(given []Assertion) ([]assertion, error) {
	parsed := make([]assertion, len(given))
	for i, one := range given {
		var err error
		if parsed[i], err = parseAssertion(one, config.Element("config.assertions", i)); err != nil {
			return nil, err
		}
	}
	return parsed, nil
}

func parseAssertion(given Assertion, path string) (assertion, error) {
	a := assertion{Assertion: given}
	if err := a.parseProperty(path + ".property"); err != nil {
		return a, err
	}
	return a, a.parseTarget(path + ".target")
}

func (a *assertion) parseProperty(path string) error {
	switch {
	case a.Source == sourceHeader && !config.IsToken(a.Property):
		return vigil.Invalid(path, "must be the name of a header")
	case a.Source == sourceJSON:
		var err error
		a.path, err = parseJSONPath(path, a.Property)
		return err
	case a.Source != sourceHeader && a.Property != "":
		return vigil.Invalid(path, "is only for the sources header and json")
	}
	return nil
}

func (a *assertion) parseTarget(path string) error {
	if a.Operator == "exists" {
		switch a.Target.(type) {
		case nil, bool:
			return nil
		}
		return vigil.Invalid(path, "must be true or false for exists")
	}
	switch target := a.Target.(type) {
	case string:
		a.text = target
	case json.Number:
		a.text = target.String()
	case bool:
		a.text = strconv.FormatBool(target)
	default:
		return vigil.Invalid(path, "is required for this operator: a string, a number or a boolean")
	}
	var err error
	a.number, err = strconv.ParseFloat(a.text, 64)
	a.numeric = err == nil
	measured := a.Source == sourceStatus || a.Source == sourceResponseTime || a.Source == sourceCertDays
	if !a.numeric && (a.Operator == "lt" || a.Operator == "gt" || measured && (a.Operator == "eq" || a.Operator == "ne")) {
		return vigil.Invalid(path, "must be a number for this source and operator")
	}
	if a.Operator == "matches" {
		var ok bool
		if a.pattern, ok = parsePattern(a.text); !ok {
			return vigil.Invalid(path, "must be a regular expression (RE2), and not a large one")
		}
	}
	return nil
}

// check returns why the answer does not fulfil the assertion, or nothing.
func (a *assertion) check(got *answer) string {
	switch a.Source {
	case sourceStatus:
		return a.compare("status", strconv.Itoa(got.status))
	case sourceHeader:
		values := got.header.Values(a.Property)
		if len(values) == 0 {
			return a.absent("header " + a.Property)
		}
		return a.compare("header "+a.Property, strings.Join(values, ", "))
	case sourceBody:
		return a.checkBody(got)
	case sourceJSON:
		return a.checkJSON(got)
	case sourceResponseTime:
		return a.compare("response time (ms)", strconv.FormatFloat(float64(got.took)/float64(time.Millisecond), 'f', 3, 64))
	case sourceCertDays:
		if got.certDays == nil {
			return a.absent("certificate")
		}
		return a.compare("days until the certificate expires", strconv.Itoa(*got.certDays))
	}
	return ""
}

// checkBody does not quote the body: it may be long, and is not ours to show.
func (a *assertion) checkBody(got *answer) string {
	if a.Operator == "exists" && len(got.body) == 0 {
		return a.absent("body")
	}
	if a.compare("", string(got.body)) == "" {
		return ""
	}
	if a.Operator == "exists" {
		return "the body is not empty, expected to be"
	}
	return "the body was expected to " + a.demand() + " " + a.shownTarget()
}

// checkJSON looks at every value that the path selects. One that fulfils the
// assertion is enough, except for ne and not_contains, which all must fulfil.
func (a *assertion) checkJSON(got *answer) string {
	what := "json " + a.Property
	values, problem := a.path.get(got)
	if problem != "" {
		return what + " cannot be read: " + problem
	}
	if len(values) == 0 {
		return a.absent(what)
	}
	if len(values) > maxSelected {
		return fmt.Sprintf("%s selects more than %d values", what, maxSelected)
	}
	return a.compareAll(what, values)
}

func (a *assertion) compareAll(what string, values []any) string {
	every := a.Operator == "ne" || a.Operator == "not_contains"
	first, rendered := "", 0
	for _, value := range values {
		text := jsonText(value)
		if rendered += len(text); rendered > maxRendered {
			return fmt.Sprintf("%s selects more than %d KiB", what, maxRendered>>10)
		}
		reason := a.compare(what, text)
		if reason == "" && !every {
			return ""
		}
		if reason != "" && first == "" {
			first = reason
		}
	}
	return first
}

// jsonText is the text of a JSON value: a string without its quotes.
func jsonText(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return oj.JSON(value)
}

// absent judges a value that is not there: that it is not equal to something,
// or does not contain it, holds.
func (a *assertion) absent(what string) string {
	switch {
	case a.Operator == "ne", a.Operator == "not_contains", a.Operator == "exists" && a.Target == false:
		return ""
	}
	return what + " is absent"
}

// compare returns why a value does not fulfil the assertion, or nothing.
func (a *assertion) compare(what, value string) string {
	if a.holds(value) {
		return ""
	}
	if a.Operator == "exists" {
		return what + " exists, expected not to"
	}
	return fmt.Sprintf("%s is %q, expected to %s %s", what, clip(value, maxShown), a.demand(), a.shownTarget())
}

func (a *assertion) holds(value string) bool {
	number, err := strconv.ParseFloat(value, 64)
	numeric := err == nil && a.numeric
	switch a.Operator {
	case "eq":
		return value == a.text || numeric && number == a.number
	case "ne":
		return value != a.text && !(numeric && number == a.number)
	case "lt":
		return numeric && number < a.number
	case "gt":
		return numeric && number > a.number
	case "contains":
		return strings.Contains(value, a.text)
	case "not_contains":
		return !strings.Contains(value, a.text)
	case "matches":
		return a.pattern.matches(value)
	case "exists":
		return a.Target != false
	}
	return false
}

// demand words the operator, after "to".
func (a *assertion) demand() string {
	switch a.Operator {
	case "eq":
		return "equal"
	case "ne":
		return "differ from"
	case "lt":
		return "be below"
	case "gt":
		return "be above"
	case "contains":
		return "contain"
	case "not_contains":
		return "not contain"
	}
	return "match"
}

func (a *assertion) shownTarget() string {
	if a.numeric && a.Operator != "matches" {
		return a.text
	}
	return strconv.Quote(clip(a.text, maxShown))
}
