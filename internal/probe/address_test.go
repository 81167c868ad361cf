// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// TestHTTP2: HTTP/2 is spoken where the server chooses it, said and asserted.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	serve := func(protocols ...string) string {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/first" && r.ProtoMajor == 2 {
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("X-Encoding", r.Header.Get("Accept-Encoding"))
			site(w, r)
		}))
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		server.EnableHTTP2 = protocols[0] == "h2"
		server.TLS = &tls.Config{Certificates: []tls.Certificate{w.authority.Issue(t)}, NextProtos: protocols}
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.URL
	}
	only, both, old := serve("h2"), serve("h2", "http/1.1"), serve("http/1.1")
	protocol := func(operator, target string) object {
		return object{"source": "protocol", "operator": operator, "target": target}
	}
	for name, c := range map[string]struct {
		config object
		said   string
		reason string
	}{
		"Only":     {object{"url": only + "/ok"}, "HTTP/2.0", ""},
		"Asserted": {object{"url": both + "/ok", "assertions": []object{protocol("eq", "HTTP/2")}}, "HTTP/2.0", ""},
		"Moved":    {object{"url": both + "/moved", "assertions": []object{protocol("eq", "HTTP/2.0")}}, "HTTP/2.0", ""},
		"Old": {
			object{"url": old + "/ok", "assertions": []object{protocol("eq", "HTTP/2")}},
			"HTTP/1.1",
			`protocol is "HTTP/1.1", expected to equal "HTTP/2"`,
		},
		"Body": {object{"url": both + "/body", "method": "POST", "body": "abc", "assertions": []object{
			{"source": "body", "operator": "eq", "target": "abc"},
		}}, "HTTP/2.0", ""},
		"Big":     {object{"url": both + "/big"}, "HTTP/2.0", ""},
		"Aborted": {object{"url": both + "/first"}, "", "the server reset the HTTP/2 stream"},
		"Encoding": {object{"url": both + "/ok", "assertions": []object{
			{"source": "header", "property": "X-Encoding", "operator": "eq", "target": "gzip"},
		}}, "HTTP/2.0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeHTTPS, c.config)
			said, _ := seen.Metadata["protocol"].(string)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) || said != c.said {
				t.Errorf("%q over %q", seen.Error, said)
			}
			if timings, _ := seen.Metadata["timings"].(object); c.reason == "" && (timings["ttfb_ms"] == nil || timings["tls_ms"] == nil) {
				t.Errorf("timings %v", seen.Metadata["timings"])
			}
		})
	}
}

// TestHTTP1Required: a server may choose HTTP/2 and want this request over HTTP/1.1 all the same (RFC 9113,
// section 7).
func TestHTTP1Required(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{w.authority.Issue(t)}, NextProtos: []string{"h2", "http/1.1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := serveOn(t, listener, func(conn net.Conn) {
		secured, ok := conn.(*tls.Conn)
		if !ok || secured.HandshakeContext(t.Context()) != nil {
			return
		}
		if secured.ConnectionState().NegotiatedProtocol != "h2" {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			drain(conn)
			return
		}
		_, _ = conn.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // SETTINGS
		part := make([]byte, 4096)
		for read := 0; read < len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")+100; {
			n, err := conn.Read(part)
			if err != nil {
				return
			}
			read += n
		}
		_, _ = conn.Write([]byte{0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0xd}) // RST_STREAM with HTTP_1_1_REQUIRED
		drain(conn)
	})
	seen := w.run(vigil.TypeHTTPS, object{"url": "https://" + at + "/" + strings.Repeat("long", 50)})
	if !seen.Success || seen.Metadata["protocol"] != "HTTP/1.1" {
		t.Errorf("%q, %v", seen.Error, seen.Metadata)
	}
}

// TestAddresses: what may not stand in an address is encoded, and what is encoded stays.
func TestAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.http(func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			w.Header()["Location"] = []string{to}
			w.WriteHeader(http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, r.RequestURI)
	})
	for given, want := range map[string]string{
		"/a b?q=x y":       "/a%20b?q=x%20y",
		"/ä?q=ä":           "/%C3%A4?q=%C3%A4",
		"/%C3%A4?q=%20a+b": "/%C3%A4?q=%20a+b",
		"/100%":            "/100%25",
		"/50%/a%2Fb?p=9%":  "/50%25/a%2Fb?p=9%",
		`/"<>{}|^` + "`":   "/%22%3C%3E%7B%7D%7C%5E%60",
		`/?q="<>'{}|^`:     "/?q=%22%3C%3E%27{}|^",
		`/back\slash`:      "/back/slash",
		"/frag#ment 100%":  "/frag",
		"?only=ж":          "/?only=%D0%B6",
	} {
		to := at + "/?to="
		for name, from := range map[string]string{
			"config": at + given, "redirect": to + url.QueryEscape(given), "whole": to + url.QueryEscape(at+given),
		} {
			seen := w.run(vigil.TypeHTTP, asserting(from, "body", "eq", want, nil))
			if !seen.Success {
				t.Errorf("%s %s: %q", name, given, seen.Error)
			}
		}
	}
}

// TestZone: the zone of an address stays on this machine.
func TestZone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 here")
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host) }))
	server.Listener = listener
	certificate := w.authority.Issue(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv6loopback} })
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	seen := w.run(vigil.TypeHTTPS, asserting("https://[::1%25lo]:"+port, "body", "eq", "[::1]:"+port, nil))
	if !seen.Success {
		t.Error(seen.Error)
	}
	if seen := w.run(vigil.TypeSSL, object{"host": "[::1%lo]:" + port}); !seen.Success {
		t.Error(seen.Error)
	}
}

func TestNamesInJSONPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := w.http(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"$schema": "x", "a,b,c,d,e,f": "x", "a..b": {"c..d": "x"},
			"it's $": "x", "~": "x", "items": [{"$ref": "a", "v": "x"}]}`)
	})
	for _, path := range []string{
		"$['$schema']", `$["$schema"]`, "$['a,b,c,d,e,f']", "$['a..b']['c..d']", `$['it\'s $']`, "$['~']", "$.items[?(@['$ref'] == 'a')].v",
	} {
		config := object{"url": at, "assertions": []object{{"source": "json", "property": path, "operator": "eq", "target": "x"}}}
		if seen := w.run(vigil.TypeHTTP, config); !seen.Success {
			t.Errorf("%s: %q", path, seen.Error)
		}
	}
}
