// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// diagnose turns an error of the API into one at the attribute that it names.
func (s *shape) diagnose(doing string, err error, values tftypes.Value) diag.Diagnostics {
	summary := "Cannot " + doing + " the " + s.Noun
	f, ok := errors.AsType[*failure](err)
	if !ok {
		return diag.Diagnostics{diag.NewErrorDiagnostic(summary, "The server was not reached: "+err.Error())}
	}
	detail := f.Message
	if f.Status == http.StatusPreconditionFailed {
		detail = "The " + s.Noun + " was changed since the plan was made. Nothing was changed now; plan again to see the difference."
	}
	member, _ := f.Details["member"].(string)
	at := s.pathOf(member, values)
	if rest, found := strings.CutPrefix(detail, member+": "); found && len(at.Steps()) > 0 {
		detail = at.String() + ": " + rest
	}
	if f.RequestID != "" {
		detail += fmt.Sprintf("\n\nThe request has the id %s.", f.RequestID)
	}
	if len(at.Steps()) == 0 {
		return diag.Diagnostics{diag.NewErrorDiagnostic(summary, detail)}
	}
	// Terraform 1.11 finds the line of an attribute of the resource, and not of one in it.
	root := path.Root(at.Steps()[0].String())
	return diag.Diagnostics{diag.NewAttributeErrorDiagnostic(root, summary, detail)}
}

// memberStep is a name or an index of a path such as config.assertions[0].property.
var memberStep = regexp.MustCompile(`[^.\[\]]+|\[\d+\]`)

// pathOf returns the attribute for a member that the API names; a part that Terraform does
// not have ends the path.
func (s *shape) pathOf(member string, values tftypes.Value) path.Path {
	at, f := path.Empty(), s.root
	for _, step := range memberStep.FindAllString(member, -1) {
		if index, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil && step[0] == '[' {
			items := itemsOf(values)
			if f.Form != formList || index >= len(items) {
				return at
			}
			at, f, values = at.AtListIndex(index), f.Elem, items[index]
			continue
		}
		next := f.given(step, partsOf(values))
		if next == nil {
			return at
		}
		at, f, values = at.AtName(next.Name), next, partsOf(values)[next.Name]
	}
	return at
}

// given returns the field of a member of the API: of several, the one with a value.
func (f *field) given(member string, values map[string]tftypes.Value) *field {
	var found *field
	for _, one := range f.Members {
		if one.JSON == member && (found == nil || known(values[one.Name])) && one.Secret != secretVersion {
			found = one
		}
	}
	if found != nil && found.Type != "" && !known(values[found.Name]) {
		return nil
	}
	return found
}

// warnings are what the API accepts and what may not be what is meant. Each begins with the
// name of a member, and stands at its attribute.
func (s *shape) warnings(got map[string]any) (all diag.Diagnostics) {
	list, _ := got["warnings"].([]any)
	for _, one := range list {
		if member, _, ok := strings.Cut(plain(one), ":"); ok {
			all.AddAttributeWarning(path.Root(member), "The "+s.Noun+" is written, with a warning", plain(one))
		}
	}
	return all
}
