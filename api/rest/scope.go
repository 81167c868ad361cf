package rest

import (
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"vigil"
)

// extensionScope is the member of an operation in the OpenAPI document that has the
// scope that it needs.
const extensionScope = "x-required-scope"

// requireScope refuses a caller whose key lacks a scope. A session has all of them.
func requireScope(scope vigil.Scope) func(huma.Context, func(huma.Context)) {
	return Guard(func(ctx huma.Context) error {
		return CallerOf(ctx.Context()).Require(scope)
	})
}

// Scopes returns what the caller may do: the scopes of its key, or all of them for a
// session.
func (c *Caller) Scopes() []vigil.Scope {
	if c.Key.ID == uuid.Nil {
		return vigil.Scopes()
	}
	return c.Key.Scopes
}

// Require returns a CodeForbidden error when the caller lacks a scope.
func (c *Caller) Require(scope vigil.Scope) error {
	scopes := c.Scopes()
	if slices.Contains(scopes, scope) {
		return nil
	}
	return &vigil.Error{
		Code:    vigil.CodeForbidden,
		Message: "This API key lacks the scope \"" + string(scope) + "\". Use a key that has it.",
		Details: map[string]any{"required": scope, "scopes": scopes},
	}
}
