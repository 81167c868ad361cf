// SPDX-License-Identifier: Apache-2.0

package account

import (
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Scope is a set of operations that an API key may use. Scopes are independent: none
// includes another one.
type Scope string

// The scopes.
const (
	ScopeRead    Scope = "read"    // look at everything of the organization
	ScopeRespond Scope = "respond" // acknowledge, resolve, test and redeliver
	ScopeWrite   Scope = "write"   // create, change and delete checks, rules and channels
	ScopeAdmin   Scope = "admin"   // API keys, the account, and addresses in the audit log
)

// Scopes returns all scopes, which a key has unless it is created with fewer.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeRespond, ScopeWrite, ScopeAdmin} }

// ParseScopes reads a list of scopes and returns them in the order of Scopes, each once.
// An empty list and an unknown scope are CodeInvalid errors about the member.
func ParseScopes(member string, given []string) ([]Scope, error) {
	if len(given) == 0 {
		return nil, vigil.Invalid(member, "must have at least one of %s", joinScopes(Scopes()))
	}
	for _, name := range given {
		if !slices.Contains(Scopes(), Scope(name)) {
			return nil, vigil.Invalid(member, "must have only %s", joinScopes(Scopes()))
		}
	}
	return slices.DeleteFunc(Scopes(), func(s Scope) bool { return !slices.Contains(given, string(s)) }), nil
}

func joinScopes(scopes []Scope) string {
	names := make([]string, len(scopes))
	for i, scope := range scopes {
		names[i] = string(scope)
	}
	return strings.Join(names, ", ")
}
