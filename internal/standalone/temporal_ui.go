// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/cors"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	"github.com/temporalio/ui-server/v2/ui"
)

// webInterface serves Temporal's UI. The UI module's own server is not used: it opens
// the port itself, exits the process when it cannot, and writes to standard output.
type webInterface struct {
	url    string
	server *http.Server
}

// startUI serves the UI on the listener; the listener is closed by stop.
func startUI(on *net.TCPListener, frontend string, opts TemporalOptions) (*webInterface, error) {
	log := opts.Log
	handler, err := uiHandler(&uiconfig.Config{
		TemporalGRPCAddress: frontend,
		TLS:                 mutualTLS{opts.Credentials}.forUI(),
		EnableUI:            true,
		DefaultNamespace:    opts.Namespace,
		DisableNewsFetch:    true, // no request leaves this machine
		HideLogs:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true}, // plain http
		Codec:               codecConfig(opts.CodecEndpoint),
	}, log)
	if err != nil {
		return nil, fmt.Errorf("the Temporal UI did not start: %w", err)
	}
	if opts.UIAccess != nil {
		handler = opts.UIAccess(handler)
	}
	w := &webInterface{
		url: "http://" + dialable(on.Addr().(*net.TCPAddr)),
		server: &http.Server{
			Handler:           checkHosts(handler, on.Addr().(*net.TCPAddr).IP.IsLoopback(), opts.UIHosts),
			ReadHeaderTimeout: 10 * time.Second,
			ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
	}
	go func() { _ = w.server.Serve(on) }() // ends with stop, and never before
	return w, nil
}

// codecConfig makes the browser send the cookie of the codec server, and shows its sign-in
// page when it refuses.
func codecConfig(endpoint string) uiconfig.Codec {
	if endpoint == "" {
		return uiconfig.Codec{}
	}
	return uiconfig.Codec{
		Endpoint: endpoint, IncludeCredentials: true,
		DefaultErrorMessage: "The payloads are encrypted. Sign in to read them.", DefaultErrorLink: endpoint,
	}
}

// uiHandler combines the UI module's routes with its protections against cross-site
// requests.
func uiHandler(cfg *uiconfig.Config, log *slog.Logger) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(cfg)
	if err != nil {
		return nil, err
	}
	all, err := ui.Assets()
	if err != nil {
		return nil, err
	}
	assets, err := fs.Sub(all, "local")
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Logger.SetOutput(lineWriter{log})
	secure := !cfg.CORS.CookieInsecure
	e.Use(middleware.Recover(), middleware.Gzip(), middleware.Secure())
	e.Use(cors.CORSMiddleware(cors.CORSConfig{ConfigProvider: provider, AllowCredentials: true}))
	e.Use(csrf.EnsureTokenCookie(secure), middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, secure)))
	route.SetHealthRoute(e)
	forward := headers.WithForwardHeaders([]string{"Caller-Type"})
	stdlog.SetOutput(lineWriter{log}) // the UI module says there which certificates it has read
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{forward}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, cfg.PublicPath, assets); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, cfg.PublicPath)
	return e, nil
}

// stop waits briefly for requests in flight and closes everything.
func (w *webInterface) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	if w.server.Shutdown(ctx) != nil {
		_ = w.server.Close()
	}
}

// lineWriter logs the lines that a library writes.
type lineWriter struct{ to *slog.Logger }

var _ io.Writer = lineWriter{}

func (w lineWriter) Write(line []byte) (int, error) {
	w.to.Debug("temporal ui", "line", strings.TrimSpace(string(line)))
	return len(line), nil
}
