// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// Limits of a multistep check.
const (
	maxSteps    = 10
	maxStepName = 100
	maxExtracts = 10
)

// gatusSuite is a suite on its way to a multistep check.
type gatusSuite struct {
	constants *value            // the initial context
	names     map[string]string // placeholder by path of the context, of values that were stored
	taken     map[string]bool
}

// suite adds a multistep check for a suite.
func (g *gatusImport) suite(v *value, index int) {
	draft := &Resource{Kind: project.KindCheck, result: g.Result}
	m := newMembers(v, "", draft.Lose)
	origin := gatusOrigin(m, "suite", index)
	endpoints := m.list("endpoints")
	switch {
	case len(endpoints) == 0:
		g.Miss(project.KindCheck, origin, "the suite has no endpoints")
		return
	case len(endpoints) > maxSteps:
		g.Miss(project.KindCheck, origin, "the suite has %d endpoints, and a multistep check at most %d steps", len(endpoints), maxSteps)
		return
	}
	s := &gatusSuite{constants: m.take("context"), names: map[string]string{}, taken: map[string]bool{}}
	var steps []any
	var read []*gatusEndpoint
	for i, one := range endpoints {
		step, e := g.step(s, one, i, draft)
		if e.missing != "" {
			g.Miss(project.KindCheck, origin, "step %s: %s", e.origin, e.missing)
			return
		}
		steps, read = append(steps, step), append(read, e)
	}
	group, name := m.marked("group"), m.marked("name")
	check := g.Add(project.KindCheck, origin, keyName(group, name))
	check.Losses = draft.Losses
	m.lose = check.Lose
	check.Set("name", g.name(name, origin))
	check.Set("type", string(vigil.TypeMultistep))
	if enabled := m.truth("enabled"); enabled != nil && !*enabled {
		check.Set("enabled", false)
	}
	interval := gatusSuiteInterval
	if given, ok := m.duration("interval"); ok && given > 0 {
		interval = given
	}
	check.SetInterval(interval)
	m.drop("the steps have timeouts of their own", "timeout")
	g.labels(check, group, nil)
	check.Set("config", Object{{"steps", steps}})
	g.stepAlerts(check, read, group)
	m.finish()
}

// step makes a step of an endpoint.
func (g *gatusImport) step(s *gatusSuite, v *value, index int, check *Resource) (Object, *gatusEndpoint) {
	m := newMembers(v, "", nil)
	name := oneLine(shown(m.marked("name")))
	if name == "" {
		name = fmt.Sprintf("step %d", index+1)
	}
	m.lose = func(what, format string, args ...any) { check.Lose("step "+name+": "+what, format, args...) }
	e := &gatusEndpoint{members: m, g: g, origin: name, suite: s}
	e.read(e.context(m.marked("url")))
	if e.missing != "" {
		return nil, e
	}
	step := Object{{"name", g.name(cut(m.marked("name"), maxStepName), name)}, {"type", string(e.kind)}, {"config", e.config}}
	if extracts := e.extracts(); len(extracts) > 0 {
		step.Set("extract", extracts)
	}
	if e.on("always-run") {
		e.lose("always-run: true", "the first step that fails ends the check")
	}
	if e.client.get("timeout") != nil {
		e.client.drop("the steps share the interval", "timeout")
	}
	if enabled := e.truth("enabled"); enabled != nil && !*enabled {
		e.lose("enabled: false", "the step runs, as in Gatus")
	}
	e.take("interval")
	e.drop("a step has no labels", "extra-labels")
	return step, e
}

// stepAlerts adds the rules of the alerts of all steps to the check.
func (g *gatusImport) stepAlerts(check *Resource, steps []*gatusEndpoint, group string) {
	for _, e := range steps {
		e.lose = func(what, format string, args ...any) { check.Lose("step "+e.origin+": "+what, format, args...) }
		e.client.lose, e.check = e.lose, check
		if alerts := e.list("alerts"); len(alerts) > 0 {
			if len(steps) > 1 {
				e.lose("alerts", "the rule is for the whole check, and fires for each step that fails")
			}
			for _, one := range alerts {
				g.alert(check, newMembers(one, "alerts.", check.Lose), group, false)
			}
		}
		if windows := e.list("maintenance-windows"); len(windows) > 0 {
			e.lose("maintenance-windows", "the window is for the whole check")
			for _, one := range windows {
				g.endpointMaintenance(check, one)
			}
		}
		e.finishAll()
	}
}

// extracts returns what later steps use of the answer, and notes it for them.
func (e *gatusEndpoint) extracts() []any {
	var all []any
	for _, one := range e.texts("store") {
		what := "store." + one.name + ": " + shown(one.value.text)
		source, property, ok := e.extraction(one.value.text)
		switch {
		case !ok:
			e.lose(what, "a step extracts the status and values of the body of HTTP only")
			continue
		case len(all) >= maxExtracts:
			e.lose(what, "a step extracts at most %d values", maxExtracts)
			continue
		}
		extract := Object{{"name", e.suite.placeholder(one.name)}, {"source", source}}
		if property != "" {
			extract.Set("property", property)
		}
		all = append(all, extract)
	}
	return all
}

// extraction reads what a store takes.
func (e *gatusEndpoint) extraction(text string) (source, property string, ok bool) {
	var c condition
	if e.kind != vigil.TypeHTTP && e.kind != vigil.TypeHTTPS || !c.placeholder(strings.TrimSpace(text)) || c.function != "" {
		return "", "", false
	}
	switch c.source {
	case sourceStatus:
		return "status", "", true
	case sourceBody:
		return "body", `(?s)^\s*(.*\S)`, true
	case sourceJSON:
		path, ok := jsonPath(e.g.fileText(c.property))
		return "json", path, ok
	default:
		return "", "", false
	}
}

// placeholder returns the name in {{name}} for a path of the context.
func (s *gatusSuite) placeholder(path string) string {
	if name, ok := s.names[path]; ok {
		return name
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, path)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	name = cut(name, 50)
	for n, standard := 2, name; s.taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", standard, n)
	}
	s.taken[name], s.names[path] = true, name
	return name
}

// contextPath matches what Gatus replaces in the texts of an endpoint of a suite.
var contextPath = regexp.MustCompile(`\[CONTEXT\]\.[\w.\-]+`)

// context replaces [CONTEXT].path in a text with marks: by the placeholder of a value that
// an earlier step stores, or by the constant of the initial context.
func (e *gatusEndpoint) context(text string) string {
	if e.suite == nil {
		return text
	}
	return contextPath.ReplaceAllStringFunc(text, func(match string) string {
		path := strings.TrimPrefix(match, "[CONTEXT].")
		if name, ok := e.suite.names[path]; ok {
			return "{{" + name + "}}"
		}
		if constant, ok := e.suite.constant(path); ok {
			return constant
		}
		e.lose(match, "no earlier step stores it, and the context of the suite lacks it")
		return match
	})
}

// constants replaces the constants of the initial context in a condition. What a step stores
// stays, since an assertion compares with constants only.
func (e *gatusEndpoint) constants(text string) string {
	if e.suite == nil {
		return text
	}
	return contextPath.ReplaceAllStringFunc(text, func(match string) string {
		path := strings.TrimPrefix(match, "[CONTEXT].")
		if _, stored := e.suite.names[path]; stored {
			return match
		}
		if constant, ok := e.suite.constant(path); ok {
			return constant
		}
		return match
	})
}

// constant returns a value of the initial context.
func (s *gatusSuite) constant(path string) (string, bool) {
	current := s.constants
	for part := range strings.SplitSeq(path, ".") {
		if current = current.get(part); current == nil {
			return "", false
		}
	}
	return current.text, current.kind == scalarKind
}
