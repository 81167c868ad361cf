package api

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"vigil"
	"vigil/api/rest"
)

// members reads the members of a body one by one, where what is allowed depends
// on another member or on what is stored, so that a schema alone cannot tell.
// The first mistake of each member is kept.
type members struct {
	raw      map[string]json.RawMessage
	problems []rest.Problem
}

// readMembers reads an object.
func readMembers(body json.RawMessage) (*members, error) {
	m := &members{}
	if err := json.Unmarshal(body, &m.raw); err != nil || m.raw == nil {
		return nil, vigil.Invalid("body", "must be an object")
	}
	return m, nil
}

// wrong notes what is wrong with a member.
func (m *members) wrong(name, message string) {
	m.problems = append(m.problems, rest.Problem{Member: name, Message: message})
}

// take removes a member and returns its value; false when it is not there.
func (m *members) take(name string) (json.RawMessage, bool) {
	value, ok := m.raw[name]
	delete(m.raw, name)
	return value, ok
}

// read decodes a member into a new value, or returns nil when it is not there
// or is of another type, which null always is.
func read[T any](m *members, name, kind string) *T {
	raw, ok := m.take(name)
	if !ok {
		return nil
	}
	var value *T
	if err := json.Unmarshal(raw, &value); err != nil || value == nil {
		m.wrong(name, "must be "+kind)
		return nil
	}
	return value
}

// whole reads a whole number; 60.0 and 6e1 are whole, as JSON Schema has it. The
// bounds must be ones that a float holds exactly.
func (m *members) whole(name string, least, most int64) *int64 {
	number := read[float64](m, name, "a whole number")
	if number == nil {
		return nil
	}
	switch {
	case *number != math.Trunc(*number):
		m.wrong(name, "must be a whole number")
	case *number < float64(least) || *number > float64(most):
		m.wrong(name, "must be between "+strconv.FormatInt(least, 10)+" and "+strconv.FormatInt(most, 10))
	default:
		return new(int64(*number))
	}
	return nil
}

// object reads a member that must be an object and leaves it as it is.
func (m *members) object(name string) json.RawMessage {
	raw, ok := m.take(name)
	if !ok {
		return nil
	}
	if len(raw) == 0 || raw[0] != '{' {
		m.wrong(name, "must be an object")
		return nil
	}
	return raw
}

// require notes the members that are missing.
func (m *members) require(names ...string) {
	for _, name := range names {
		if _, ok := m.raw[name]; !ok {
			m.wrong(name, "is required")
		}
	}
}

// finish reports every mistake, members that are not known included. Members
// in ignored are those that the resource shows and nobody can set.
func (m *members) finish(ignored ...string) error {
	unknown := make([]string, 0, len(m.raw))
	for name := range m.raw {
		if !slices.Contains(ignored, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		m.wrong(name, "is not a member of this resource")
	}
	if len(m.problems) == 0 {
		return nil
	}
	return rest.InvalidProblems(m.problems[:min(len(m.problems), rest.MaxProblems)])
}
