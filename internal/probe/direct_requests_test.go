// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// requestLog writes down what clients send, byte by byte, and what they offer in their TLS handshakes.
type requestLog struct {
	mu    sync.Mutex
	lines []string
}

func (w *requestLog) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// take returns what was written down since the last time.
func (w *requestLog) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.lines = nil }()
	return strings.Join(w.lines, "\n")
}

// serve answers one request: a redirect where the path names a place, with a cookie.
func (w *requestLog) serve(conn net.Conn) {
	var seen bytes.Buffer
	request, err := http.ReadRequest(bufio.NewReader(io.TeeReader(conn, &seen)))
	if err != nil {
		return
	}
	_, _ = io.Copy(io.Discard, request.Body)
	w.note("%q", seen.String())
	to := request.URL.Query().Get("to")
	if to == "" {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
		return
	}
	status := "302 Found"
	if request.URL.Query().Get("keep") != "" {
		status = "307 Temporary Redirect"
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\nLocation: "+to+"\r\n\r\n")
}

// secured is the TLS in front of it.
func (w *requestLog) secured(certificate tls.Certificate, protocols ...string) func(net.Conn) {
	return func(conn net.Conn) {
		secured := tls.Server(conn, &tls.Config{
			NextProtos: protocols,
			GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
				w.note("hello %q %v %v %v %v %v", hello.ServerName, hello.SupportedProtos, hello.SupportedVersions, hello.SupportedCurves,
					hello.CipherSuites, hello.Extensions)
				return nil, nil
			},
			Certificates: []tls.Certificate{certificate},
		})
		defer func() { _ = secured.Close() }()
		w.serve(secured)
	}
}

// TestDirectRequests: what a server sees is the same by both paths.
func TestDirectRequests(t *testing.T) { //nolint:paralleltest // it notes one client at a time
	p := newPaths(t, egress.WithNameServer(probetest.Resolver(t, late(func() {}))))
	var seen requestLog
	certificate := p.authority.Issue(t, probetest.ForNames("shop.test", "localhost"))
	plain, other := "http://"+tcp(t, seen.serve), "http://"+tcp(t, seen.serve)
	_, port, _ := net.SplitHostPort(plain[len("http://"):])
	_, secure, _ := net.SplitHostPort(tcp(t, seen.secured(certificate)))
	_, spoken, _ := net.SplitHostPort(tcp(t, seen.secured(certificate, "http/1.1")))
	urls := []string{
		plain, plain + "/", plain + "/a%20b/%2f?x=y&z=%00#part", plain + "?q", "http://shop.test:" + port + "/", "http://SHOP.test:" + port + "/",
		"http://shop.test.:" + port + "/", "http://127.0.0.1:" + port + "/ü?ö", plain + "/?to=/b%3Fc", plain + "/?to=" + other + "/d",
		plain + "/?keep=1&to=/b",
		plain + "/?keep=1&to=" + other + "/", plain + "/?to=http://shop.test:" + port + "/", plain + "/?to=https://shop.test:" + secure + "/",
		"https://shop.test:" + secure + "/", "https://shop.test:" + spoken + "/", "https://shop.test:" + secure + "/?to=/b",
		"https://shop.test:" + secure + "/?to=" + plain + "/", "https://127.0.0.1:" + secure + "/", "http://[::1%25lo]:" + port + "/",
	}
	configs := []object{
		{},
		{"method": "HEAD"},
		{"method": "OPTIONS"},
		{"method": "DELETE"},
		{"method": "POST"},
		{"method": "POST", "body": "hello"},
		{"method": "PUT", "body": strings.Repeat("hello", 10_000)},
		{"headers": object{"User-Agent": "x", "Accept": "text/html", "X-b": "1", "x-A": "  2  ", "Cookie": "c=d"}},
		{"headers": object{"Host": "other.test:81"}},
		{"headers": object{"Accept-Encoding": "br"}},
		{"headers": object{"Range": "bytes=0-1"}},
		{"headers": object{"Accept-Encoding": "identity", "Range": "bytes=0-1"}},
		{"headers": object{"X-Long": strings.Repeat("x", 6000)}},
		{"headers": object{"X": "ü\t"}},
		{"headers": object{"Upgrade": "h2c"}},
		{"headers": object{"X.Y~": "z"}},
		{"basic_auth": object{"username": "ann", "password": "hunter2"}},
		{"cookies": false},
		{"verify_tls": false},
		{"tls": object{"server_name": "localhost"}},
		{"follow_redirects": false},
	}
	ways := map[string]*probe.Registry{"direct": p.Registry, "transport": p.transport}
	compared := 0
	for _, url := range urls {
		for _, config := range configs {
			config["url"] = url
			got := make(map[string]string)
			for name, registry := range ways {
				parsed, err := registry.Parse(vigil.TypeHTTP, encode(t, config), minute)
				if err != nil {
					got[name] = err.Error()
					continue
				}
				parsed.Run(t.Context())
				got[name] = seen.take()
			}
			if compared++; got["direct"] != got["transport"] || got["direct"] == "" && !strings.Contains(url, "::1") {
				t.Errorf("%s %v\ndirect    %s\ntransport %s", url, config, got["direct"], got["transport"])
			}
			if testing.Verbose() {
				t.Logf("%s %v: %.600s", url, config, got["direct"])
			}
		}
	}
	t.Logf("%d comparisons", compared)
}
