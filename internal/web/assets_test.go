// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestCodingsOfFiles has each file in the coding that a client takes: the same contents, by Brotli once they are made.
func TestCodingsOfFiles(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b := s.browser(t)
	page := b.get(t, http.StatusOK, "/app/sign-in")
	files := regexp.MustCompile(`/app/static/[^"]+`).FindAllString(page.text, -1)
	if len(files) < 4 || !strings.Contains(page.text, "/app/static/pages.") {
		t.Fatalf("the page has the files %v", files)
	}
	for _, path := range files {
		plain := b.get(t, http.StatusOK, path, "Accept-Encoding", "identity")
		if plain.header.Get("Content-Encoding") != "" || plain.header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s as it is has the headers %v", path, plain.header)
		}
		for _, accepted := range []string{"gzip", "gzip, br;q=0", "deflate, GZIP;q=0.5"} {
			zipped := b.get(t, http.StatusOK, path, "Accept-Encoding", accepted)
			unzip, err := gzip.NewReader(strings.NewReader(zipped.text))
			if err != nil {
				t.Fatalf("%s for %q: %v", path, accepted, err)
			}
			if text, err := io.ReadAll(unzip); err != nil || string(text) != plain.text || zipped.header.Get("Content-Encoding") != "gzip" {
				t.Errorf("%s for %q is something else, or %v", path, accepted, err)
			}
		}
		var small answer
		timingtest.Eventually(t, time.Minute, "the file is compressed by Brotli", func() bool {
			small = b.get(t, http.StatusOK, path, "Accept-Encoding", "gzip, deflate, br, zstd")
			return small.header.Get("Content-Encoding") == "br"
		})
		text, err := io.ReadAll(brotli.NewReader(bytes.NewReader([]byte(small.text))))
		if err != nil || string(text) != plain.text {
			t.Errorf("%s by Brotli is something else, or %v", path, err)
		}
		if len(small.text) >= len(plain.text) {
			t.Errorf("%s has %d bytes by Brotli, and %d as it is", path, len(small.text), len(plain.text))
		}
	}
}
