// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// forwarder is an HTTP proxy: it forwards requests, and tunnels for CONNECT.
type forwarder struct {
	user   string // "name:password" that it asks for; empty: it asks for none
	asked  atomic.Int32
	tunnel atomic.Int32
}

func (f *forwarder) serve(conn net.Conn) {
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	f.asked.Add(1)
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte(f.user))
	if f.user != "" && request.Header.Get("Proxy-Authorization") != want {
		_, _ = io.WriteString(conn, "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
		return
	}
	request.Header.Del("Proxy-Authorization")
	target, err := (&net.Dialer{}).DialContext(request.Context(), "tcp", request.Host)
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer func() { _ = target.Close() }()
	if request.Method == http.MethodConnect {
		f.tunnel.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	} else {
		_ = request.Write(target)
	}
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(target, reader)
		_ = target.Close()
	})
	both.Go(func() {
		_, _ = io.Copy(conn, target)
		_ = conn.Close()
	})
	both.Wait()
}

func TestProxy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case r.Header.Get("Proxy-Authorization") != "":
			w.WriteHeader(http.StatusTeapot)
		}
	}
	plain, secure := w.http(handler), w.https(w.authority.Issue(t), handler)
	closed := closedPort(t)
	for name, c := range map[string]struct {
		url    string
		user   string // of the proxy
		config object
		proxy  string // another one
		tunnel int32
		asked  int32
		reason string
	}{
		"Plain":       {url: plain, asked: 1},
		"TLS":         {url: secure, asked: 1, tunnel: 1},
		"Redirect":    {url: plain + "/moved", asked: 2},
		"RedirectTLS": {url: secure + "/moved", asked: 2, tunnel: 2},
		"Credentials": {
			url: plain, user: "ann:hunter2", config: object{"proxy_auth": object{"username": "ann", "password": "hunter2"}}, asked: 1,
		},
		"CredentialsTLS": {
			url: secure, user: "ann:hunter2", config: object{"proxy_auth": object{"username": "ann", "password": "hunter2"}}, asked: 1, tunnel: 1,
		},

		"NoCredentials":    {url: plain, user: "ann:hunter2", asked: 1, reason: "407"},
		"NoCredentialsTLS": {url: secure, user: "ann:hunter2", asked: 1, reason: "the proxy asks for a user name and a password"},
		"TargetIsDown":     {url: "https://" + closed, asked: 1, reason: "the proxy answered CONNECT with the status 502"},
		"ProxyIsDown":      {url: secure, proxy: "http://" + closed, reason: "connection refused by " + closed},
		"ProxyIsMute": {
			url: secure, proxy: "http://" + tcp(t, drain), config: object{"timeout_seconds": 1}, reason: "timed out after 1s while connecting",
		},
		"ProxyIsNone": {
			url: secure, proxy: "http://" + tcp(t, banner("SSH-2.0-x\r\n")), reason: "the proxy did not answer CONNECT with HTTP",
		},
		"ProxyHangsUp": {
			url: secure, proxy: "http://" + tcp(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1024)) }),
			reason: "the connection was closed while connecting",
		},
		"ProxySpeaksOn": {
			url: secure, proxy: "http://" + tcp(t, banner("HTTP/1.1 200 OK\r\n\r\nhello")), reason: "the proxy did not answer CONNECT with HTTP",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			between := &forwarder{user: c.user}
			config := object{"url": c.url, "proxy": "http://" + tcp(t, between.serve)}
			if c.proxy != "" {
				config["proxy"] = c.proxy
			}
			for member, value := range c.config {
				config[member] = value
			}
			seen := w.run(vigil.TypeHTTP, config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			if between.asked.Load() != c.asked || between.tunnel.Load() != c.tunnel {
				t.Errorf("the proxy was asked %d times, for %d tunnels", between.asked.Load(), between.tunnel.Load())
			}
		})
	}
}

// TestProxyIsGuarded holds that a proxy is reached through the guard, as any target, and that one
// does not lead to an address that is refused when it is written.
func TestProxyIsGuarded(t *testing.T) {
	t.Parallel()
	aim := newCanary(t)
	registry := probe.NewRegistry(egress.New(egress.Policy{}))
	for _, url := range []string{"http://127.0.0.1:" + aim.port, "http://localhost:" + aim.port, "http://169.254.169.254"} {
		_, err := registry.Parse(vigil.TypeHTTPS, encode(t, object{"url": "https://example.com", "proxy": url}), minute)
		rejected(t, err, "config.proxy")
	}
	w := newWorld(t)
	for _, target := range []string{"http://169.254.169.254/", "https://169.254.169.254/"} {
		moved := w.http(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
		})
		between := &forwarder{}
		seen := w.run(vigil.TypeHTTP, object{"url": moved, "proxy": "http://" + tcp(t, between.serve)})
		if seen.Success || !strings.Contains(seen.Error, "a cloud metadata address") || between.asked.Load() != 1 {
			t.Errorf("%s: %q, the proxy was asked %d times", target, seen.Error, between.asked.Load())
		}
	}
}

func TestProxyConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const url = "https://example.com/"
	for member, configs := range map[string][]object{
		"config.proxy": {
			{"url": url, "proxy": "socks5://proxy.example"},
			{"url": url, "proxy": "http://ann:hunter2@proxy.example"},
			{"url": url, "proxy": "http://proxy.example/path"},
			{"url": url, "proxy": "proxy.example:3128"},
			{"url": url, "proxy": "http://proxy.example?a=b"},
		},
		"config.proxy_auth":          {{"url": url, "proxy_auth": object{"username": "ann"}}},
		"config.proxy_auth.username": {{"url": url, "proxy": "http://proxy.example", "proxy_auth": object{"username": "a:b"}}},
	} {
		for _, config := range configs {
			_, err := w.Parse(vigil.TypeHTTPS, encode(t, config), minute)
			rejected(t, err, member)
			if strings.Contains(vigil.ErrorMessage(err), "hunter2") {
				t.Errorf("the error has the password: %v", err)
			}
		}
	}
	_, err := w.Parse(vigil.TypeHTTP3, encode(t, object{"url": url, "proxy": "http://proxy.example"}), minute)
	rejected(t, err, "config.proxy")
}
