// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// noLoops has no workflows.
type noLoops struct{}

func (noLoops) Apply(context.Context, vigil.Loop) error              { return nil }
func (noLoops) Stop(context.Context, uuid.UUID, string, int64) error { return nil }
func (noLoops) State(context.Context, uuid.UUID, string) (vigil.LoopState, error) {
	return vigil.LoopState{}, nil
}

func (noLoops) Test(context.Context, vigil.Check, string, bool) (vigil.Result, error) {
	return vigil.Result{}, nil
}

// A browser that opens / is led to the dashboard; every other client gets JSON.
func TestRootLeadsBrowsersToTheDashboard(t *testing.T) {
	t.Parallel()
	server, err := api.New(api.Deps{
		Stores: apitest.Stores(storagetest.New(t)), Loops: noLoops{}, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Probes:   probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
		Channels: notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
		Config:   api.Config{SigningKey: make([]byte, 32), Version: "test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	assistants, err := newMCP(server, "", "v1.2.3", nil)
	if err != nil {
		t.Fatal(err)
	}
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "page "+r.URL.Path) })
	handler := mounted(server, pages, assistants, nil)
	for _, tt := range []struct {
		method, path, accept string
		status               int
		begins               string // of the answer
	}{
		{http.MethodGet, "/", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", http.StatusFound, ""},
		{http.MethodGet, "/", "text/html", http.StatusFound, ""},
		{http.MethodGet, "/", "", http.StatusOK, "{"},
		{http.MethodGet, "/", "*/*", http.StatusOK, "{"},
		{http.MethodGet, "/", "application/json", http.StatusOK, "{"},
		{http.MethodGet, "/", "application/json, text/html;q=0", http.StatusOK, "{"},
		{http.MethodPost, "/", "text/html", http.StatusMethodNotAllowed, "{"},
		{http.MethodGet, "/health", "text/html", http.StatusOK, "{"},
		{http.MethodGet, "/app", "*/*", http.StatusOK, "page /app"},
		{http.MethodGet, "/app/checks/new", "*/*", http.StatusOK, "page /app/checks/new"},
		{http.MethodGet, "/application", "text/html", http.StatusNotFound, "{"},
		{http.MethodGet, "/mcp", "text/html", http.StatusMethodNotAllowed, "{"},
		{http.MethodPost, "/mcp", "application/json", http.StatusUnauthorized, "{"},
		{http.MethodGet, "/mcp/more", "", http.StatusNotFound, "{"},
		{http.MethodGet, "/llms.txt", "", http.StatusOK, "# Vigil"},
		{http.MethodGet, "/llms-full.txt", "", http.StatusOK, "# Vigil"},
		{http.MethodGet, "/docs/assistants.md", "", http.StatusOK, "# "},
		{http.MethodGet, "/docs/unknown.md", "", http.StatusNotFound, "{"},
		{http.MethodGet, "/docs/guide/", "text/html", http.StatusOK, "<!doctype html>"},
		{http.MethodGet, "/docs/guide", "", http.StatusPermanentRedirect, "<a href=\"/docs/guide/\">"},
		{http.MethodGet, "/docs/guide/unknown", "", http.StatusNotFound, "<!doctype html>"},
		{http.MethodGet, "/docs/guided", "", http.StatusNotFound, "{"},
		// Links lead to pages, and load balancers ask /, with parameters of their own; what programs read has none.
		{http.MethodGet, "/?utm_source=x", "text/html", http.StatusFound, ""},
		{http.MethodGet, "/?from=balancer", "", http.StatusOK, "{"},
		{http.MethodGet, "/docs/guide/?utm_source=x", "", http.StatusOK, "<!doctype html>"},
		{http.MethodGet, "/app?utm_source=x", "*/*", http.StatusOK, "page /app"},
		{http.MethodGet, "/llms.txt?page=2", "", http.StatusBadRequest, `{"error":"`},
		{http.MethodGet, "/llms-full.txt?page=2", "", http.StatusBadRequest, `{"error":"`},
		{http.MethodGet, "/docs/assistants.md?page=2", "", http.StatusBadRequest, `{"error":"`},
		{http.MethodPost, "/mcp?readonly=true", "application/json", http.StatusBadRequest, `{"error":"`},
	} {
		req := httptest.NewRequestWithContext(t.Context(), tt.method, "http://localhost"+tt.path, http.NoBody)
		if tt.accept != "" {
			req.Header.Set("Accept", tt.accept)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, req)
		if answer.Code != tt.status || !strings.HasPrefix(answer.Body.String(), tt.begins) {
			t.Errorf("%s %s, Accept %q: %d %q", tt.method, tt.path, tt.accept, answer.Code, answer.Body)
		}
		if to := answer.Header().Get("Location"); (to == "/app") != (tt.status == http.StatusFound) {
			t.Errorf("%s %s, Accept %q leads to %q", tt.method, tt.path, tt.accept, to)
		}
	}
}
