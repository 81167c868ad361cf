// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vigil-monitor/vigil/internal/coding"
)

// policy lets a page load what belongs to the site alone: no inline script or style, and no other host.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// Site serves the files of Build. It is safe for concurrent use.
type Site struct {
	base string
	made func() (map[string]served, error)
}

// served is a file as it is kept: compressed, since most clients ask for it so.
type served struct {
	kind, tag string
	zip       []byte
}

// New returns a site of documents below opts.Base. It is made at the first request.
func New(documents fs.FS, opts Options) *Site {
	return &Site{base: opts.Base, made: sync.OnceValues(func() (map[string]served, error) {
		built, err := Build(documents, opts)
		if err != nil {
			return nil, err
		}
		out := make(map[string]served, len(built))
		for name, content := range built {
			if out[name], err = keep(name, content); err != nil {
				return nil, err
			}
		}
		return out, nil
	})}
}

func keep(name string, content []byte) (served, error) {
	var zip bytes.Buffer
	w, err := gzip.NewWriterLevel(&zip, gzip.BestCompression)
	if err != nil {
		return served{}, fmt.Errorf("guide: %w", err)
	}
	if _, err = w.Write(content); err == nil {
		err = w.Close()
	}
	if err != nil {
		return served{}, fmt.Errorf("guide: compress %s: %w", name, err)
	}
	sum := sha256.Sum256(content)
	return served{kind: mediaType(name), tag: `"` + hex.EncodeToString(sum[:8]) + `"`, zip: zip.Bytes()}, nil
}

func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".json":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	default:
		return "text/html; charset=utf-8"
	}
}

// Serves reports whether a path belongs to the site.
func (s *Site) Serves(path string) bool {
	return path == strings.TrimSuffix(s.base, "/") || strings.HasPrefix(path, s.base)
}

// ServeHTTP answers GET and HEAD. It needs no credential and reads nothing but the embedded files.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-cache")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "The guide is only read: use GET.", http.StatusMethodNotAllowed)
		return
	}
	files, err := s.made()
	if err != nil {
		http.Error(w, "The guide cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	name, below := strings.CutPrefix(r.URL.Path, s.base)
	if !below {
		http.Redirect(w, r, s.base, http.StatusPermanentRedirect)
		return
	}
	if name == "" || strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	file, ok := files[name]
	if page := strings.TrimSuffix(name, path.Ext(name)) + ".html"; !ok && files[page].zip != nil { // cli or cli.md
		http.Redirect(w, r, s.base+page, http.StatusPermanentRedirect) //nolint:gosec // one of the files above
		return
	}
	if !ok {
		write(w, r, files[missingPage], http.StatusNotFound)
		return
	}
	h.Set("ETag", file.tag)
	if r.Header.Get("If-None-Match") == file.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	write(w, r, file, http.StatusOK)
}

// write answers with a file, compressed where the client takes that.
func write(w http.ResponseWriter, r *http.Request, file served, status int) {
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Vary", "Accept-Encoding")
	if coding.Accepts(r.Header, "gzip") {
		h.Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		_, _ = w.Write(file.zip) // the client may be gone
		return
	}
	w.WriteHeader(status)
	plain, err := gzip.NewReader(bytes.NewReader(file.zip))
	if err != nil {
		return // it was written by this program
	}
	_, _ = io.Copy(w, plain) //nolint:gosec // and so its size is known
}

// WriteTo writes the files of Build below a directory, which is made.
func WriteTo(dir string, built map[string][]byte) error {
	for name, content := range built {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // a site is read by everyone
			return fmt.Errorf("guide: %w", err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // the same
			return fmt.Errorf("guide: %w", err)
		}
	}
	return nil
}
