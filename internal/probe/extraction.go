// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

// Bounds of what is extracted.
const (
	maxExtracted = 4 << 10 // bytes of a value
	minExtracted = 8       // bytes from which on a value is hidden like a secret
)

// answering is a probe whose answer values can be extracted from.
type answering interface {
	runForAnswer(ctx context.Context, more wanted) (vigil.Observation, answer)
	// endless reports whether the answer has no end.
	endless() bool
}

// wanted is what a step wants of an answer besides the assertions of its config.
type wanted struct {
	extract []extraction
	cookies *cookies // shared with the other steps; nil: of this exchange only
}

// needsBody reports whether an extraction looks at the body.
func (w wanted) needsBody() bool {
	for _, one := range w.extract {
		if one.Source == "json" || one.Source == "body" {
			return true
		}
	}
	return false
}

// jar returns the cookies of an exchange.
func (w wanted) jar() *cookies {
	if w.cookies == nil {
		return &cookies{}
	}
	return w.cookies
}

// extraction is an Extraction that was read.
type extraction struct {
	Extraction

	path    jsonPath
	pattern pattern
}

func parseExtraction(given Extraction, path string) (extraction, error) {
	e := extraction{Extraction: given}
	if !validPlaceholderName(given.Name) {
		return e, vigil.Invalid(path+".name", "must begin with a letter or underscore and go on with letters, digits and underscores")
	}
	property := path + ".property"
	var err error
	switch given.Source {
	case "json":
		e.path, err = parseJSONPath(property, given.Property)
	case "header":
		if !config.IsToken(given.Property) {
			err = vigil.Invalid(property, "must be the name of a header")
		}
	case "body":
		var ok bool
		if e.pattern, ok = parsePattern(given.Property); !ok {
			err = vigil.Invalid(property, "must be a regular expression (RE2), and not a large one")
		}
	case "status":
		if given.Property != "" {
			err = vigil.Invalid(property, "is not for the source status")
		}
	}
	return e, err
}

// take returns the value, or why there is none.
func (e extraction) take(got *answer) (string, error) {
	value, problem := "", ""
	switch e.Source {
	case "status":
		value = strconv.Itoa(got.status)
	case "header":
		if value = strings.Join(got.header.Values(e.Property), ", "); value == "" {
			problem = "header " + e.Property + " is absent"
		}
	case "body":
		value, problem = e.takeBody(got)
	case "json":
		value, problem = e.takeJSON(got)
	}
	switch {
	case problem != "":
		return "", fail("nothing to extract as %s: %s", e.Name, problem)
	case len(value) > maxExtracted:
		return "", fail("what is to be extracted as %s is longer than %d bytes", e.Name, maxExtracted)
	}
	return value, nil
}

func (e extraction) takeBody(got *answer) (value, problem string) {
	content, problem := got.text()
	if problem != "" {
		return "", problem
	}
	value, found, certain := e.pattern.find(content, got.unread != "")
	switch {
	case !certain && got.unread != "":
		return "", "what was read of the body does not decide what " + e.Property + " matches: " + got.unread
	case !certain:
		return "", e.pattern.bound("the body")
	case !found:
		return "", "body " + e.Property + " is absent"
	}
	return value, ""
}

func (e extraction) takeJSON(got *answer) (value, problem string) {
	values, problem := e.path.get(got)
	if problem != "" {
		return "", problem
	}
	if len(values) == 0 || values[0] == nil {
		return "", "json " + e.Property + " is absent"
	}
	return jsonText(values[0]), ""
}

// structured reports whether what is extracted is an object or a list.
func (e extraction) structured(got *answer) bool {
	if e.Source != "json" {
		return false
	}
	values, _ := e.path.get(got)
	if len(values) == 0 {
		return false
	}
	switch values[0].(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// placeholder matches {{name}}, and {{{{, which stands for {{ itself.
var placeholder = regexp.MustCompile(`\{\{\{\{|\{\{ *([A-Za-z_][A-Za-z0-9_]*) *\}\}`)

func validPlaceholderName(name string) bool {
	return placeholder.FindString("{{"+name+"}}") == "{{"+name+"}}" && !strings.Contains(name, " ")
}

// checkPlaceholders refuses placeholders of names that no earlier step extracts, and those
// in a URL whose value could lead the request, and the secrets in it, to a host
// that the config does not name.
func checkPlaceholders(given map[string]any, path string, known map[string]bool) error {
	return eachTemplate(given, func(name, text string) error {
		for _, match := range placeholder.FindAllStringSubmatchIndex(text, -1) {
			if match[2] < 0 {
				continue
			}
			if wanted := text[match[2]:match[3]]; !known[wanted] {
				return vigil.Invalid(config.Member(path, name), "uses {{%s}}, which no earlier step extracts; there is %s", wanted, listNames(known))
			}
			if name == "url" && urlPart(text[:match[0]]) == partNone {
				return vigil.Invalid(
					config.Member(path, name),
					"has a placeholder that would continue the host name; put it at the beginning of the host, or after a slash",
				)
			}
		}
		return nil
	})
}

// eachTemplate calls a function for every text that may have placeholders.
func eachTemplate(config map[string]any, do func(name, text string) error) error {
	for _, name := range []string{"url", "body", "host"} {
		if text, ok := config[name].(string); ok {
			if err := do(name, text); err != nil {
				return err
			}
		}
	}
	headers, _ := config["headers"].(map[string]any)
	for name, value := range headers {
		if text, ok := value.(string); ok {
			if err := do("headers."+name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// substitute returns a config with values in the place of the placeholders, or
// with a sample that fits the place when values is nil.
func substitute(config map[string]any, values map[string]extracted) (map[string]any, error) {
	changed := make(map[string]any, len(config))
	for name, value := range config {
		changed[name] = value
	}
	if headers, ok := config["headers"].(map[string]any); ok {
		copied := make(map[string]any, len(headers))
		for name, value := range headers {
			copied[name] = value
		}
		changed["headers"] = copied
	}
	kind, claimsJSON := kindOfBody(config)
	err := eachTemplate(config, func(name, text string) error {
		filled, err := fillTemplate(name, text, values, kind)
		if err != nil {
			return err
		}
		if name == "body" && claimsJSON && filled != text && !json.Valid([]byte(filled)) {
			return vigil.Invalid("config.body", "is not valid JSON with the values in their places, though its Content-Type says so")
		}
		if header, ok := strings.CutPrefix(name, "headers."); ok {
			changed["headers"].(map[string]any)[header] = filled //nolint:forcetypeassert // made above
		} else {
			changed[name] = filled
		}
		return nil
	})
	return changed, err
}

// fillTemplate puts values into one text, escaped for where they go.
func fillTemplate(name, text string, values map[string]extracted, kind bodyKind) (string, error) {
	var filled strings.Builder
	end := 0
	for _, match := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		filled.WriteString(text[end:match[0]])
		end = match[1]
		if match[2] < 0 {
			filled.WriteString("{{")
			continue
		}
		part := urlPart(text[:match[0]])
		value := values[text[match[2]:match[3]]]
		if values == nil {
			value = extracted{text: sampleFor(name, part)}
		}
		switch {
		case name == "url" && values != nil:
			escaped, err := escapeURL(value.text, part)
			if err != nil {
				return "", err
			}
			filled.WriteString(escaped)
		case name == "body":
			filled.WriteString(kind.escape(value, filled.String()))
		default:
			filled.WriteString(value.text)
		}
	}
	filled.WriteString(text[end:])
	return filled.String(), nil
}

// The parts of a URL that a placeholder can stand in.
const (
	partNone  = iota // where a value could continue the host name
	partWhole        // the beginning: the value is a URL
	partHost
	partPort
	partPath
	partQuery
)

// urlPart returns where in a URL a placeholder stands, given the text before it.
func urlPart(before string) int {
	rest := before
	if _, after, ok := strings.Cut(before, "://"); ok {
		rest = after
	} else if before == "" {
		return partWhole
	}
	switch {
	case strings.ContainsAny(rest, "?#"):
		return partQuery
	case strings.Contains(rest, "/"):
		return partPath
	case rest == "" && strings.HasSuffix(before, "://"):
		return partHost
	case strings.HasSuffix(rest, ":") && !strings.Contains(rest, "{{"), strings.HasSuffix(rest, "}}:"):
		return partPort
	}
	return partNone
}

// sampleFor is a value that could stand in a place.
func sampleFor(name string, part int) string {
	switch {
	case name == "url" && part == partWhole:
		return "https://sample.example"
	case name == "url" && part == partPort:
		return "443"
	case name == "host" || name == "url" && part == partHost:
		return "sample.example"
	}
	return "sample"
}

func escapeURL(value string, part int) (string, error) {
	switch part {
	case partWhole:
		return value, nil
	case partHost:
		if !validName(value) {
			return "", fail("a value of an earlier step is not a host name")
		}
		return value, nil
	case partPort:
		if _, err := strconv.ParseUint(value, 10, 16); err != nil {
			return "", fail("a value of an earlier step is not a port")
		}
		return value, nil
	case partPath:
		if value == "." || value == ".." { // cannot be escaped: it leads to another path in every form
			return "", fail("a value of an earlier step is %q, which would lead to another path", value)
		}
		return url.PathEscape(value), nil
	case partQuery:
		return url.QueryEscape(value), nil
	}
	return "", fail("a value of an earlier step would continue the host name")
}
