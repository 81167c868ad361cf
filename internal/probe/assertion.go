// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"net/url"
	"strconv"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

// Assertion is one thing that the answer of an HTTP target must be like.
type Assertion struct {
	Source   string `json:"source" title:"What is looked at" form:"medium" words:"status=Status|json=JSON value|json_length=Length of a JSON value|body=Body|header=Header|url=Final address|protocol=Protocol|response_time=Response time, ms|cert_days=Certificate, days" doc:"What is looked at. json_length is the number of entries of a list, members of an object or characters of a string; url is the address that the redirects led to; protocol is HTTP/1.0, HTTP/1.1, HTTP/2 or HTTP/3" enum:"status,header,body,json,json_length,url,protocol,response_time,cert_days"`
	Property string `json:"property,omitempty" title:"Header or JSONPath" help:"The name of a header, or the JSONPath of a value; only for these." form:"mono,medium" doc:"Name of the header for header; JSONPath of the value (RFC 9535) for json and json_length; not for the other sources" maxLength:"256" example:"$.status"`
	Operator string `json:"operator" title:"How it is compared" form:"medium" words:"eq=is|ne=is not|lt=is below|gt=is above|contains=contains|not_contains=does not contain|matches=matches (RE2)|exists=exists" doc:"How it is compared. lt and gt need numbers on both sides. A JSON path that selects several values holds when one of them does, for ne and not_contains when all do" enum:"eq,ne,lt,gt,contains,not_contains,matches,exists"`
	Target   any    `json:"target,omitempty" title:"Value" form:"mono" doc:"What it is compared with: a string, number or boolean. Texts (headers, bodies, JSON strings) are compared as texts, so 1.10 differs from 1.1; numbers (statuses, JSON numbers) as exact decimals. A regular expression (RE2) for matches; true (the default) or false for exists. Milliseconds for response_time, whole days for cert_days"`
}

// The sources of assertions.
const (
	sourceStatus       = "status"
	sourceHeader       = "header"
	sourceBody         = "body"
	sourceJSON         = "json"
	sourceJSONLength   = "json_length"
	sourceURL          = "url"
	sourceProtocol     = "protocol"
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

	text    string // the target as text
	number  number // the target as a number
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
	case a.Source == sourceJSON, a.Source == sourceJSONLength:
		var err error
		a.path, err = parseJSONPath(path, a.Property)
		return err
	case a.Source != sourceHeader && a.Property != "":
		return vigil.Invalid(path, "is only for the sources header, json and json_length")
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
	a.number, a.numeric = parseNumber(a.text)
	equality := a.Operator == "eq" || a.Operator == "ne"
	if !a.numeric && (a.Operator == "lt" || a.Operator == "gt" || a.measures() && equality) {
		return vigil.Invalid(path, "must be a number for this source and operator")
	}
	if a.Operator == "matches" {
		var ok bool
		if a.pattern, ok = parsePattern(a.text); !ok {
			return vigil.Invalid(path, "must be a regular expression (RE2), and not a large one")
		}
	}
	return a.parseOwnTarget(path, equality)
}

// parseOwnTarget reads the target of a source whose values have a form of their own.
func (a *assertion) parseOwnTarget(path string, equality bool) error {
	switch {
	case a.Source == sourceProtocol && equality:
		known := protocolName(a.text)
		if known == "" {
			return vigil.Invalid(path, "must be HTTP/1.0, HTTP/1.1, HTTP/2 or HTTP/3")
		}
		a.text, a.numeric = known, false
	case a.Source == sourceURL && equality:
		address, err := url.Parse(a.text)
		if err != nil || address.Host == "" {
			return vigil.Invalid(path, "must be a URL with its scheme and host, or use contains or matches")
		}
		a.text = finalURL(address)
	}
	return nil
}

// measures reports whether the values of the source are numbers.
func (a *assertion) measures() bool {
	switch a.Source {
	case sourceStatus, sourceResponseTime, sourceCertDays, sourceJSONLength:
		return true
	}
	return false
}
