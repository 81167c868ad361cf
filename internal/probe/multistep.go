// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// MultistepConfig is the config of multistep checks.
type MultistepConfig struct {
	Steps []Step `json:"steps" title:"Steps" add:"Add step" begin:"[{\"type\":\"https\",\"config\":{}}]" doc:"What to do, in this order; the first failure ends it" minItems:"1" maxItems:"10"`
}

// Step is one probe of a multistep check.
type Step struct {
	Name    string         `json:"name" title:"Name" form:"medium" doc:"Name, unique in the check" minLength:"1" maxLength:"100" example:"log in"`
	Type    string         `json:"type" title:"Type" form:"types,medium" doc:"A check type that is probed, other than multistep" example:"https"`
	Config  map[string]any `json:"config" secret:"by-type" doc:"Config of that type. In url, header values, body and host {{name}} stands for what an earlier step extracted, escaped for where it stands: in a URL, a form, JSON or XML. In JSON outside of quotes an object or a list is inserted as JSON, and a text as a string. {{{{ stands for {{ itself. Without timeout_seconds the steps share the interval"`
	Extract []Extraction   `json:"extract,omitempty" title:"Keep for later steps" add:"Keep a value" doc:"What later steps use; only for HTTP types" maxItems:"10"`
}

// Extraction takes a value out of the answer of a step.
type Extraction struct {
	Name     string `json:"name" title:"Name" help:"A later step writes {{name}} in its address, headers or body." form:"mono,medium" doc:"Name for {{name}}: letters, digits and underscores" minLength:"1" maxLength:"64" example:"token"`
	Source   string `json:"source" title:"Where it is" form:"medium" words:"json=JSON value|header=Header|body=Body|status=Status" doc:"Where the value is" enum:"json,header,body,status"`
	Property string `json:"property,omitempty" title:"JSONPath, header or RE2" form:"mono" doc:"JSONPath, name of the header, or regular expression (RE2) whose first group is taken from the body" maxLength:"256" example:"$.token"`
}

// MultistepMetadata is the metadata of a result of a multistep check.
type MultistepMetadata struct {
	Steps []StepResult `json:"steps" doc:"The steps that ran"`
}

// StepResult is what one step saw.
type StepResult struct {
	Name           string         `json:"name" doc:"Name of the step"`
	Type           string         `json:"type" doc:"Type of the step"`
	Success        bool           `json:"success" doc:"It succeeded"`
	ResponseTimeMS float64        `json:"response_time_ms" doc:"Response time, ms"`
	StatusCode     int            `json:"status_code,omitempty" doc:"Status of the answer, HTTP types only"`
	Error          string         `json:"error,omitempty" doc:"Why it failed"`
	Metadata       map[string]any `json:"metadata,omitempty" doc:"Metadata of the step's type"`
}

var _ = register(newMultistep)

// newMultistep makes the multistep type.
func newMultistep(env *environment) Prober { return multistepProber{environment: env} }

type multistepProber struct{ *environment }

func (multistepProber) Type() vigil.CheckType { return vigil.TypeMultistep }

func (multistepProber) Documents() (config, metadata any) {
	return MultistepConfig{}, MultistepMetadata{}
}

// Describe says what the type is for.
func (multistepProber) Describe() TypeInfo {
	return TypeInfo{Position: 13, About: "Step by step", Conditions: []string{vigil.KeyStatusCode}}
}

func (p multistepProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	var c MultistepConfig
	hidden, err := p.read(p.Type(), given, &c)
	if err != nil {
		return nil, err
	}
	probe := multistepProbe{hidden: hidden, steps: make([]step, len(c.Steps))}
	extracted := make(map[string]bool)
	names := make(map[string]bool)
	for i, one := range c.Steps {
		path := config.Element("config.steps", i)
		if names[one.Name] {
			return nil, vigil.Invalid(path+".name", "is the name of an earlier step, too")
		}
		names[one.Name] = true
		parsed, sample, err := p.parseStep(one, path, extracted, interval, len(c.Steps))
		if err != nil {
			return nil, err
		}
		probe.steps[i] = parsed
		probe.deadline += sample.Deadline()
		if changes := ChangesOf(sample); changes != "" && probe.changes == "" {
			probe.changes = fmt.Sprintf("in step %q %s", one.Name, changes)
		}
		if probe.target == "" && !placeholder.MatchString(fmt.Sprint(one.Config["url"], one.Config["host"])) {
			probe.target = sample.Target()
		}
	}
	if probe.deadline > interval {
		return nil, vigil.Invalid(
			"config.steps", "may take %s together, which must not exceed the check's interval of %s; lower their timeout_seconds",
			humanDuration(probe.deadline), humanDuration(interval),
		)
	}
	return probe, nil
}

// step is a Step that was read. Its config is read again in every run, when its
// placeholders have values.
type step struct {
	name     string
	prober   Prober
	config   map[string]any
	interval time.Duration // for the timeouts of its config
	extract  []extraction
}

// canBeStep reports whether a type can be one of a step. The results of a heartbeat arrive, so there is
// nothing to probe.
func canBeStep(t vigil.CheckType) bool { return t != vigil.TypeMultistep && t != vigil.TypeHeartbeat }

// parseStep reads a step and returns it with a sample of its probe, in which
// every placeholder has some value. It adds what the step extracts.
func (p multistepProber) parseStep(given Step, path string, known map[string]bool, interval time.Duration, steps int) (step, Probe, error) {
	prober, ok := p.registry.probers[vigil.CheckType(given.Type)]
	if !ok || !canBeStep(prober.Type()) {
		return step{}, nil, vigil.Invalid(path+".type", "must be a check type that is probed, other than multistep")
	}
	parsed := step{name: given.Name, prober: prober, config: given.Config, interval: interval / time.Duration(steps)}
	if err := checkPlaceholders(given.Config, path+".config", known); err != nil {
		return parsed, nil, err
	}
	sample, err := parsed.parse(nil)
	if err != nil { // perhaps only because it asks for more than an equal share of the interval
		parsed.interval = interval
		sample, err = parsed.parse(nil)
	}
	if err != nil {
		return parsed, nil, vigil.Beneath(path, err)
	}
	answers, ok := sample.(answering)
	if len(given.Extract) > 0 && !ok {
		return parsed, nil, vigil.Invalid(path+".extract", "is only for steps of HTTP types")
	}
	for i, one := range given.Extract {
		read, err := parseExtraction(one, config.Element(path+".extract", i))
		if err != nil {
			return parsed, nil, err
		}
		if one.Source == "json" && answers.endless() {
			source := config.Element(path+".extract", i) + ".source"
			return parsed, nil, vigil.Invalid(source, "must not be json with stream: true; the body has no end")
		}
		parsed.extract = append(parsed.extract, read)
	}
	for _, one := range given.Extract {
		known[one.Name] = true
	}
	return parsed, sample, nil
}

// parse reads the step's config with the values in their places, or with samples
// when values is nil.
func (s step) parse(values map[string]extracted) (Probe, error) {
	config, err := substitute(s.config, values)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return s.prober.Parse(text, s.interval)
}

type multistepProbe struct {
	hidden   *redact.Redactor
	steps    []step
	target   string
	changes  string // what makes a step unsafe to repeat
	deadline time.Duration
}

func (p multistepProbe) Deadline() time.Duration { return p.deadline }

// Changes are those of the first step that has any.
func (p multistepProbe) Changes() string { return p.changes }

// Target is that of the first step whose target is known beforehand.
func (p multistepProbe) Target() string {
	if p.target == "" {
		return "multistep"
	}
	return p.target
}

// Run does the steps. The response time is the sum of theirs.
func (p multistepProbe) Run(ctx context.Context) vigil.Observation {
	var took time.Duration
	unavailable := false
	seen := observe(ctx, nil, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		found := MultistepMetadata{Steps: []StepResult{}}
		memory := memory{values: make(map[string]extracted), cookies: &cookies{}, hidden: p.hidden, evidence: p.hidden}
		for _, one := range p.steps {
			t.step("in step " + one.name)
			result, observed := one.run(ctx, &memory)
			took += observed.ResponseTime
			unavailable = unavailable || observed.Unavailable
			found.Steps = append(found.Steps, result)
			if !result.Success {
				failed := fail
				if observed.NetworkFailure {
					failed = failUnanswered
				}
				return outcome{
					metadata: found, err: failed("step %q: %s", one.name, result.Error),
					evidence: evidenceOfStep(one.name, observed.Evidence, &memory),
				}
			}
		}
		return outcome{metadata: found}
	})
	if took > 0 {
		seen.ResponseTime = took
	}
	seen.Unavailable = unavailable
	return seen
}

// evidenceOfStep is the evidence of a check whose step failed.
func evidenceOfStep(name string, e *vigil.Evidence, m *memory) *vigil.Evidence {
	if e == nil {
		e = &vigil.Evidence{}
	}
	e.Step = hider{m.evidence}.text(name)
	return e
}

// memory is what the steps of a run hand on.
type memory struct {
	values  map[string]extracted
	cookies *cookies
	hidden  *redact.Redactor // of all steps so far: a target may repeat another's
	// evidence hides more, also short values that were extracted.
	evidence *redact.Redactor
}

// run does one step and extracts its values.
func (s step) run(ctx context.Context, m *memory) (StepResult, vigil.Observation) {
	result := StepResult{Name: s.name, Type: string(s.prober.Type())}
	probe, err := s.parse(m.values)
	if err != nil {
		reason := vigil.ErrorMessage(err)
		if rejection, ok := errors.AsType[verdict](err); ok {
			reason = string(rejection)
		}
		result.Error = clip(m.hidden.Text("with the values of earlier steps: "+reason), maxReason)
		return result, vigil.Observation{}
	}
	if hiding, ok := probe.(interface{ hides() *redact.Redactor }); ok {
		m.hidden, m.evidence = m.hidden.Join(hiding.hides()), m.evidence.Join(hiding.hides())
	}
	var seen vigil.Observation
	if withAnswer, ok := probe.(answering); ok {
		var got answer
		seen, got = withAnswer.runForAnswer(forStep(ctx, m.evidence, s.extract), wanted{s.extract, m.cookies})
		if seen.Success {
			if err := m.extract(s.extract, &got); err != nil {
				seen.Success, seen.Error = false, err.Error()
				seen.Evidence = got.evidence(m.hidden)
			}
		}
	} else {
		seen = probe.Run(forStep(ctx, m.evidence, nil))
	}
	if values := m.cookies.secrets(); len(values) > 0 {
		m.hidden, m.evidence = m.hidden.With(values...), m.evidence.With(values...)
	}
	result.Success, result.StatusCode, result.ResponseTimeMS = seen.Success, seen.StatusCode, milliseconds(seen.ResponseTime)
	result.Error = m.hidden.Text(seen.Error)
	result.Metadata, _ = m.hidden.Tree(maps.Clone(seen.Metadata)).(map[string]any)
	return result, seen
}

// extract takes the values of a step's answer.
func (m *memory) extract(wanted []extraction, got *answer) error {
	for _, one := range wanted {
		value, err := one.take(got)
		if err != nil {
			return err
		}
		m.values[one.Name] = extracted{value, one.structured(got)}
		if len(value) >= minExtracted {
			m.hidden = m.hidden.With(value)
		}
		if len(value) >= minSecret {
			m.evidence = m.evidence.With(value)
		}
	}
	return nil
}

// listNames lists names for an error.
func listNames(names map[string]bool) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}
