// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/andybalholm/brotli"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"

	"github.com/vigil-monitor/vigil/internal/coding"
)

//go:embed static templates
var files embed.FS

// assetPath is where the files under static/ are served.
const assetPath = "/app/static/"

// assets are the files under static/. Each is served under a name with the hash of its
// contents, so that a browser may keep it for good.
type assets struct {
	hashed map[string]string // by name: app.css -> /app/static/app.3f2a….css
	files  map[string]asset  // by path
	asked  sync.Once         // by a browser that takes Brotli
}

type asset struct {
	kind string // media type
	zip  []byte // few clients ask for a file as it is, so that is not kept in memory
	// brotli is the file for browsers that reach the platform by TLS, a tenth smaller; nil until it is made.
	brotli *atomic.Pointer[[]byte]
}

// readAssets reads and compresses the files once.
func readAssets() (*assets, error) {
	a := &assets{hashed: make(map[string]string), files: make(map[string]asset)}
	err := fs.WalkDir(files, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		kind := mediaType(name)
		if kind == "" { // licences and checksums
			return nil
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		if content, err = small(kind, name, content); err != nil {
			return err
		}
		zip, err := compressed(content)
		if err != nil {
			return err
		}
		short := strings.TrimPrefix(name, "static/")
		sum := sha256.Sum256(content)
		ext := path.Ext(short)
		a.hashed[short] = assetPath + strings.TrimSuffix(short, ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.files[a.hashed[short]] = asset{kind: kind, zip: zip, brotli: new(atomic.Pointer[[]byte])}
		return nil
	})
	return a, err
}

// minifier makes the scripts and styles of our own smaller, which are written to be read: a first visit of a page loads a
// tenth less.
var minifier = func() *minify.M { //nolint:gochecknoglobals // it has no state
	m := minify.New()
	m.AddFunc("text/css", css.Minify)
	m.AddFunc("text/javascript", js.Minify)
	return m
}()

// small returns a file of our own without comments and indentation; files of others are served as they were released.
func small(kind, name string, content []byte) ([]byte, error) {
	own := !strings.HasPrefix(name, "static/vendor/")
	if !own || kind != typeStyle && kind != typeScript {
		return content, nil
	}
	out, err := minifier.Bytes(kind, content)
	if err != nil {
		return nil, fmt.Errorf("make %s small: %w", name, err)
	}
	return out, nil
}

func compressed(content []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// shrink compresses the files once more, as small as they become. That takes a second of a core in all, so no visit waits for
// it: it begins with the first page that a browser loads, which gets what gzip has made.
func (a *assets) shrink() {
	for _, file := range a.files {
		if small, err := smallest(file.zip); err == nil {
			file.brotli.Store(&small)
		}
	}
}

// smallest returns a file that gzip has compressed as Brotli does.
func smallest(zip []byte) ([]byte, error) {
	plain, err := gzip.NewReader(bytes.NewReader(zip))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := brotli.NewWriterLevel(&out, brotli.BestCompression)
	if _, err := io.Copy(w, plain); err != nil { //nolint:gosec // a file of our own
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

const (
	typeStyle  = "text/css; charset=utf-8"
	typeScript = "text/javascript; charset=utf-8"
)

// mediaType returns the type of a file that is served; empty for one that is not.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return typeStyle
	case ".js":
		return typeScript
	case ".svg":
		return "image/svg+xml"
	}
	return ""
}

// url returns the path of a file by its name, such as app.css.
func (a *assets) url(name string) (string, error) {
	if at, ok := a.hashed[name]; ok {
		return at, nil
	}
	return "", fmt.Errorf("web: no file static/%s", name)
}

// ServeHTTP answers with a file.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := a.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", file.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	if coding.Accepts(r.Header, "br") {
		if small := file.brotli.Load(); small != nil {
			h.Set("Content-Encoding", "br")
			_, _ = w.Write(*small)
			return
		}
		a.asked.Do(func() { go a.shrink() })
	}
	if coding.Accepts(r.Header, "gzip") {
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(file.zip)
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(file.zip))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	_, _ = io.Copy(w, plain) //nolint:gosec // a file of our own; the client may be gone
}
