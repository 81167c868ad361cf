// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// ManagedByView names the program that manages a definition.
type ManagedByView struct {
	Tool    string `json:"tool" example:"apply" doc:"The program: 1 to 40 characters of a-z, 0-9, . and -."`
	Project string `json:"project" example:"shop" doc:"A name for what is managed together: 1 to 63 letters, digits, ., _ and -."`
	Key     string `json:"key" example:"home" doc:"Identifies the definition in the project: 1 to 200 visible characters."`
}

// ManagedMember is the member managed_by of a body. Absent keeps what manages a definition,
// and null releases it.
type ManagedMember = rest.Nullable[ManagedByView]

// ShowManagedBy returns who manages an object as the API shows it, nil without.
func ShowManagedBy(by *vigil.ManagedBy) *ManagedByView {
	if by == nil {
		return nil
	}
	return new(ManagedByView(*by))
}

// ReadManagedBy returns what a body says; nil when it says null.
func ReadManagedBy(m ManagedMember) (*vigil.ManagedBy, error) {
	if m.Value == nil {
		return nil, nil //nolint:nilnil // null releases
	}
	by := vigil.ManagedBy(*m.Value)
	return &by, by.Validate()
}

// SetManagedBy applies the member, if it was given.
func SetManagedBy(into **vigil.ManagedBy, m ManagedMember) error {
	if !m.Given {
		return nil
	}
	by, err := ReadManagedBy(m)
	*into = by
	return err
}

// ManagedSelection are the filters of a list by what manages its definitions.
type ManagedSelection struct {
	Tool    string `query:"tool" maxLength:"40" doc:"Managed by this program: managed_by.tool." example:"apply"`
	Project string `query:"project" maxLength:"63" doc:"Managed in this project: managed_by.project."`
	Key     string `query:"key" maxLength:"200" doc:"Managed under this key: managed_by.key."`
}

// Managed returns the filter of a selection.
func (in *ManagedSelection) Managed() listing.ManagedFilter { return listing.ManagedFilter(*in) }

// ManagedBinding is what a cursor is bound to; cursors of lists without these filters stay valid.
func (in *ManagedSelection) ManagedBinding() []string {
	if in.Managed() == (listing.ManagedFilter{}) {
		return nil
	}
	return []string{"tool=" + in.Tool, "project=" + in.Project, "key=" + in.Key}
}
