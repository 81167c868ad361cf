// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/client"
)

// Beginnings of the addresses of resources.
const (
	checkAddress    = "vigil://checks/"
	incidentAddress = "vigil://incidents/"
	filesAddress    = "vigil://schema/apply"
)

// addResources adds what clients can read without a tool.
func (s *Server) addResources(server *mcp.Server) {
	fixed := func(uri, name, description, mimeType string, content []byte) {
		resource := &mcp.Resource{URI: uri, Name: name, Description: description, MIMEType: mimeType, Size: int64(len(content))}
		server.AddResource(resource, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mimeType, Text: string(content)}}}, nil
		})
	}
	fixed("vigil://docs", "docs", "What Vigil is, and where its documentation is.", "text/markdown", s.texts[indexPath])
	fixed("vigil://openapi", "openapi", "The OpenAPI document of the API.", jsonType, s.schemas.document)
	fixed(filesAddress, "apply-schema", "The JSON Schema of the files of monitoring as code.", "application/schema+json", s.schemas.files)
	template := func(address, name, description string, tool func(*call, json.RawMessage) (object, error)) {
		server.AddResourceTemplate(
			&mcp.ResourceTemplate{URITemplate: address + "{id}", Name: name, Description: description, MIMEType: jsonType},
			func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				id, err := parseID("id", strings.TrimPrefix(req.Params.URI, address))
				if err != nil {
					return nil, mcp.ResourceNotFoundError(req.Params.URI)
				}
				result, err := tool(s.newCall(ctx, req.ClientInfo()), json.RawMessage(`{"`+name+`":"`+id.String()+`"}`))
				if err != nil {
					return nil, resourceError(req.Params.URI, err)
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
					URI: req.Params.URI, MIMEType: jsonType, Text: string(encoded(fit(result))),
				}}}, nil
			})
	}
	template(checkAddress, "check", "A check, as get_check shows it.", does(getCheck))
	template(incidentAddress, "incident", "An incident, as get_incident shows it.", does(getIncident))
}

// resourceError is the error of the protocol for what the API answers.
func resourceError(uri string, err error) error {
	refused, ok := asAPIError(err)
	if !ok {
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: vigil.ErrorMessage(err)}
	}
	if refused.Code == string(client.ErrorCodeNotFound) {
		return mcp.ResourceNotFoundError(uri)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: refused.Message}
}
