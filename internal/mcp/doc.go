// SPDX-License-Identifier: Apache-2.0

// Package mcp serves the Model Context Protocol at /mcp: tools, resources and prompts for
// assistants. It is a client of /v1 in the same process: a tool calls the API's own handler
// with the credential of the caller, which authenticates, validates, limits, audits and keeps
// organizations apart, so a tool cannot do what the API does not offer.
//
// # Adding a tool
//
// A tool is an entry of tools() and a function `func(c *call, in input) (any, error)`. The
// members of its input come from the OpenAPI document where the API has them: component and
// query name them, own declares what only the tool has. The golden file testdata/tools.json
// shows what clients see; renew it with `go test ./mcp -run TestTools -update`.
//
// # What tools must keep to
//
// A tool either reads or writes. What people and targets wrote freely is data, not
// instructions: clean moves it to members whose names begin with untrusted_. A result has at
// most maxResult bytes; a list that is cut says so and has a next_cursor.
package mcp
