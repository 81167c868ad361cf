// SPDX-License-Identifier: Apache-2.0

package account

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// Role is what a member of an organization may do. It bounds the member's sessions, and
// the API keys that the member made.
type Role string

// The roles.
const (
	RoleOwner     Role = "owner"     // everything
	RoleEditor    Role = "editor"    // all but keys, members and the account of the organization
	RoleResponder Role = "responder" // reads, and acts on incidents
	RoleViewer    Role = "viewer"    // reads
)

// Roles returns all roles, the one with the most rights first.
func Roles() []Role { return []Role{RoleOwner, RoleEditor, RoleResponder, RoleViewer} }

// Scopes returns what the role may do, in the order of Scopes; none for an unknown role.
func (r Role) Scopes() []Scope {
	switch r {
	case RoleOwner:
		return Scopes()
	case RoleEditor:
		return []Scope{ScopeRead, ScopeRespond, ScopeWrite}
	case RoleResponder:
		return []Scope{ScopeRead, ScopeRespond}
	case RoleViewer:
		return []Scope{ScopeRead}
	}
	return []Scope{}
}

// Within returns those of the scopes that the role may use.
func (r Role) Within(scopes []Scope) []Scope {
	allowed := r.Scopes()
	return slices.DeleteFunc(allowed, func(s Scope) bool { return !slices.Contains(scopes, s) })
}

// ParseRole reads a role; an unknown one is a CodeInvalid error about the member.
func ParseRole(member, given string) (Role, error) {
	if slices.Contains(Roles(), Role(given)) {
		return Role(given), nil
	}
	names := make([]string, 0, len(Roles()))
	for _, role := range Roles() {
		names = append(names, string(role))
	}
	return "", vigil.Invalid(member, "must be one of %s", strings.Join(names, ", "))
}

// InvitationLifetime is the validity of the link of an invitation.
const InvitationLifetime = 7 * day

// Invitation lets the owner of an address become a member of an organization.
type Invitation struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	Email string
	Role  Role
	// Hash is the SHA-256 of the token in the mailed link. Only what is to be stored has it.
	Hash []byte `json:"-"`
	// InvitedBy is the user who made it.
	InvitedBy uuid.UUID
	CreatedAt time.Time
	ExpiresAt time.Time
}
