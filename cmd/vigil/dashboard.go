package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"vigil/api"
	"vigil/api/rest"
	"vigil/web"
)

// newDashboard returns the pages below /app, which ask the API in this process.
func (p *platform) newDashboard(server *api.Server) (*web.Server, error) {
	return web.New(web.Deps{
		API: server, Log: p.log, Now: time.Now,
		ActAs: func(ctx context.Context, who web.Identity) context.Context {
			return rest.ActAs(ctx, who.UserID, who.Version)
		},
		SignedIn: func(r *http.Request) (web.Identity, bool) {
			cookie, err := r.Cookie("vigil_token")
			if err != nil {
				return web.Identity{}, false
			}
			user, version, err := server.Identify(r.Context(), cookie.Value)
			return web.Identity{UserID: user, Version: version}, err == nil
		},
		Config: web.Config{PublicURL: string(p.settings.PublicURL), TemporalUIURL: p.temporal.uiURL, TemporalRetention: p.settings.TemporalRetention},
	})
}

// mounted answers /app with the dashboard and everything else with the API.
func mounted(server *api.Server, dashboard http.Handler) http.Handler {
	pages := server.Guard(dashboard)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/app" || strings.HasPrefix(r.URL.Path, "/app/") {
			pages.ServeHTTP(w, r)
			return
		}
		server.ServeHTTP(w, r)
	})
}
