// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// faultyTLS are servers whose TLS is wrong, or odd.
func faultyTLS(w *world) map[string]func(net.Conn) {
	w.Helper()
	own := []tls.Certificate{w.authority.Issue(w)}
	speaking := func(config *tls.Config, serve func(net.Conn)) func(net.Conn) {
		return func(conn net.Conn) {
			secured := tls.Server(conn, config)
			defer func() { _ = secured.Close() }()
			serve(secured)
		}
	}
	fine := func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
	}
	with := func(certificate tls.Certificate) func(net.Conn) {
		return speaking(&tls.Config{Certificates: []tls.Certificate{certificate}}, fine)
	}
	after := func(text string) func(net.Conn) {
		return func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, text)
			drain(conn)
		}
	}
	unsent := w.authority.Issue(w)
	unsent.Certificate = append(unsent.Certificate, []byte("nonsense"))
	return map[string]func(net.Conn){
		"fine":                  with(own[0]),
		"a stranger":            with(probetest.NewAuthority(w, nil).Issue(w)),
		"signed by itself":      with(probetest.SelfSigned(w)),
		"expired":               with(w.authority.Issue(w, probetest.Expired())),
		"not valid yet":         with(w.authority.Issue(w, probetest.NotYet())),
		"of another name":       with(w.authority.Issue(w, probetest.ForNames("other.test"))),
		"nonsense in the chain": with(unsent),
		"a chain":               with(probetest.NewAuthority(w, w.authority).Issue(w)),
		"TLS 1.1": speaking(&tls.Config{
			Certificates: own, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11,
		}, fine),
		"TLS 1.2":              speaking(&tls.Config{Certificates: own, MaxVersion: tls.VersionTLS12}, fine),
		"HTTP/1.1 chosen":      speaking(&tls.Config{Certificates: own, NextProtos: []string{"http/1.1"}}, fine),
		"another one chosen":   speaking(&tls.Config{Certificates: own, NextProtos: []string{"x"}}, fine),
		"HTTP/2 in words only": speaking(&tls.Config{Certificates: own, NextProtos: []string{"h2"}}, fine),
		"HTTP/2 that hangs":    speaking(&tls.Config{Certificates: own, NextProtos: []string{"h2"}}, drain),
		"HTTP/2 that ends":     speaking(&tls.Config{Certificates: own, NextProtos: []string{"h2"}}, func(net.Conn) {}),
		"wants a certificate":  speaking(&tls.Config{Certificates: own, ClientAuth: tls.RequireAnyClientCert}, fine),
		"wants one in TLS 1.2": speaking(
			&tls.Config{Certificates: own, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12},
			fine,
		),
		"ends when it is set": speaking(&tls.Config{Certificates: own}, func(conn net.Conn) { _, _ = conn.Read(make([]byte, 1)) }),
		"an alert":            after("\x15\x03\x03\x00\x02\x02\x28"),
		"an alert to go":      after("\x15\x03\x03\x00\x02\x01\x00"),
		"an unknown alert":    after("\x15\x03\x03\x00\x02\x02\xff"),
		"plain HTTP":          fine,
		"plain HTTP 400":      after("HTTP/1.0 400 Bad Request\r\n\r\nplain HTTP"),
		"a large record":      after("\x16\x03\x03\xff\xff"),
		"an odd version":      after("\x16\x09\x09\x00\x04\x02\x00\x00\x00"),
		"application data":    after("\x17\x03\x03\x00\x04abcd"),
		"hangs up":            func(conn net.Conn) { _, _ = conn.Read(make([]byte, 4096)) },
		"half a hello":        after("\x16\x03\x03\x00\x7a\x02\x00\x00\x76"),
	}
}

func TestDirectTLS(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	var all []comparison
	for name, serve := range faultyTLS(p.world) {
		url := "https://" + tcp(t, serve)
		racy := ""
		if name == "wants a certificate" || name == "hangs up" || name == "HTTP/2 that ends" {
			racy = "what is sent last meets the end of the connection"
		}
		for asker, config := range map[string]object{
			"plain": {"url": url}, "trusting": {"url": url, "verify_tls": false},
			"days":     {"url": url, "assertions": []object{{"source": "certificate", "operator": "gt", "target": "10"}}},
			"upgrades": {"url": url, "headers": object{"Upgrade": "x"}},
			"by name":  {"url": url, "tls": object{"server_name": "other.test"}},
		} {
			all = append(all, comparison{name + "/" + asker, vigil.TypeHTTPS, config, 400 * time.Millisecond, racy})
		}
	}
	p.compare(t, all)
}

// TestDirectHTTP2: a server that chooses HTTP/2 has it by both paths.
func TestDirectHTTP2(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Proto", r.Proto)
		site(w, r)
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{Certificates: []tls.Certificate{p.authority.Issue(t)}}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	var all []comparison
	for _, path := range []string{"/ok", "/500", "/204", "/moved", "/loop", "/private", "/nowhere", "/big", "/cut", "/auth", "/host"} {
		for asker, config := range asking(server.URL + path) {
			racy := ""
			if asker == "stream" {
				racy = joinedParts
			}
			all = append(all, comparison{name: path + "/" + asker, kind: vigil.TypeHTTPS, config: config, racy: racy})
		}
	}
	p.compare(t, all)
	two := object{
		"url":        server.URL + "/ok",
		"assertions": []object{{"source": "header", "property": "X-Proto", "operator": "eq", "target": "HTTP/2.0"}},
	}
	if seen := p.run(vigil.TypeHTTPS, two); !seen.Success || seen.Metadata["protocol"] != "HTTP/2.0" {
		t.Errorf("got %+v", seen)
	}
}
