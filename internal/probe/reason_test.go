// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/vigil-monitor/vigil"
)

// TestReasons: each reason says what was seen and what was expected.
func TestReasons(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	empty := w.http(func(http.ResponseWriter, *http.Request) {})
	short := w.http(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "short") })
	only2 := "http://" + tcp(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096)) // not the preface of HTTP/2, so the connection ends (RFC 9113, section 3.4)
		framer := http2.NewFramer(conn, nil)
		_ = framer.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 250})
		_ = framer.WriteGoAway(0, http2.ErrCodeProtocol, nil)
	})
	chunk := "http://" + tcp(t, banner("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+strings.Repeat("0", 9000)))
	for name, c := range map[string]struct {
		kind   vigil.CheckType
		config object
		reason string
	}{
		"EmptyThroughput": {vigil.TypeThroughput, object{"url": empty}, "the body of the answer is empty, expected bytes to measure"},
		"SlowThroughput": {
			vigil.TypeThroughput, object{"url": short, "min_mbps": 999999}, " Mbit/s, expected at least 999999",
		},
		"HTTP2Only":           {vigil.TypeHTTP, object{"url": only2}, "the server speaks HTTP/2 only, expected HTTP/1.1"},
		"HTTP2OnlyThroughput": {vigil.TypeThroughput, object{"url": only2}, "the server speaks HTTP/2 only, expected HTTP/1.1"},
		"LongChunkSize":       {vigil.TypeHTTP, object{"url": chunk}, "the chunks of the answer are malformed (header line too long)"},
		"TCPOtherText": {
			vigil.TypeTCP, serverAt(t, tcp(t, func(conn net.Conn) { _, _ = io.WriteString(conn, "hello") }), object{"expect": "ready"}),
			"the server sent 5 bytes without the expected text and closed the connection",
		},
		"TCPNoMore": {
			vigil.TypeTCP, serverAt(t, tcp(t, banner("hello")), object{"expect": "ready", "timeout_seconds": 1}),
			"timed out after 1s while waiting for the expected text, which is not in the 5 bytes that came",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if seen := w.run(c.kind, c.config); seen.Success || !strings.HasSuffix(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
		})
	}
}
