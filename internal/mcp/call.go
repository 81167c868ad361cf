// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

// object is an object of JSON.
type object = map[string]any

// call is one call of a tool, or one read of a resource.
type call struct {
	ctx context.Context //nolint:containedctx // it lives as long as the call
	s   *Server
	api *client.Client
	req *mcp.CallToolRequest // nil for a resource
}

// callerKey is the key of the caller's request in the context of a call.
type callerKey struct{}

// agentKey is the key of the User-Agent under which a call asks the API.
type agentKey struct{}

// asCaller gives a request to the API the credential, the address and the proxies of the
// caller's own request.
func asCaller(req *http.Request) {
	ctx := req.Context()
	if from, ok := ctx.Value(callerKey{}).(*http.Request); ok {
		client.SameCaller(req, from, "Authorization", "X-Api-Key")
	}
	if agent, ok := ctx.Value(agentKey{}).(string); ok {
		req.Header.Set("User-Agent", agent)
	}
}

// newCall returns the call of a request. The audit log shows its client as mcp/<name>.
func (s *Server) newCall(ctx context.Context, info *mcp.Implementation) *call {
	return &call{ctx: context.WithValue(ctx, agentKey{}, agentOf(ctx, info)), s: s, api: s.api}
}

// maxAgent bounds the name of a client.
const maxAgent = 60

// agentOf names the client of a request: by the name that it gives, else by the product of
// its User-Agent, since older protocols name the client in the first request only.
func agentOf(ctx context.Context, info *mcp.Implementation) string {
	name := ""
	if info != nil {
		name = info.Name
	}
	if from, ok := ctx.Value(callerKey{}).(*http.Request); ok && name == "" {
		name, _, _ = strings.Cut(from.UserAgent(), "/")
	}
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.TrimSpace(name))
	if len(name) > maxAgent {
		name = name[:maxAgent]
	}
	if name == "" {
		name = "unknown"
	}
	return "mcp/" + name
}

// envelope is the form of the API's answers.
type envelope struct {
	Data any `json:"data"`
	Meta object
}

// decode reads an answer of the API; numbers keep their digits.
func decode(response *http.Response, err error) (envelope, error) {
	var answer envelope
	if err != nil {
		return answer, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusNoContent {
		return answer, nil
	}
	decoder := json.NewDecoder(response.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&answer); err != nil && !errors.Is(err, io.EOF) {
		return answer, fmt.Errorf("read an answer of the API: %w", err)
	}
	return answer, nil
}

// one reads an answer that is one object.
func one(response *http.Response, err error) (object, error) {
	answer, err := decode(response, err)
	data, _ := answer.Data.(object)
	return data, err
}

// page is a part of a list of the API.
type page struct {
	rows []object
	next string // the cursor of the page after it; empty on the last one
	meta object
}

// list reads an answer that is a list.
func list(response *http.Response, err error) (page, error) {
	answer, err := decode(response, err)
	if err != nil {
		return page{}, err
	}
	rows, _ := answer.Data.([]any)
	out := page{meta: answer.Meta, rows: make([]object, 0, len(rows))}
	for _, row := range rows {
		if row, ok := row.(object); ok {
			out.rows = append(out.rows, row)
		}
	}
	out.next, _ = answer.Meta["next_cursor"].(string)
	return out, nil
}

// jsonType is the type of the bodies that tools send.
const jsonType = "application/json"

// body writes the body of a request.
func body(members any) io.Reader {
	text, err := json.Marshal(members)
	if err != nil {
		return strings.NewReader("null") // the API refuses it
	}
	return bytes.NewReader(text)
}

// given returns nil for a value that a caller left out.
func given[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// parseID reads an id that a caller gave.
func parseID(member, text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil, vigil.Invalid(member, "must be an id (a UUID); the lists show the ids")
	}
	return id, nil
}

// optionalID is parseID for a filter; nil when it is not given.
func optionalID(member, text string) (*uuid.UUID, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no filter
	}
	id, err := parseID(member, text)
	return &id, err
}
