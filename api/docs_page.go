// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/vigil-monitor/vigil/internal/coding"
)

// docsFiles is the page that shows the OpenAPI document, with all that it
// needs: it works without any other host. Swagger UI is compressed, as nearly
// every browser asks for it, since it has 1.9 MB otherwise.
//
//go:embed docs/index.html docs/start.js docs/swagger-ui/*.gz
var docsFiles embed.FS

// docsPolicy lets the page load and ask this host alone. Swagger UI writes
// style attributes.
const docsPolicy = "default-src 'none'; base-uri 'none'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; " +
	"img-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'"

// serveDocs serves the page at /docs.
func (s *Server) serveDocs() error {
	files := map[string]string{
		"/docs":                      "docs/index.html",
		"/docs/start.js":             "docs/start.js",
		"/docs/swagger-ui.css":       "docs/swagger-ui/swagger-ui.css.gz",
		"/docs/swagger-ui-bundle.js": "docs/swagger-ui/swagger-ui-bundle.js.gz",
	}
	for at, name := range files {
		if _, err := docsFiles.Open(name); err != nil {
			return fmt.Errorf("find the page of the docs: %w", err)
		}
		s.routes.Lenient("GET "+at, serveDocsFile(name))
	}
	return nil
}

// serveDocsFile serves a file of docsFiles, a compressed one as it is where the client takes
// that. It is read for each request, since what few people ask for need not be in memory twice.
func serveDocsFile(name string) http.HandlerFunc {
	plain := strings.TrimSuffix(name, ".gz")
	kind := mime.TypeByExtension(path.Ext(plain))
	return func(w http.ResponseWriter, r *http.Request) {
		content, err := docsFiles.ReadFile(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		if plain != name {
			w.Header().Set("Vary", "Accept-Encoding")
			if coding.Accepts(r.Header, "gzip") {
				w.Header().Set("Content-Encoding", "gzip")
			} else if content, err = unzip(content); err != nil {
				http.NotFound(w, r)
				return
			}
		}
		serveBytes(kind, content)(w, r)
	}
}

func unzip(content []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// serveBytes serves a file that never changes while the program runs.
func serveBytes(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(content) // the client may be gone
	}
}
