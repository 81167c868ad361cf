// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Rights are what a credential may do at present: processes know it for some seconds longer.
type Rights struct {
	scopes []account.Scope
	byKey  bool
}

// RequireAdmin refuses a change by a credential that has ended, or that lacks the scope
// admin, and returns what it may do.
func (s *Store) RequireAdmin(ctx context.Context, tx bun.Tx, by account.Credential) (Rights, error) {
	if by.UserID == uuid.Nil {
		return Rights{scopes: account.Scopes()}, nil // the operator
	}
	if err := s.requireCredential(ctx, tx, by); err != nil {
		return Rights{}, err
	}
	var role account.Role
	var ofKey string
	err := tx.NewRaw(`SELECT u.role, coalesce(array_to_string(k.scopes, ','), '')
		FROM users AS u LEFT JOIN api_keys AS k ON k.id = ? WHERE u.id = ?`, by.KeyID, by.UserID).Scan(ctx, &role, &ofKey)
	if err != nil {
		return Rights{}, fmt.Errorf("read the rights of the credential: %w", err)
	}
	has := Rights{scopes: role.Scopes(), byKey: by.KeyID != uuid.Nil}
	if !slices.Contains(has.scopes, account.ScopeAdmin) {
		return has, lacks(account.ScopeAdmin, has.scopes, "Your role is %s; only an owner may do this.", role)
	}
	if has.byKey {
		var given []account.Scope
		for _, scope := range strings.Split(ofKey, ",") {
			given = append(given, account.Scope(scope))
		}
		has.scopes = role.Within(given)
	}
	if !slices.Contains(has.scopes, account.ScopeAdmin) {
		return has, lacks(account.ScopeAdmin, has.scopes, "This API key lacks the scope %q. Use a key that has it.", account.ScopeAdmin)
	}
	return has, nil
}

// grant refuses to give a role that may do more than the credential itself. An API key gives
// no role of an owner: an owner can end the key, and everyone who holds it.
func (r Rights) grant(role account.Role) error {
	if r.byKey && slices.Contains(role.Scopes(), account.ScopeAdmin) {
		return vigil.Errorf(vigil.CodeForbidden,
			"An API key makes no one an %s. Sign in and do it on the page Members, or use a session token of POST /v1/auth/login.", role)
	}
	for _, scope := range role.Scopes() {
		if !slices.Contains(r.scopes, scope) {
			return lacks(scope, r.scopes, "This API key lacks the scope %q, which the role %s has. Use a key that has it.", scope, role)
		}
	}
	return nil
}

// lacks is the error of a credential without a scope, as the API answers it.
func lacks(required account.Scope, scopes []account.Scope, format string, args ...any) error {
	err := vigil.Errorf(vigil.CodeForbidden, format, args...)
	err.Details = map[string]any{"required": required, "scopes": scopes}
	return err
}
