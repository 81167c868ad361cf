// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// value is what an assertion looks at.
type value struct {
	text string
	// number is whether it is a quantity, which is compared as a decimal number; else
	// it is compared as text.
	number bool
}

func text(s string) value { return value{text: s} }

func quantity(n int) value { return value{strconv.Itoa(n), true} }

// check returns why the answer does not fulfil the assertion, or nothing.
func (a *assertion) check(got *answer) string {
	switch a.Source {
	case sourceStatus:
		return a.compare("status", quantity(got.status))
	case sourceHeader:
		values := got.header.Values(a.Property)
		if len(values) == 0 {
			return a.absent("header " + a.Property)
		}
		return a.compare("header "+a.Property, text(strings.Join(values, ", ")))
	case sourceBody:
		return a.checkBody(got)
	case sourceJSON, sourceJSONLength:
		return a.checkJSON(got)
	case sourceURL:
		return a.checkURL(got)
	case sourceProtocol:
		return a.compare("protocol", text(protocolName(got.protocol)))
	case sourceResponseTime:
		ms := strconv.FormatFloat(float64(got.took)/float64(time.Millisecond), 'f', 3, 64)
		return a.compare("response time (ms)", value{ms, true})
	case sourceCertDays:
		if got.certDays == nil {
			return a.absent("certificate")
		}
		what := "days until the certificate expires"
		if got.certSubject != "" {
			what = "days until the certificate " + got.certSubject + " expires"
		}
		return a.compare(what, quantity(*got.certDays))
	}
	return ""
}

// checkBody does not quote the body: it may be long, and is not ours to show.
func (a *assertion) checkBody(got *answer) string {
	if a.Operator == "exists" {
		switch {
		case len(got.body) == 0 && got.unread == "":
			return a.absent("body")
		case len(got.body) > 0 && a.Target == false:
			return "the body is not empty, expected to be"
		case len(got.body) > 0:
			return ""
		}
		return "the body is not there yet: " + got.unread
	}
	content, problem := got.text()
	if problem != "" {
		return problem
	}
	holds, decided, limit := a.judgeBody(content, got.unread)
	switch {
	case !decided:
		return "the body was expected to " + a.demand() + " " + a.shownTarget(false) + ", and what was read does not decide it: " + limit
	case holds:
		return ""
	}
	return a.unquoted("the body", string(content))
}

// judgeBody judges what was read of a body. What follows it, when unread says that
// something may, can decide the assertion: then it is not decided, for the reason that is returned.
func (a *assertion) judgeBody(content []byte, unread string) (holds, decided bool, limit string) {
	whole := unread == ""
	switch a.Operator {
	case "contains":
		holds = bytes.Contains(content, []byte(a.text))
		return holds, holds || whole, unread
	case "not_contains":
		found := bytes.Contains(content, []byte(a.text))
		return !found, found || whole, unread
	case "matches":
		holds, decided = a.pattern.matches(content, !whole)
		if whole && !decided {
			unread = a.pattern.bound("the body")
		}
		return holds, decided, unread
	case "eq", "ne":
		mayGoOn := !whole && strings.HasPrefix(a.text, strings.TrimRight(string(content), "\uFFFD"))
		return a.holds(text(string(content))), !mayGoOn, unread
	}
	return a.holds(text(string(content))), whole, unread
}

// needsBody reports whether the assertion looks at the body.
func (a *assertion) needsBody() bool {
	return a.Source == sourceBody || a.Source == sourceJSON || a.Source == sourceJSONLength
}

// decidesEarly reports whether a part of the body can be enough for the assertion to hold.
func (a *assertion) decidesEarly() bool {
	if a.Source != sourceBody {
		return false
	}
	return a.Operator == "contains" || a.Operator == "matches" || a.Operator == "exists" && a.Target != false
}

// checkURL does not quote the address: its path and query may hold credentials.
func (a *assertion) checkURL(got *answer) string {
	address := finalURL(got.url)
	if a.compare("", text(address)) == "" {
		return ""
	}
	return a.unquoted("the final URL, at "+clip(got.url.Host, maxShown)+",", address)
}

// unquoted is why a value that is not shown does not fulfil the assertion.
func (a *assertion) unquoted(what, value string) string {
	switch {
	case a.Operator == "exists":
		return what + " exists, expected not to"
	case a.compares() && !isNumber(value):
		return what + " is not a number, expected to " + a.demand() + " " + a.text
	}
	return what + " was expected to " + a.demand() + " " + a.shownTarget(false)
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
	if a.Source == sourceJSONLength {
		return a.compareLengths(what, values)
	}
	return a.compareAll(what, values)
}

func (a *assertion) compareAll(what string, values []any) string {
	rendered := 0
	return a.compareEach(what, values, func(one any) (value, string) {
		found := jsonValue(one)
		if rendered += len(found.text); rendered > maxRendered {
			return value{}, fmt.Sprintf("%s selects more than %d KiB", what, maxRendered>>10)
		}
		return found, ""
	})
}

// compareLengths compares how long values are, as the function length of RFC 9535,
// section 2.4.4, says it; a number, a boolean and null have no length.
func (a *assertion) compareLengths(what string, values []any) string {
	return a.compareEach("the length of "+what, values, func(one any) (value, string) {
		switch one := one.(type) {
		case []any:
			return quantity(len(one)), ""
		case map[string]any:
			return quantity(len(one)), ""
		case string:
			return quantity(utf8.RuneCountInString(one)), ""
		}
		return value{}, what + " is not a list, an object or a string, so it has no length"
	})
}

// compareEach compares what a function makes of values, or returns why it makes nothing.
func (a *assertion) compareEach(what string, values []any, read func(any) (value, string)) string {
	every := a.Operator == "ne" || a.Operator == "not_contains"
	first := ""
	for _, one := range values {
		found, problem := read(one)
		if problem != "" {
			return problem
		}
		reason := a.compare(what, found)
		if reason == "" && !every {
			return ""
		}
		if reason != "" && first == "" {
			first = reason
		}
	}
	return first
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
func (a *assertion) compare(what string, v value) string {
	if a.holds(v) {
		return ""
	}
	shown := clip(v.text, maxShown)
	switch {
	case a.Operator == "matches" && len(v.text) > a.pattern.limit:
		return fmt.Sprintf("%s was expected to match %s: %s", what, a.shownTarget(false), a.pattern.bound("it"))
	case a.Operator == "exists":
		return what + " exists, expected not to"
	case a.compares() && !isNumber(v.text):
		return fmt.Sprintf("%s is %q, which is not a number, expected to %s %s", what, shown, a.demand(), a.text)
	}
	return fmt.Sprintf("%s is %q, expected to %s %s", what, shown, a.demand(), a.shownTarget(v.number))
}

// holds compares texts as texts: 1.10 is another version than 1.1, and 007 another agent than
// 7. Only quantities are equal when they are the same number.
func (a *assertion) holds(v value) bool {
	switch a.Operator {
	case "eq":
		return a.equals(v)
	case "ne":
		return !a.equals(v)
	case "lt", "gt":
		n, ok := parseNumber(strings.TrimSpace(v.text))
		if !ok {
			return false
		}
		if a.Operator == "lt" {
			return n.compare(a.number) < 0
		}
		return n.compare(a.number) > 0
	case "contains":
		return strings.Contains(v.text, a.text)
	case "not_contains":
		return !strings.Contains(v.text, a.text)
	case "matches":
		found, certain := a.pattern.matches([]byte(v.text), false)
		return found && certain
	case "exists":
		return a.Target != false
	}
	return false
}

func (a *assertion) equals(v value) bool {
	if v.text == a.text {
		return true
	}
	if !v.number || !a.numeric {
		return false
	}
	n, ok := parseNumber(v.text)
	return ok && n.compare(a.number) == 0
}

// compares reports whether the operator is for numbers only.
func (a *assertion) compares() bool { return a.Operator == "lt" || a.Operator == "gt" }

func isNumber(text string) bool {
	_, ok := parseNumber(strings.TrimSpace(text))
	return ok
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

// shownTarget is the target for a sentence, a text in quotes.
func (a *assertion) shownTarget(number bool) string {
	if a.compares() || number && a.numeric && (a.Operator == "eq" || a.Operator == "ne") {
		return a.text
	}
	return strconv.Quote(clip(a.text, maxShown))
}
