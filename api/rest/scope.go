// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// extensionScope is the member of an operation in the OpenAPI document that has the
// scope that it needs.
const extensionScope = "x-required-scope"

// extensionWriteScope has the scope that an operation needs besides, unless it is a dry run.
const extensionWriteScope = "x-required-scope-unless-dry-run"

// requireScope refuses a caller who lacks a scope.
func requireScope(scope account.Scope) func(huma.Context, func(huma.Context)) {
	return Guard(func(ctx huma.Context) error {
		return CallerOf(ctx.Context()).Require(scope)
	})
}

// requireOwn is requireScope for an operation on the account of the user alone: a session
// may use it with any role of the user.
func requireOwn(scope account.Scope) func(huma.Context, func(huma.Context)) {
	return Guard(func(ctx huma.Context) error {
		who := CallerOf(ctx.Context())
		if who.Key.ID == uuid.Nil {
			return nil
		}
		return who.Require(scope)
	})
}

// Scopes returns what the caller may do: the scopes of the user's role, for a key those
// of them that it has.
func (c *Caller) Scopes() []account.Scope {
	if c.Key.ID == uuid.Nil {
		return c.User.Role.Scopes()
	}
	return c.User.Role.Within(c.Key.Scopes)
}

// Require returns a CodeForbidden error when the caller lacks a scope.
func (c *Caller) Require(scope account.Scope) error {
	scopes := c.Scopes()
	if slices.Contains(scopes, scope) {
		return nil
	}
	message := "This API key lacks the scope \"" + string(scope) + "\". Use a key that has it."
	if !slices.Contains(c.User.Role.Scopes(), scope) {
		message = "Your role in the organization is " + string(c.User.Role) + ", which lacks the scope \"" + string(scope) +
			"\". Ask an owner for another role."
	}
	return &vigil.Error{
		Code: vigil.CodeForbidden, Message: message, Details: map[string]any{"required": scope, "scopes": scopes},
	}
}
