// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil"
)

// askVersion is the oldest version of the protocol in which a server without sessions can ask
// the user something: the answer comes with the same call again.
const askVersion = "2026-07-28"

// question is what a client must ask its user before a tool goes on.
type question struct {
	text string // what the user reads
	// about says what the answer is good for. An answer to another question asks again.
	about string
}

func (q *question) Error() string { return "the user must be asked: " + q.text }

// answerKey is the name of the question and of its answer in a call.
const answerKey = "confirm"

// result is the answer of a call that needs an answer of the user.
func (q *question) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{RequestState: q.about, InputRequests: mcp.InputRequestMap{answerKey: &mcp.ElicitParams{
		Mode: "form", Message: q.text, RequestedSchema: object{
			"type": "object", "required": []string{answerKey},
			"properties": object{answerKey: object{"type": "boolean", "title": "Yes, do it"}},
		},
	}}}
}

// canAsk reports whether the client of a call can ask its user.
func (c *call) canAsk() bool {
	if c.req == nil || c.req.ProtocolVersion() < askVersion {
		return false
	}
	can := c.req.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// ask returns nil once the user has agreed to a question.
func (c *call) ask(q question) error {
	answer, ok := c.req.Params.InputResponses[answerKey].(*mcp.ElicitResult)
	if !ok || c.req.Params.RequestState != q.about {
		return &q
	}
	if agreed, _ := answer.Content[answerKey].(bool); answer.Action != "accept" || !agreed {
		return vigil.Errorf(vigil.CodeConflict, "The user did not agree: nothing was changed.")
	}
	return nil
}
