// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// effect says what a tool does to the organization.
type effect int

const (
	reads   effect = iota // changes nothing, and can be repeated
	sends                 // reaches targets or receivers
	creates               // changes something; repeated, it does so again
	sets                  // changes something; repeated, it changes nothing more
	deletes
)

// hints are the annotations of a tool. All four are set: what is absent counts as true.
func (e effect) hints(title string) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{
		Title:           title,
		ReadOnlyHint:    e == reads,
		DestructiveHint: new(e == deletes),
		IdempotentHint:  e == reads || e == sets || e == deletes,
		OpenWorldHint:   new(e == sends),
	}
}

// tool is a tool as clients see it, and what it does.
type tool struct {
	name, title string
	// description: the first sentence says what the tool answers, the next ones when to use
	// another. At most 400 characters.
	description string
	effect      effect
	// scopes open the tool: a caller needs one of them.
	scopes []account.Scope
	input  *members
	run    func(c *call, arguments json.RawMessage) (object, error)
}

// does adapts a function with an input of its own.
func does[In any](do func(c *call, in In) (object, error)) func(*call, json.RawMessage) (object, error) {
	return func(c *call, arguments json.RawMessage) (object, error) {
		var in In
		if len(arguments) > 0 {
			if err := json.Unmarshal(arguments, &in); err != nil {
				return nil, unfit(err)
			}
		}
		return do(c, in)
	}
}

// allTools lists the tools.
func (s *Server) allTools() []*tool {
	return slices.Concat(
		s.overviewTools(), s.checkTools(), s.incidentTools(), s.channelTools(), s.subscriptionTools(), s.drillTools(), s.describeTools(),
		s.backtestTools(), s.planTools(), s.definitionTools(), s.actionTools(),
	)
}

// addTool adds a tool to the server of the SDK, which checks arguments against its input.
func (s *Server) addTool(server *mcp.Server, t *tool) error {
	schema, err := t.input.schema()
	if err != nil {
		return fmt.Errorf("%w, which the tool %s shows", err, t.name)
	}
	s.tools[t.name] = t
	definition := &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: schema, Annotations: t.effect.hints(t.title),
	}
	mcp.AddTool(server, definition, func(ctx context.Context, req *mcp.CallToolRequest, in json.RawMessage) (*mcp.CallToolResult, any, error) {
		c := s.newCall(ctx, req.ClientInfo())
		c.req = req
		result, err := t.run(c, in)
		if asks, ok := errors.AsType[*question](err); ok {
			return asks.result(), nil, nil
		}
		if err != nil {
			return failed(err), nil, nil
		}
		return resultOf(fit(result)), nil, nil
	})
	return nil
}

// opens reports whether a caller with the scopes may use the tool.
func (t *tool) opens(scopes []account.Scope) bool {
	return slices.ContainsFunc(t.scopes, func(s account.Scope) bool { return slices.Contains(scopes, s) })
}

// methodListen opens a stream that would stay open until the client ends it.
const methodListen = "subscriptions/listen"

// filterTools lists to a caller the tools that its scopes open, and refuses calls of others.
func (s *Server) filterTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == methodListen {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Nothing is listed that changes: there is nothing to listen to."}
		}
		scopes := s.deps.Scopes(ctx)
		if call, ok := req.(*mcp.CallToolRequest); ok {
			if t, known := s.tools[call.Params.Name]; known && !t.opens(scopes) {
				return failed(lacksScope(t.name, t.scopes, scopes)), nil
			}
		}
		result, err := next(ctx, method, req)
		if err != nil {
			return result, err
		}
		switch result := result.(type) {
		case *mcp.ListToolsResult:
			result.Tools = slices.DeleteFunc(slices.Clone(result.Tools), func(t *mcp.Tool) bool { return !s.tools[t.Name].opens(scopes) })
		case *mcp.CallToolResult:
			return explained(result), nil
		}
		return result, nil
	}
}

// explained gives an error of the SDK, which found wrong arguments, the form of all errors.
func explained(result *mcp.CallToolResult) *mcp.CallToolResult {
	if !result.IsError || result.StructuredContent != nil || len(result.Content) == 0 {
		return result
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return result
	}
	return failed(vigil.Errorf(vigil.CodeInvalid, "The arguments do not fit the input of the tool: %s", cutText(plain(text.Text), maxText)))
}

// The scopes of tools.
func read() []account.Scope    { return []account.Scope{account.ScopeRead} }
func write() []account.Scope   { return []account.Scope{account.ScopeWrite} }
func respond() []account.Scope { return []account.Scope{account.ScopeRespond} }
