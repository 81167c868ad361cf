// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
	"github.com/quic-go/quic-go/http3"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// The addresses that the configs in an upgrade fixture name. They are fixed,
// because a fixture outlives the process that made it.
const (
	upgradeHost = "127.0.0.77"

	upgradeSite     = upgradeHost + ":18101" // HTTP; the download of the throughput check
	upgradeTLS      = upgradeHost + ":18102"
	upgradeQUIC     = upgradeHost + ":18103"
	upgradeTCP      = upgradeHost + ":18104"
	upgradeDNS      = upgradeHost + ":18105"
	upgradeReceiver = upgradeHost + ":18106" // all notification channels but email
	// The certificate of a probetest.PostOffice is for 127.0.0.1 only.
	upgradeSMTP = "127.0.0.1:18107"
	upgradeIMAP = "127.0.0.1:18108"
)

// The secrets in an upgrade fixture. The site and the receiver compare them.
const (
	upgradeBearer   = "Bearer upgrade-bearer-secret"
	upgradeToken    = "upgrade-x-auth-token-secret"
	upgradeAPIKey   = "upgrade-x-api-key-secret"
	upgradeUser     = "upgrade"
	upgradePassword = "upgrade-basic-password"
	upgradeSigning  = "upgrade-webhook-signing-secret"
	upgradeRouting  = "upgrade-pager-routing-key"
)

// upgradeTargets are the servers that the checks and channels of an upgrade
// fixture reach.
type upgradeTargets struct {
	trusted string // file with the certificate authority

	mu       sync.Mutex
	failing  map[string]bool // paths of the site that answer 500
	refusing map[string]bool // paths of the receiver that answer 500
	requests []received
}

// received is one request to the receiver.
type received struct {
	path, id, attempt string
	body              []byte
	signed            bool
}

// newUpgradeTargets listens on every fixed address, and skips the test when one
// of them is taken or the machine does not have it.
func newUpgradeTargets(t *testing.T) *upgradeTargets {
	t.Helper()
	u := &upgradeTargets{failing: map[string]bool{}, refusing: map[string]bool{}}
	authority := probetest.NewAuthority(t, nil)
	u.trusted = filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(u.trusted, authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	certificate := authority.Issue(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP(upgradeHost)} })

	reserve(t)
	serveHTTP(t, upgradeSite, nil, u.site)
	serveHTTP(t, upgradeTLS, &certificate, func(http.ResponseWriter, *http.Request) {})
	serveHTTP(t, upgradeReceiver, nil, u.receive)
	serveQUIC(t, upgradeQUIC, certificate)
	serveDNS(t, upgradeDNS)
	listener := listenAt(t, upgradeTCP)
	go accept(listener, func(conn net.Conn) {
		_, _ = io.WriteString(conn, "220 ready\r\n")
		_ = conn.Close()
	})
	post := probetest.NewPostOffice(t, authority, "starttls", "tls")
	forward(t, upgradeSMTP, post.SMTP)
	forward(t, upgradeIMAP, post.IMAP)
	return u
}

// reserve keeps the platform from choosing one of the ports for itself: what it listens on is
// reached at no address of the machine. One that is taken is that of another program.
func reserve(t *testing.T) {
	t.Helper()
	for _, address := range []string{upgradeSite, upgradeTLS, upgradeQUIC, upgradeTCP, upgradeDNS, upgradeReceiver} {
		_, port, _ := net.SplitHostPort(address)
		var config net.ListenConfig
		if l, err := config.Listen(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port)); err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
	}
}

// site answers 500 on paths that are failing, 403 on those of secrets that are
// not as they were configured, and 200 otherwise.
func (u *upgradeTargets) site(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	failing := u.failing[r.URL.Path]
	u.mu.Unlock()
	user, password, _ := r.BasicAuth()
	switch {
	case failing:
		w.WriteHeader(http.StatusInternalServerError)
	case r.URL.Path == "/secrets/headers" && r.Header.Get("Authorization") != upgradeBearer,
		r.URL.Path == "/secrets/headers" && r.Header.Get("X-Auth-Token") != upgradeToken,
		r.URL.Path == "/secrets/headers" && r.Header.Get("X-Api-Key") != upgradeAPIKey,
		r.URL.Path == "/secrets/basic" && (user != upgradeUser || password != upgradePassword),
		r.URL.Path == "/secrets/step" && r.Header.Get("X-Auth-Token") != upgradeToken:
		w.WriteHeader(http.StatusForbidden)
	case r.URL.Path == "/login":
		_, _ = io.WriteString(w, `{"token": "`+upgradeToken+`"}`)
	case r.URL.Path == "/download":
		drizzle(w, r)
	}
}

func (u *upgradeTargets) fail(path string, failing bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.failing[path] = failing
}

// refuse makes the receiver answer 500 on a path.
func (u *upgradeTargets) refuse(path string, refusing bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refusing[path] = refusing
}

func (u *upgradeTargets) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	mac := hmac.New(sha256.New, []byte(upgradeSigning))
	mac.Write(body)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.requests = append(u.requests, received{
		path: r.URL.Path, id: r.Header.Get("webhook-id"), attempt: r.Header.Get("X-Service-Attempt"), body: body,
		signed: r.Header.Get("X-Service-Signature") == "sha256="+hex.EncodeToString(mac.Sum(nil)),
	})
	if u.refusing[r.URL.Path] {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// receivedAt are the requests to a path of the receiver, the oldest first.
func (u *upgradeTargets) receivedAt(path string) []received {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(u.requests), func(r received) bool { return r.path != path })
}

// listenAt listens until the test ends; it skips the test when it cannot.
func listenAt(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("the fixture needs %s: %v", address, err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

func listenPacketAt(t *testing.T, address string) net.PacketConn {
	t.Helper()
	packets, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", address)
	if err != nil {
		t.Skipf("the fixture needs %s over UDP: %v", address, err)
	}
	t.Cleanup(func() { _ = packets.Close() })
	return packets
}

func serveHTTP(t *testing.T, address string, certificate *tls.Certificate, handler http.HandlerFunc) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = listenAt(t, address)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(server.Close)
	if certificate == nil {
		server.Start()
		return
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*certificate}}
	server.StartTLS()
}

func serveQUIC(t *testing.T, address string, certificate tls.Certificate) {
	t.Helper()
	server := &http3.Server{
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Logger: slog.New(slog.DiscardHandler),
		TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate}}),
	}
	packets := listenPacketAt(t, address)
	go func() { _ = server.Serve(packets) }()
	t.Cleanup(func() { _ = server.Close() })
}

func serveDNS(t *testing.T, address string) {
	t.Helper()
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		reply := new(dns.Msg).SetReply(query)
		record, err := dns.NewRR("www.test. 60 IN A 192.0.2.1")
		if err == nil {
			reply.Answer = []dns.RR{record}
		}
		_ = w.WriteMsg(reply)
	})
	started := make(chan struct{})
	server := &dns.Server{PacketConn: listenPacketAt(t, address), Handler: handler, NotifyStartedFunc: func() { close(started) }}
	go func() { _ = server.ActivateAndServe() }()
	<-started
	t.Cleanup(func() { _ = server.Shutdown() })
}

// accept hands every connection to serve, until the listener is closed.
func accept(listener net.Listener, serve func(net.Conn)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go serve(conn)
	}
}

// forward passes connections on to another address of this machine.
func forward(t *testing.T, from, to string) {
	t.Helper()
	listener := listenAt(t, from)
	go accept(listener, func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		server, err := new(net.Dialer).DialContext(context.Background(), "tcp", to) //nolint:usetesting // ends with its connection
		if err != nil {
			return
		}
		defer func() { _ = server.Close() }()
		go func() {
			_, _ = io.Copy(server, conn)
			_ = server.Close()
		}()
		_, _ = io.Copy(conn, server)
	})
}

// portOf is the port of one of the fixed addresses.
func portOf(address string) string { return address[strings.LastIndex(address, ":")+1:] }
