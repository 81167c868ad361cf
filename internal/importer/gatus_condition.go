// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// conditionSource is what a condition of Gatus looks at.
type conditionSource int

const (
	sourceUnknown conditionSource = iota
	sourceStatus
	sourceTime
	sourceBody
	sourceJSON
	sourceCertificate
	sourceConnected
	sourceRcode
	sourceIP
	sourceDomain
	sourceContext
)

// condition is a condition such as "[BODY].status == any(UP, OK)", with the placeholder on
// its left side.
type condition struct {
	text     string // as the source writes it
	source   conditionSource
	property string // of a body: the path behind [BODY]; with marks
	function string // len or has around the placeholder, or nothing
	operator string // ==, !=, <, <=, > or >=
	right    string // with marks; without the function
	pattern  bool   // the right side is pat(...)
	options  []string
	problem  string // why it cannot be carried over
}

// readConditions reads the conditions of the endpoint.
func (e *gatusEndpoint) readConditions() []condition {
	var all []condition
	for _, one := range e.list("conditions") {
		switch {
		case one.kind != scalarKind:
			e.lose("conditions", "has an item that is no text")
		default:
			all = append(all, parseCondition(e.constants(one.text)))
		}
	}
	return all
}

// operators are in the order in which Gatus looks for them.
func conditionOperators() []string { return []string{"==", "!=", "<=", ">=", ">", "<"} }

// parseCondition reads a condition with marks.
func parseCondition(text string) condition {
	c := condition{text: oneLine(shown(text))}
	for _, operator := range conditionOperators() {
		parts := strings.Split(text, " "+operator+" ")
		if len(parts) < 2 {
			continue
		}
		if len(parts) > 2 {
			c.problem = "has more than one operator"
			return c
		}
		c.operator = operator
		left, right := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		if !c.placeholder(left) {
			if !c.placeholder(right) {
				c.problem = "compares nothing that a check sees"
				return c
			}
			right = left
			c.operator = flipped(operator)
		} else if other := (condition{}); other.placeholder(right) {
			c.problem = "compares two things that a check sees"
			return c
		}
		c.setRight(right)
		return c
	}
	c.problem = "is no condition of the form VALUE OPERATOR VALUE"
	return c
}

func flipped(operator string) string {
	switch operator {
	case "<":
		return ">"
	case "<=":
		return ">="
	case ">":
		return "<"
	case ">=":
		return "<="
	}
	return operator
}

// placeholder reads a placeholder, with len or has around it; false for another text.
// Upper and lower case are the same, besides in the path of a body.
func (c *condition) placeholder(text string) bool {
	inner, function := text, ""
	for _, name := range []string{"len", "has"} {
		if rest, ok := strings.CutPrefix(text, name+"("); ok && strings.HasSuffix(rest, ")") {
			inner, function = strings.TrimSpace(strings.TrimSuffix(rest, ")")), name
		}
	}
	upper := strings.ToUpper(inner)
	source, ok := map[string]conditionSource{
		"[STATUS]": sourceStatus, "[RESPONSE_TIME]": sourceTime, "[BODY]": sourceBody,
		"[CERTIFICATE_EXPIRATION]": sourceCertificate, "[CONNECTED]": sourceConnected, "[DNS_RCODE]": sourceRcode,
		"[IP]": sourceIP, "[DOMAIN_EXPIRATION]": sourceDomain,
	}[upper]
	property := ""
	switch {
	case ok:
	case strings.HasPrefix(upper, "[BODY]."), strings.HasPrefix(upper, "[BODY]["):
		source, property = sourceJSON, strings.TrimPrefix(inner[len("[BODY]"):], ".")
	case strings.HasPrefix(upper, "[CONTEXT]"):
		source = sourceContext
	default:
		return false
	}
	c.source, c.property, c.function = source, property, function
	return true
}

func (c *condition) setRight(text string) {
	c.right = text
	numeric := c.operator != "==" && c.operator != "!="
	if rest, ok := strings.CutPrefix(text, "pat("); ok && strings.HasSuffix(rest, ")") {
		c.right, c.pattern = strings.TrimSuffix(rest, ")"), true
	}
	if rest, ok := strings.CutPrefix(text, "any("); ok && strings.HasSuffix(rest, ")") {
		for option := range strings.SplitSeq(strings.TrimSuffix(rest, ")"), ",") {
			c.options = append(c.options, strings.TrimSpace(option))
		}
	}
	if numeric && (c.pattern || c.options != nil) {
		c.problem = "compares a number with a function"
	}
}

// number returns the right side as Gatus reads a number: milliseconds of a duration, or a
// number without its fraction; false for anything else.
func (c *condition) number() (int64, bool) {
	text := strings.TrimSpace(c.right)
	if d, err := time.ParseDuration(text); err == nil && d != 0 {
		return d.Milliseconds(), true
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, true
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f > -1e15 && f < 1e15 {
		return int64(f), true
	}
	return 0, false
}

// is reports whether the condition demands that the source equals a text.
func (c *condition) is(text string) bool {
	return c.operator == "==" && !c.pattern && c.options == nil && strings.EqualFold(c.right, text)
}

func (c *condition) isNot(text string) bool {
	return c.operator == "!=" && !c.pattern && c.options == nil && strings.EqualFold(c.right, text)
}

// accepted returns the texts of which the source must be one; nil for another condition.
func (c *condition) accepted() []string {
	switch {
	case c.operator != "==" || c.pattern || c.function != "":
		return nil
	case c.options != nil:
		return c.options
	}
	return []string{c.right}
}

// eachCondition hands the conditions to what knows the type of the endpoint. What that does
// not carry over, and no type does, is lost.
func (e *gatusEndpoint) eachCondition(carry func(condition) bool) {
	for _, c := range e.conditions {
		switch {
		case c.problem != "":
			e.lose("condition "+c.text, "%s", c.problem)
		case c.source == sourceConnected:
			e.connected(c)
		case c.source == sourceDomain && c.function == "" && e.domainCondition(c):
		case c.function != "len" && carry(c):
		case e.missing != "":
		case c.source == sourceTime && c.function == "" && e.slowCondition(c):
		default:
			e.lose("condition "+c.text, "%s", e.reason(c))
		}
	}
}

// connected judges a condition on [CONNECTED]: that it is true is what every check demands.
func (e *gatusEndpoint) connected(c condition) {
	switch {
	case c.function == "" && (c.is("true") || c.isNot("false")):
	case c.function == "" && (c.is("false") || c.isNot("true")):
		e.missing = "it expects that no connection is made"
	default:
		e.lose("condition "+c.text, "every check demands that it connects")
	}
}

// reason says why a condition is not carried over.
func (e *gatusEndpoint) reason(c condition) string {
	switch {
	case c.function == "len":
		return "Vigil does not compare lengths"
	case c.source == sourceIP:
		return "Vigil does not compare the address that answered"
	case c.source == sourceDomain:
		return "a check of the type domain watches when a domain ends"
	case c.source == sourceContext:
		return "Vigil compares what a step sees with constants only"
	case marked(c.right) && c.operator != "==" && c.operator != "!=":
		return "a number cannot come from a variable"
	}
	return "checks of type " + string(e.kind) + " have no such condition"
}

// slowCondition carries over a bound of the response time as a rule.
func (e *gatusEndpoint) slowCondition(c condition) bool {
	n, ok := c.number()
	if c.operator == "<" {
		n--
	}
	if !ok || c.operator != "<" && c.operator != "<=" || n < 0 || n > 24*60*60*1000 || e.suite != nil {
		return false
	}
	e.slow = append(e.slow, slowBound{int(n), c.text})
	return true
}

// certificateDays returns the whole days that a certificate must have more than.
func (e *gatusEndpoint) certificateDays(c condition) (int, bool) {
	n, ok := c.number()
	if !ok || c.function != "" || c.operator != ">" && c.operator != ">=" {
		return 0, false
	}
	const day = int64(24 * time.Hour / time.Millisecond)
	days := n / day
	if n%day > 0 {
		days++
		e.lose("condition "+c.text, "Vigil counts whole days: at least %d", days)
	}
	days--
	return int(min(max(days, -1), 3650)), true
}

// tcpCondition carries over what a target of TCP must answer.
func (e *gatusEndpoint) tcpCondition(c condition) bool {
	if c.source != sourceBody || c.function != "" || c.operator != "==" || c.options != nil || e.config.Get("expect") != nil {
		return false
	}
	text := c.right
	if c.pattern {
		inner, ok := between(text)
		if !ok {
			return false
		}
		text = inner
	}
	if strings.TrimSpace(text) == "" {
		return false
	}
	if !c.pattern {
		e.lose("condition "+c.text, "the answer must contain the text, not be equal to it")
	}
	e.config.Set("expect", e.g.fileText(text))
	return true
}

// dnsCondition carries over the response code and the records.
func (e *gatusEndpoint) dnsCondition(c condition, record string) bool {
	accepted := c.accepted()
	if accepted == nil {
		return false
	}
	switch c.source {
	case sourceRcode:
		codes := []string{"NOERROR", "NXDOMAIN", "SERVFAIL", "REFUSED", "FORMERR", "NOTIMP"}
		if len(accepted) != 1 || !slices.Contains(codes, accepted[0]) {
			return false
		}
		if accepted[0] != "NOERROR" {
			e.config.Set("expected_rcode", accepted[0])
		}
		return true
	case sourceBody:
		// Gatus shows a part of these records only.
		if record == "MX" || record == "SRV" || record == "SOA" || record == "CAA" || e.config.Get("expected_values") != nil {
			return false
		}
		values := make([]string, len(accepted))
		for i, one := range accepted {
			values[i] = e.g.fileText(one)
		}
		e.config.Set("expected_values", values)
		return true
	default:
		return false
	}
}
