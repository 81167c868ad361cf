// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// IsUnknownMember reports whether a problem is about a member that does not exist.
func IsUnknownMember(p project.Problem) bool { return p.Message == validation.MsgUnexpectedProperty }

// ReadMembers reads an object that is a part of a body as if it were a body of its own: it
// validates the members against the schema of *into and decodes them. It returns what is
// wrong, in the order of the members; the paths begin at the object.
func ReadMembers(registry huma.Registry, members map[string]any, into any) []project.Problem {
	kind := reflect.TypeOf(into).Elem()
	path := huma.NewPathBuffer(nil, 0)
	path.Push("body")
	var result huma.ValidateResult
	huma.Validate(registry, registry.Schema(kind, true, ""), path, huma.ModeWriteToServer, hideSeparators(members), &result)
	errs := result.Errors
	text, err := project.EncodeMembers(members)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return []project.Problem{{Message: vigil.ErrorMessage(describeJSON(err))}}
	}
	value := reflect.ValueOf(into).Elem()
	for _, field := range reflect.VisibleFields(kind) {
		resolver, ok := value.FieldByIndex(field.Index).Addr().Interface().(huma.ResolverWithPath)
		if !ok {
			continue
		}
		name := jsonName(field)
		errs = append(errs, resolver.Resolve(nil, huma.NewPathBuffer([]byte("body."+name), len("body."+name)))...)
	}
	known := make([]problem, 0, len(errs))
	for _, err := range errs {
		if p, ok := problemOf(err); ok {
			known = append(known, p)
		}
	}
	names := &huma.Operation{Metadata: map[string]any{metaMembers: memberNames(kind)}}
	found := inOrder(names, known)
	problems := make([]project.Problem, len(found))
	for i, p := range found {
		problems[i] = project.Problem{Path: p.Member, Message: p.Message}
	}
	return problems
}
