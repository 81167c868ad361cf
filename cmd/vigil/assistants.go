package main

import (
	"context"

	"vigil"
	"vigil/api"
	"vigil/api/rest"
	"vigil/docs"
	"vigil/mcp"
)

// newMCP returns the tools for assistants at /mcp, which ask the API in this process.
func (p *platform) newMCP(server *api.Server) (*mcp.Server, error) {
	return mcp.New(mcp.Deps{
		API: server, Authenticate: server.Authenticated, Refuse: rest.WriteError,
		Scopes:    func(ctx context.Context) []vigil.Scope { return rest.CallerOf(ctx).Scopes() },
		PublicURL: string(p.settings.PublicURL), Version: version, Docs: docs.Pages, Log: p.log,
	})
}
