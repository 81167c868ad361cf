// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestEveryTemplateParses tests all pages, since the server parses a page when it is first
// used.
func TestEveryTemplateParses(t *testing.T) {
	t.Parallel()
	assets, err := readAssets()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := parseTemplates(assets)
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for name, parse := range pages {
		if page, err := parse(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if page.Lookup("layout") == nil {
			t.Errorf("%s has no layout", name)
		}
	}
}

// TestPagesAreSentWhileTheyAreMade holds when the parts of a page leave, and what a browser gets of one that fails.
func TestPagesAreSentWhileTheyAreMade(t *testing.T) {
	t.Parallel()
	errBroken := errors.New("broken")
	long := strings.Repeat("a line of a page\n", headBytes/10)
	arrived := make(chan struct{})
	parsed, err := template.New("").Funcs(template.FuncMap{
		"fails": func() (string, error) { return "", errBroken },
		"waits": func() string { <-arrived; return "" },
	}).Parse(`{{define "late"}}{{.}}{{waits}} the end{{end}}
{{define "at-first"}}Short.{{fails}}{{end}}
{{define "at-last"}}{{.}}{{fails}}{{end}}`)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		deps:      Deps{Log: slog.New(slog.DiscardHandler)},
		templates: map[string]pageTemplate{"page": func() (*template.Template, error) { return parsed, nil }},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r := &request{Request: req, w: w, s: s}
		if err := r.execute(http.StatusTeapot, "page", strings.TrimPrefix(req.URL.Path, "/"), long); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	get := func(path string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	answer := get("/late")
	head := make([]byte, headBytes)
	if _, err := io.ReadFull(answer.Body, head); err != nil || answer.StatusCode != http.StatusTeapot {
		t.Fatalf("status %d, %v", answer.StatusCode, err)
	}
	close(arrived) // the server was still making the rest
	if rest, err := io.ReadAll(answer.Body); err != nil || string(head)+string(rest) != long+" the end" {
		t.Errorf("%d bytes after the first ones, %v", len(rest), err)
	}
	answer = get("/at-first")
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusInternalServerError || !strings.Contains(string(text), "broken") {
		t.Errorf("status %d, %q, %v", answer.StatusCode, text, err)
	}
	if text, err := io.ReadAll(get("/at-last").Body); err == nil {
		t.Errorf("%d bytes of a page that failed look whole", len(text))
	}
}
