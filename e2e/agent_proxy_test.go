// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/tls"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// proxyHost is the name of the platform for agents behind a proxy. Only the proxy knows where it is.
const proxyHost = "vigil.example.com"

// passOn answers as the platform does, by any name.
func passOn(t *testing.T, platform string) *httputil.ReverseProxy {
	t.Helper()
	to, err := url.Parse(platform)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
}

// newFront puts TLS and HTTP/2 in front of the platform, with a certificate for proxyHost, and counts requests of HTTP/2.
func newFront(t *testing.T, platform string) (address string, second *atomic.Int64) {
	t.Helper()
	pass := passOn(t, platform)
	second = new(atomic.Int64)
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 {
			second.Add(1)
		}
		pass.ServeHTTP(w, r)
	}))
	front.EnableHTTP2 = true
	front.TLS = &tls.Config{
		Certificates: []tls.Certificate{common.authority.Issue(t, probetest.ForNames(proxyHost))},
		MinVersion:   tls.VersionTLS12,
	}
	front.StartTLS()
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.Listener.Addr().String(), second
}

// connectProxy is a proxy that asks for a password and opens connections to one host only.
type connectProxy struct {
	*httptest.Server
	opened, refused atomic.Int64
}

func newConnectProxy(t *testing.T, to string) *connectProxy {
	t.Helper()
	p := &connectProxy{}
	want := "Basic " + base64.StdEncoding.EncodeToString([]byte("site:hunter2"))
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodConnect || r.Host != proxyHost+":443":
			p.refused.Add(1)
			w.WriteHeader(http.StatusForbidden)
			return
		case r.Header.Get("Proxy-Authorization") != want:
			p.refused.Add(1)
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		behind, err := net.Dial("tcp", to) //nolint:noctx // closed with the connection
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			_ = behind.Close()
			return
		}
		p.opened.Add(1)
		_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
		go func() {
			_, _ = io.Copy(behind, buffered)
			_ = behind.Close()
		}()
		_, _ = io.Copy(conn, behind)
		_ = conn.Close()
	}))
	t.Cleanup(p.Close)
	return p
}

// TestAgentBehindProxy has an agent whose only way out is a proxy with a password (HTTPS_PROXY, CONNECT), to a platform behind
// TLS: definitions, results and tests by hand pass in connections of HTTP/2, and no probe goes through the proxy.
func TestAgentBehindProxy(t *testing.T) {
	timingtest.Parallel(t)
	p, c := shared(t)
	front, second := newFront(t, p.ready.APIURL)
	proxy := newConnectProxy(t, front)
	trusted := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(trusted, common.authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	site := newTarget(t)
	office := newPlace(c, "Office")
	var made check
	c.into(&made, http.MethodPost, "/v1/checks", httpCheck("intranet", site.URL+"/", 1, office.Key))
	env := []string{"HTTPS_PROXY=http://site:hunter2@" + proxy.Listener.Addr().String()}
	agent := runAgentIn(t, env, "https://"+proxyHost, office, "--ca-file", trusted)
	eventually(t, "results come through the proxy", func() bool { return len(resultsOf(c, "/v1/checks/"+made.ID)) >= 3 })
	asked := time.Now()
	var tested result
	c.into(&tested, http.MethodPost, "/v1/checks/"+made.ID+"/test?dry_run=true", nil)
	if !tested.Success || tested.Region != office.Key {
		t.Errorf("a test by hand: %+v", tested)
	}
	figure(t, "a test by hand behind a proxy takes", time.Since(asked), 2*time.Second, 0)
	proxy.CloseClientConnections()
	cut := time.Now()
	count := site.count("/")
	eventually(t, "the agent goes on", func() bool { return site.count("/") > count+2 })
	eventually(t, "it has sent everything", func() bool { return sentAll(c, office, cut) })
	if _, err := agent.interrupt(); err != nil {
		t.Error(err)
	}
	if proxy.opened.Load() == 0 || second.Load() == 0 || proxy.refused.Load() != 0 {
		t.Errorf(
			"the proxy opened %d connections and refused %d; %d requests were of HTTP/2",
			proxy.opened.Load(),
			proxy.refused.Load(),
			second.Load(),
		)
	}
}
