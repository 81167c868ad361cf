// SPDX-License-Identifier: Apache-2.0

package statuspage

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/coding"
)

// smallest is how many bytes a document has that is worth compressing.
const smallest = 1024

// document is an answer.
type document struct {
	body []byte
	tag  string // without quotes
	// zipped is the body compressed by gzip; nil: that is not worth it.
	zipped []byte
}

// written returns what writes a document once, with its compressed form, which all readers share.
func written(write func() ([]byte, error)) func() (document, error) {
	return sync.OnceValues(func() (document, error) {
		body, err := write()
		digest := sha256.Sum256(body)
		doc := document{body: body, tag: hex.EncodeToString(digest[:8])}
		if err != nil || len(body) < smallest || bytes.HasPrefix(body, []byte("\x89PNG")) || bytes.HasPrefix(body, []byte("\xff\xd8")) {
			return doc, err
		}
		var zipped bytes.Buffer
		to := gzip.NewWriter(&zipped)
		if _, err := to.Write(body); err == nil && to.Close() == nil {
			doc.zipped = zipped.Bytes()
		}
		return doc, nil
	})
}

// sending is how a document is sent.
type sending struct {
	write func() (document, error)
	kind  string // media type
	fresh time.Duration
	// private: only the reader who asked may keep it. shared: any web page may read it.
	private, shared bool
}

// serve writes a document, or 304. A compressed document has another tag, as it has other bytes; a
// reader that has one of the two has the same page.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, sent sending) {
	doc, err := sent.write()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	body, tag := doc.body, `"`+doc.tag+`"`
	header := w.Header()
	header.Add("Vary", "Accept-Encoding")
	if sent.shared {
		header.Set("Access-Control-Allow-Origin", "*")
	}
	if doc.zipped != nil && coding.Accepts(r.Header, "gzip") {
		header.Set("Content-Encoding", "gzip")
		body, tag = doc.zipped, `"`+doc.tag+`-gz"`
	}
	header.Set("Content-Type", sent.kind)
	header.Set("Cache-Control", "public, max-age="+strconv.Itoa(max(1, int(sent.fresh.Seconds()))))
	if sent.private {
		header.Add("Vary", "Cookie, Authorization")
		header.Set("Cache-Control", "private, no-cache")
	}
	header.Set("Etag", tag)
	if matches(r.Header.Values("If-None-Match"), `"`+doc.tag+`"`, `"`+doc.tag+`-gz"`) {
		header.Del("Content-Type")
		header.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the reader may be gone
	}
}

// matches reports whether If-None-Match names one of the tags, by the weak comparison of RFC 9110.
func matches(lines []string, tags ...string) bool {
	for candidate := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" {
			return true
		}
		for _, tag := range tags {
			if strings.TrimPrefix(candidate, "W/") == tag {
				return true
			}
		}
	}
	return false
}
