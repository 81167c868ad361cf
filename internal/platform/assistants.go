// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"log/slog"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/docs"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/guide"
	"github.com/vigil-monitor/vigil/internal/mcp"
)

// newMCP returns the tools for assistants at /mcp, which ask the API in this process.
func newMCP(server *api.Server, publicURL, version string, log *slog.Logger) (*mcp.Server, error) {
	return mcp.New(mcp.Deps{
		API: server, Authenticate: server.Authenticated, Count: server.Count, CheckBody: rest.CheckBody, Refuse: rest.WriteError,
		Scopes:    func(ctx context.Context) []account.Scope { return rest.CallerOf(ctx).Scopes() },
		PublicURL: publicURL, Version: version, Docs: docs.Pages, Log: log,
	})
}

// newGuide returns the documentation as a site, which is made when somebody opens it.
func newGuide() *guide.Site {
	return guide.New(docs.Pages, guide.Options{Repository: guide.Repository, Reference: "/docs", App: "/app", Base: "/docs/guide/"})
}
