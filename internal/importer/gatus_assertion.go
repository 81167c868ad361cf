// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// maxAssertions is how many assertions an HTTP check may have.
const maxAssertions = 20

// httpConditions turns conditions into statuses and assertions.
func (e *gatusEndpoint) httpConditions() {
	var assertions []any
	judged := false // whether anything judges the status
	e.eachCondition(func(c condition) bool {
		if c.source == sourceStatus && !judged && e.statuses(c) {
			judged = true
			return true
		}
		made, ok := e.assertions(c)
		if !ok {
			return false
		}
		if len(assertions)+len(made) > maxAssertions {
			e.lose("condition "+c.text, "a check has at most %d assertions", maxAssertions)
			return true
		}
		for _, one := range made {
			assertions = append(assertions, one)
		}
		judged = judged || c.source == sourceStatus
		return true
	})
	if !judged {
		e.config.Set("expected_status_codes", []any{"2xx", "3xx", "4xx", "5xx"})
	}
	if len(assertions) > 0 {
		e.config.Set("assertions", assertions)
	}
}

// statuses carries over the statuses of which the answer must have one.
func (e *gatusEndpoint) statuses(c condition) bool {
	var codes []any
	for _, text := range c.accepted() {
		n, err := strconv.ParseInt(text, 0, 64)
		if err != nil || n < 100 || n > 599 {
			return false
		}
		codes = append(codes, int(n))
	}
	switch {
	case len(codes) == 0 || len(codes) > 20:
		return false
	case len(codes) == 1:
		e.config.Set("expected_status_code", codes[0])
	default:
		e.config.Set("expected_status_codes", codes)
	}
	return true
}

// assertions returns the assertions of a condition; false when there are none for it.
func (e *gatusEndpoint) assertions(c condition) ([]Object, bool) {
	switch c.source {
	case sourceStatus:
		return e.measured(c, "status", 1, 1)
	case sourceTime:
		// A response time has three decimals, and Gatus cuts them.
		return e.measured(c, "response_time", 1, 0.001)
	case sourceCertificate:
		days, ok := e.certificateDays(c)
		return []Object{{{"source", "cert_days"}, {"operator", "gt"}, {"target", days}}}, ok
	case sourceBody:
		return e.bodyAssertions(c, Object{{"source", "body"}}, `\s*`)
	case sourceJSON:
		path, ok := jsonPath(e.g.fileText(c.property))
		if !ok {
			return nil, false
		}
		return e.bodyAssertions(c, Object{{"source", "json"}, {"property", path}}, "")
	default:
		return nil, false
	}
}

// with returns an assertion with an operator and its target.
func with(base Object, operator string, target any) Object {
	made := append(Object{}, base...)
	made.Set("operator", operator)
	made.Set("target", target)
	return made
}

// measured compares a number that is whole in Gatus. up is the distance to the next one, and
// step the least difference that the value has in Vigil.
func (e *gatusEndpoint) measured(c condition, source string, up int64, step float64) ([]Object, bool) {
	base := Object{{"source", source}}
	if c.function != "" {
		return nil, false
	}
	if c.operator == "==" || c.operator == "!=" {
		return e.measuredEqual(c, base, step)
	}
	n, ok := c.number()
	if !ok {
		return nil, false
	}
	switch c.operator {
	case "<":
		return []Object{with(base, "lt", n)}, true
	case "<=":
		return []Object{with(base, "lt", n+up)}, true
	case ">":
		return []Object{with(base, "gt", below(n+up, step))}, true
	default:
		return []Object{with(base, "gt", below(n, step))}, true
	}
}

// below is the largest number under n that a value with the step can have.
func below(n int64, step float64) any {
	if step == 1 {
		return n - 1
	}
	return strconv.FormatFloat(float64(n)-step, 'f', 3, 64)
}

func (e *gatusEndpoint) measuredEqual(c condition, base Object, step float64) ([]Object, bool) {
	operator := map[string]string{"==": "eq", "!=": "ne"}[c.operator]
	if c.pattern {
		if c.operator == "!=" || step != 1 {
			return nil, false
		}
		return e.patternAssertion(c, base, "")
	}
	options := c.options
	if options == nil {
		options = []string{c.right}
	} else if c.operator == "==" {
		// One of several numbers: an expression of the texts.
		if step != 1 {
			return nil, false
		}
		return e.anyAssertion(c, base, "")
	}
	var made []Object
	for _, option := range options {
		n, err := strconv.ParseInt(option, 0, 64)
		switch {
		case err != nil:
			return nil, false
		case step == 1:
			made = append(made, with(base, operator, n))
		case c.operator == "==":
			made = append(made, with(base, "gt", below(n, step)), with(base, "lt", n+1))
		default:
			return nil, false
		}
	}
	return made, true
}

// bodyAssertions compares the body or a value in it. space is an expression for what Gatus
// cuts around the text.
func (e *gatusEndpoint) bodyAssertions(c condition, base Object, space string) ([]Object, bool) {
	if c.function == "has" {
		switch {
		case c.is("true") || c.isNot("false"):
			return []Object{with(base, "exists", true)}, true
		case c.is("false") || c.isNot("true"):
			return []Object{with(base, "exists", false)}, true
		}
		return nil, false
	}
	switch c.operator {
	case "<", "<=", ">", ">=":
		return e.bodyNumber(c, base)
	case "!=":
		return e.bodyDiffers(c, base)
	}
	switch {
	case c.pattern:
		return e.patternAssertion(c, base, space)
	case c.options != nil:
		return e.anyAssertion(c, base, space)
	case space == "":
		return []Object{with(base, "eq", e.g.fileText(c.right))}, true
	case marked(c.right):
		e.lose("condition "+c.text, "spaces around the body are compared, too")
		return []Object{with(base, "eq", e.g.fileText(c.right))}, true
	}
	return e.matches(base, "^"+space+regexp.QuoteMeta(c.right)+space+"$")
}

// bodyNumber compares a number in a body. Gatus cuts its fraction, Vigil does not.
func (e *gatusEndpoint) bodyNumber(c condition, base Object) ([]Object, bool) {
	n, ok := c.number()
	if !ok {
		return nil, false
	}
	const least = 0.000001
	switch c.operator {
	case "<":
		return []Object{with(base, "lt", n)}, true
	case "<=":
		return []Object{with(base, "lt", strconv.FormatFloat(float64(n)+least, 'f', 6, 64))}, true
	case ">":
		return []Object{with(base, "gt", n)}, true
	}
	return []Object{with(base, "gt", strconv.FormatFloat(float64(n)-least, 'f', 6, 64))}, true
}

func (e *gatusEndpoint) bodyDiffers(c condition, base Object) ([]Object, bool) {
	if c.pattern {
		inner, ok := between(c.right)
		if !ok {
			return nil, false
		}
		return []Object{with(base, "not_contains", e.g.fileText(inner))}, true
	}
	options := c.options
	if options == nil {
		options = []string{c.right}
	}
	if c.source == sourceBody {
		e.lose("condition "+c.text, "spaces around the body are compared, too")
	}
	var made []Object
	for _, option := range options {
		made = append(made, with(base, "ne", e.g.fileText(option)))
	}
	return made, true
}

// patternAssertion carries over pat(...), a pattern of file names: * is any text.
func (e *gatusEndpoint) patternAssertion(c condition, base Object, space string) ([]Object, bool) {
	if inner, ok := between(c.right); ok {
		return []Object{with(base, "contains", e.g.fileText(inner))}, true
	}
	if strings.Trim(c.right, "*") == "" {
		return []Object{with(base, "exists", true)}, true
	}
	expression, ok := patternExpression(c.right, space)
	if !ok {
		return nil, false
	}
	return e.matches(base, expression)
}

// between returns the text of a pattern such as *text*; false for another pattern.
func between(pattern string) (string, bool) {
	inner, ok := strings.CutPrefix(pattern, "*")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "*")
	return inner, ok && inner != "" && !strings.ContainsAny(inner, `*?[\`)
}

// Expressions that match line breaks, too.
const (
	anyText      = `(?s:.*)`
	anyCharacter = `(?s:.)`
)

// patternExpression is the regular expression of a pattern of file names; false for one that
// is malformed or has a variable.
func patternExpression(pattern, space string) (string, bool) {
	if marked(pattern) {
		return "", false
	}
	var out strings.Builder
	for rest := []rune(pattern); len(rest) > 0; {
		switch r := rest[0]; r {
		case '*':
			out.WriteString(anyText)
		case '?':
			out.WriteString(anyCharacter)
		case '\\':
			if len(rest) < 2 {
				return "", false
			}
			rest = rest[1:]
			out.WriteString(regexp.QuoteMeta(string(rest[0])))
		case '[':
			end := strings.IndexRune(string(rest), ']')
			if end < 0 {
				return "", false
			}
			class := []rune(string(rest)[:end+1])
			out.WriteString(string(class))
			rest = rest[len(class)-1:]
		default:
			out.WriteString(regexp.QuoteMeta(string(r)))
		}
		rest = rest[1:]
	}
	text := "^" + space + out.String() + space + "$"
	text = strings.TrimSuffix(strings.TrimPrefix(text, "^"+space+anyText), anyText+space+"$")
	return text, true
}

// anyAssertion carries over any(...), one of several texts.
func (e *gatusEndpoint) anyAssertion(c condition, base Object, space string) ([]Object, bool) {
	quoted := make([]string, len(c.options))
	for i, option := range c.options {
		if marked(option) {
			return nil, false
		}
		quoted[i] = regexp.QuoteMeta(option)
	}
	return e.matches(base, fmt.Sprintf("^%s(?:%s)%s$", space, strings.Join(quoted, "|"), space))
}

// maxExpression is the longest regular expression of an assertion, in bytes.
const maxExpression = 1000

func (e *gatusEndpoint) matches(base Object, expression string) ([]Object, bool) {
	if _, err := regexp.Compile(expression); err != nil || len(expression) > maxExpression {
		return nil, false
	}
	return []Object{with(base, "matches", Literal(expression))}, true
}

// maxProperty is the longest path of an assertion, in bytes.
const maxProperty = 256

// The parts of a path that need no quotes.
var (
	pathName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	pathIndex = regexp.MustCompile(`^\[\d{1,9}\]`)
)

// jsonPath is the JSONPath of a path of Gatus, such as $.data[0]['user-id'] of
// data[0].user-id; false for one that has no such path.
func jsonPath(path string) (string, bool) {
	var out strings.Builder
	out.WriteByte('$')
	for part := range strings.SplitSeq(path, ".") {
		key, rest := part, ""
		if i := strings.IndexByte(part, '['); i >= 0 {
			key, rest = part[:i], part[i:]
		}
		switch {
		case key == "" && (rest == "" || out.Len() > 1):
			return "", false
		case key == "":
		case pathName.MatchString(key):
			out.WriteString("." + key)
		case strings.ContainsAny(key, `'"\$~,?@()`):
			return "", false
		default:
			out.WriteString("['" + key + "']")
		}
		for rest != "" {
			match := pathIndex.FindString(rest)
			if match == "" {
				return "", false
			}
			out.WriteString(match)
			rest = rest[len(match):]
		}
	}
	text := out.String()
	return text, len(text) <= maxProperty && strings.Count(text, "$") == 1
}
