// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/mcp"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/internal/web"
)

// newDashboard returns the pages below /app, which ask the API in this process.
func (p *Platform) newDashboard(server *api.Server, sessions scs.CtxStore) (*web.Server, error) {
	deps := web.Deps{
		API: server, Log: p.Log, Now: time.Now,
		ActAs: func(ctx context.Context, who web.Identity) context.Context {
			return rest.ActAs(ctx, who.UserID, who.Version)
		},
		InBackground: rest.InBackground,
		FromBrowser:  rest.FromBrowser,
		Identify: func(ctx context.Context, token string) (web.Identity, error) {
			user, version, err := server.Identify(ctx, token)
			return web.Identity{UserID: user, Version: version}, err
		},
		LinkUser: func(ctx context.Context, token string) (string, error) {
			user, err := server.LoginLinkUser(ctx, token)
			return user.Name, err
		},
		UseLink: func(ctx context.Context, token string) (web.Identity, error) {
			user, version, err := server.UseLoginLink(ctx, token)
			return web.Identity{UserID: user, Version: version}, err
		},
		Sessions:      sessions,
		ClientAddress: func(ctx context.Context) string { return rest.RequestOf(ctx).Address.String() },
		Changes:       p.store,
		Config: web.Config{
			PublicURL: string(
				p.settings.PublicURL,
			),
			Key:               p.secrets.pages,
			MailLeaves:        p.mailer.Sends(),
			TemporalUIURL:     p.temporal.uiURL,
			TemporalRetention: p.settings.TemporalRetention,
		},
	}
	if login := p.temporal.uiLogin; login != nil {
		login.open(p.mayOpenTemporal)
		ui := cmp.Or(string(p.settings.TemporalUIOrigin), p.temporal.uiURL)
		deps.TemporalUI = func(ctx context.Context, user, session uuid.UUID, path string) (string, error) {
			way, err := login.ticket(ctx, uiVisitor{user: user, session: session}, path)
			if err != nil {
				return "", uiRefusal(err)
			}
			return ui + way, nil
		}
	}
	return web.New(deps)
}

// uiRefusal is the page for who may not open the Temporal UI.
func uiRefusal(err error) error {
	problem, ok := errors.AsType[*vigil.Error](err)
	if !ok {
		return err
	}
	status := http.StatusServiceUnavailable
	if refusesVisit(err) {
		status = http.StatusForbidden
	}
	return &web.APIError{Status: status, Code: string(problem.Code), Message: problem.Message}
}

// mounted answers /app with the dashboard, /mcp and the texts for assistants with the MCP
// server, /docs/guide with the documentation, and everything else with the API. A browser that
// opens / is led to /app; every other client gets the API's answer. At the host of a status page is
// that page and nothing else.
func mounted(server *api.Server, dashboard http.Handler, assistants *mcp.Server, public *statuspage.Server) http.Handler {
	pages := server.Guard(dashboard)
	tools := server.Guard(rest.WithoutParameters(assistants))
	texts := server.Guard(rest.WithoutParameters(http.HandlerFunc(assistants.ServeText)))
	manual := newGuide()
	guarded := server.Guard(manual)
	first := rest.TimeBodies(http.RedirectHandler("/app", http.StatusFound), 0)
	atHost := server.Public(func(w http.ResponseWriter, r *http.Request) {
		public.ServeHost(w, r, public.PageAt(r.Context(), r.Host))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if public != nil && public.PageAt(r.Context(), r.Host) != "" {
			atHost.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/app" || strings.HasPrefix(r.URL.Path, "/app/") {
			pages.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/mcp" {
			tools.ServeHTTP(w, r)
			return
		}
		if assistants.ServesText(r.URL.Path) {
			texts.ServeHTTP(w, r)
			return
		}
		if manual.Serves(r.URL.Path) {
			guarded.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			w.Header().Add("Vary", "Accept")
			if wantsHTML(r.Header.Values("Accept")) {
				first.ServeHTTP(w, r)
				return
			}
		}
		server.ServeHTTP(w, r)
	})
}

// wantsHTML reports whether a client names HTML among what it accepts, as browsers do.
func wantsHTML(accept []string) bool {
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		kind, params, err := mime.ParseMediaType(part)
		refused := params["q"] != "" && strings.Trim(params["q"], "0.") == "" // q=0
		if err == nil && kind == "text/html" && !refused {
			return true
		}
	}
	return false
}
