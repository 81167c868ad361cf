// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// checkMembers is a check as the API takes it. Its members are in the order that people
// read them in.
type checkMembers struct {
	Name                string         `json:"name"`
	Type                string         `json:"type,omitempty"`
	IntervalSeconds     any            `json:"interval_seconds,omitempty"`
	Regions             []string       `json:"regions,omitzero"`
	Config              map[string]any `json:"config,omitempty"`
	Labels              any            `json:"labels,omitempty"`
	Retry               any            `json:"retry,omitempty"`
	SimultaneousRegions *bool          `json:"simultaneous_regions,omitempty"`
	Evidence            *bool          `json:"evidence,omitempty"`
	Enabled             *bool          `json:"enabled,omitempty"`
	// Rules are created with the check.
	Rules []map[string]any `json:"rules,omitempty"`
}

// body returns what the form says.
func (c *checkForm) body() checkMembers {
	body := checkMembers{
		Name: c.typed.Get("name"), Type: c.kind, IntervalSeconds: numberOf(strings.TrimSpace(c.typed.Get("interval_seconds"))),
		Regions: slices.Clone(c.typed.Values["regions"]), Config: configOf(c.members(), c.typed, "config"),
		Labels: pairsOf(c.typed, "labels"), Retry: c.retryOf(),
	}
	switch {
	case c.kind == kindHeartbeat: // both follow from the type and the schedule
		body.Regions, body.IntervalSeconds, body.Retry = nil, nil, nil
	case body.Regions == nil:
		body.Regions = []string{}
	}
	switch {
	case c.stored == nil:
		body.Rules = append(firstRules(c.typed), c.copiedRules()...)
	case body.Labels == nil:
		body.Labels = pairs{}
	}
	// What a new check has without a word about it is left out.
	if on := c.typed.Has("simultaneous_regions"); !on || c.stored != nil {
		body.SimultaneousRegions = &on
	}
	if on := c.typed.Has("evidence"); !on || c.stored != nil {
		body.Evidence = &on
	}
	if on := c.typed.Has("enabled"); !on || c.stored != nil {
		body.Enabled = &on
	}
	return body
}

// makeCheck creates a check, with its rules, and returns its id.
func (r *request) makeCheck(body checkMembers, key string) (uuid.UUID, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return uuid.Nil, err
	}
	made, err := r.api.CreateCheckWithBodyWithResponse(
		r.Context(),
		&client.CreateCheckParams{IdempotencyKey: givenOrNil(key)},
		jsonType,
		bytes.NewReader(text),
	)
	if err != nil {
		return uuid.Nil, err
	}
	if warnings := made.JSON201.Data.Warnings; warnings != nil {
		r.flash(flash{Mark: "warn", Text: strings.Join(*warnings, " ")})
	}
	return made.JSON201.Data.Id, nil
}

func givenOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// detailsOf returns the details of an error of the API.
func detailsOf(err error) map[string]any {
	known, ok := errors.AsType[*APIError](err)
	if !ok {
		return nil
	}
	return known.Details
}

var listIndex = regexp.MustCompile(`\.(\d+)(\.|$)`)

// located returns an error of the API whose members are named as the fields of this form
// are. When several secrets must be sent again, each is a problem of its own.
func (c *checkForm) located(err error) error {
	known, ok := errors.AsType[*APIError](err)
	if !ok {
		return err
	}
	first, _ := known.Details["member"].(string)
	if first == "" {
		return err
	}
	copied := *known
	message := strings.TrimPrefix(known.Message, first+": ")
	copied.Message = withoutForms(message)
	var problems []any
	list, _ := known.Details["problems"].([]any)
	for _, item := range list {
		if each, ok := item.(map[string]any); ok {
			name, _ := each["member"].(string)
			text, _ := each["message"].(string)
			problems = append(problems, map[string]any{"member": c.fieldOf(name), "message": withoutForms(text)})
		}
	}
	members, _ := known.Details["members"].([]any)
	for _, item := range members {
		if name, _ := item.(string); name != first {
			problems = append(problems, map[string]any{"member": c.fieldOf(name), "message": message})
		}
	}
	copied.Details = map[string]any{"member": c.fieldOf(first), "problems": problems}
	return &copied
}

// fieldOf returns the field that a member of the API is entered in. Some messages write
// the index of a list as .0. instead of [0]., and the members of an object with free
// names are rows of the form.
func (c *checkForm) fieldOf(member string) string {
	for listIndex.MatchString(member) {
		member = listIndex.ReplaceAllString(member, "[$1]$2")
	}
	if rest, ok := strings.CutPrefix(member, "rules[0]."); ok && len(firstRules(c.typed)) > 0 {
		return firstRulePath + rest
	}
	if strings.HasPrefix(member, "rules[") {
		return formRules
	}
	for _, known := range c.fields {
		rest, below := strings.CutPrefix(member, known.Name+".")
		if known.Type != "pairs" || !below {
			continue
		}
		for _, i := range c.typed.rows(known.Name) {
			if row := element(known.Name, i); strings.EqualFold(c.typed.Get(row+".name"), rest) {
				return row + ".value"
			}
		}
	}
	return member
}

// storedCheck is a check that is edited, as the API shows it.
type storedCheck struct {
	types    *checkTypes
	id       uuid.UUID
	kind     string
	name     string
	revision string
	members  map[string]any
}

// storedCheckOf reads an answer of the API.
func storedCheckOf(types *checkTypes, answer []byte, etag string) (*storedCheck, error) {
	object, err := readJSON(answer)
	if err != nil {
		return nil, err
	}
	data, _ := object["data"].(map[string]any)
	s := &storedCheck{types: types, members: data, revision: etag}
	s.kind, _ = data["type"].(string)
	s.name, _ = data["name"].(string)
	text, _ := data["id"].(string)
	s.id, err = uuid.Parse(text)
	return s, err
}

// entered returns the form of the check as it is stored.
func (s *storedCheck) entered() *sheet {
	typed := &sheet{Values: url.Values{"name": {s.name}, "type": {s.kind}}}
	if number, ok := s.members["interval_seconds"].(json.Number); ok {
		typed.Set("interval_seconds", number.String())
	}
	regions, _ := s.members["regions"].([]any)
	for _, region := range regions {
		if key, ok := region.(string); ok {
			typed.Add("regions", key)
		}
	}
	for _, name := range []string{"enabled", "simultaneous_regions", "evidence"} {
		if s.members[name] == true {
			typed.Set(name, "true")
		}
	}
	s.enterRetry(typed)
	labels := member{input: asPairs}
	labels.enter(s.members["labels"], s.members["labels"] != nil, nil, typed, "labels")
	config, _ := s.members["config"].(map[string]any)
	enterConfig(s.types.members(s.kind), config, typed, "config")
	return typed
}

// hourly is how many executions an hour the check makes; 0 while it is disabled.
func (s *storedCheck) hourly() float64 {
	regions, _ := s.members["regions"].([]any)
	number, _ := s.members["interval_seconds"].(json.Number)
	seconds, err := strconv.ParseFloat(number.String(), 64)
	if err != nil || seconds <= 0 || s.members["enabled"] != true {
		return 0
	}
	return 3600 / seconds * float64(len(regions))
}
