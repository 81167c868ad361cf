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
}

type asset struct {
	kind string // media type
	name string // in files: few clients ask for it as it is, so it is not kept in memory
	zip  []byte
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
		zip, err := compressed(content)
		if err != nil {
			return err
		}
		short := strings.TrimPrefix(name, "static/")
		sum := sha256.Sum256(content)
		ext := path.Ext(short)
		a.hashed[short] = assetPath + strings.TrimSuffix(short, ext) + "." + hex.EncodeToString(sum[:6]) + ext
		a.files[a.hashed[short]] = asset{kind: kind, name: name, zip: zip}
		return nil
	})
	return a, err
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

// mediaType returns the type of a file that is served; empty for one that is not.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
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
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(file.zip)
		return
	}
	plain, err := files.Open(file.name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer func() { _ = plain.Close() }()
	_, _ = io.Copy(w, plain) // the client may be gone
}
