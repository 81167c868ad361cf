// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/account"
)

// failed is the result of a call that did not do what was asked: the sentence, the code and
// the details that the API answers with.
func failed(err error) *mcp.CallToolResult {
	shown := object{"error": vigil.ErrorMessage(err), "code": string(vigil.ErrorCode(err))}
	var details map[string]any
	if refused, ok := asAPIError(err); ok {
		shown = object{"error": refused.Message, "code": refused.Code, "request_id": refused.RequestID}
		details = refused.Details
	} else if known, ok := errors.AsType[*vigil.Error](err); ok {
		details = known.Details
	}
	if len(details) > 0 {
		shown["details"] = cut(details, maxText)
	}
	result := resultOf(fit(shown))
	result.IsError = true
	return result
}

// resultOf returns a result, as structured content and as text for older clients.
func resultOf(value object) *mcp.CallToolResult {
	text := encoded(value)
	return &mcp.CallToolResult{StructuredContent: value, Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}

// lacksScope is the error of a tool that the caller's key does not open.
func lacksScope(name string, needed, has []account.Scope) error {
	required := ""
	for i, scope := range needed {
		if i > 0 {
			required += " or "
		}
		required += string(scope)
	}
	return &vigil.Error{
		Code:    vigil.CodeForbidden,
		Message: "The tool " + name + " needs the scope \"" + required + "\", which the caller lacks. Use a key that has it.",
		Details: map[string]any{"required": required, "scopes": has},
	}
}

// asAPIError returns the answer of the API that an error is.
func asAPIError(err error) (*client.APIError, bool) { return errors.AsType[*client.APIError](err) }
