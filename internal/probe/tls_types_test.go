// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// club is a world whose servers have certificates of an authority that no machine trusts, for the
// name club.test, and want one of the same authority from the client.
type club struct {
	*world

	authority *probetest.Authority
	secure    *tls.Config
	tls       object // the member tls that lets in
}

func newClub(t *testing.T) *club {
	t.Helper()
	c := &club{world: newWorld(t), authority: probetest.NewAuthority(t, nil)}
	c.secure = &tls.Config{
		Certificates: []tls.Certificate{c.authority.Issue(t, probetest.ForNames("club.test"))},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: c.authority.Pool(),
	}
	chain, key := identity(t, c.authority.Issue(t, func(request *x509.Certificate) {
		request.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}))
	c.tls = object{
		"server_name": "club.test", "ca_certificates": string(c.authority.PEM()), "client_certificate": chain, "client_key": key,
	}
	return c
}

// serveTLS serves each connection with serve, behind TLS.
func (c *club) serveTLS(serve func(net.Conn)) string {
	c.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.Fatal(err)
	}
	return serveOn(c, tls.NewListener(listener, c.secure), serve)
}

func (c *club) https() string {
	c.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			chat(w, r)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	}))
	server.TLS = c.secure.Clone()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	c.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "https://")
}

// configs are one of each type that speaks TLS.
func (c *club) configs() map[vigil.CheckType]object {
	web := c.https()
	greeter := c.serveTLS(func(conn net.Conn) {
		if line, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
			_, _ = io.WriteString(conn, "hello "+line)
		}
	})
	health := serveGRPC(c, healthServer(grpc.Creds(credentials.NewTLS(c.secure.Clone()))))
	quic := probetest.OverQUICWith(c, c.secure, func(http.ResponseWriter, *http.Request) {})
	return map[vigil.CheckType]object{
		vigil.TypeHTTP:       {"url": "https://" + web},
		vigil.TypeHTTPS:      {"url": "https://" + web},
		vigil.TypeHTTP3:      {"url": quic},
		vigil.TypeThroughput: {"url": "https://" + web},
		vigil.TypeWebSocket:  {"url": "wss://" + web + "/echo", "send": "a", "expect": "a"},
		vigil.TypeGRPC:       serverAt(c, health, object{}),
		vigil.TypeTCP:        serverAt(c, greeter, object{"security": "tls", "send": "x\n", "expect": "hello x"}),
		vigil.TypeSSL:        {"host": greeter},
	}
}

// TestTLSMember holds what the member tls does for each type that speaks TLS, alone and as a step.
func TestTLSMember(t *testing.T) {
	t.Parallel()
	c := newClub(t)
	for kind, config := range c.configs() {
		for name, change := range map[string]struct {
			without string
			reasons []string // one of them; none: it succeeds
		}{
			"All":             {},
			"OtherAuthority":  {"ca_certificates", []string{"unknown authority"}},
			"OtherName":       {"server_name", []string{"the certificate is for club.test, not for 127.0.0.1"}},
			"NoClientInvited": {"client", []string{"certificate", "the connection was", "ended the TLS handshake"}},
		} {
			t.Run(string(kind)+name, func(t *testing.T) {
				t.Parallel()
				options := object{}
				for member, value := range c.tls {
					if change.without == "" || !strings.HasPrefix(member, change.without) {
						options[member] = value
					}
				}
				given := object{"tls": options}
				for member, value := range config {
					given[member] = value
				}
				for _, whole := range []struct {
					kind   vigil.CheckType
					config object
				}{
					{kind, given},
					{vigil.TypeMultistep, object{"steps": []object{{"name": "one", "type": string(kind), "config": given}}}},
				} {
					seen := c.run(whole.kind, whole.config)
					found := len(change.reasons) == 0
					for _, reason := range change.reasons {
						found = found || strings.Contains(seen.Error, reason)
					}
					if kind == vigil.TypeSSL && change.without == "client" {
						continue // it describes the certificate all the same
					}
					if seen.Success != (len(change.reasons) == 0) || !found {
						t.Errorf("%s: got %q, want one of %q", whole.kind, seen.Error, change.reasons)
					}
				}
			})
		}
	}
}

// TestTLSMemberStaysHome holds that the name and the certificate of the client are for the host of
// the URL only, not for one that a redirect leads to.
func TestTLSMemberStaysHome(t *testing.T) {
	t.Parallel()
	c := newClub(t)
	shown := make(chan int, 1)
	names := make(chan string, 1)
	stranger := c.authority.Issue(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := serveOn(t, tls.NewListener(other, &tls.Config{
		Certificates: []tls.Certificate{stranger}, ClientAuth: tls.RequestClientCert,
		VerifyConnection: func(state tls.ConnectionState) error {
			shown <- len(state.PeerCertificates)
			names <- state.ServerName
			return nil
		},
	}), func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	home := c.serveTLS(func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(
			conn,
			"HTTP/1.1 302 Found\r\nLocation: https://localhost:"+address[strings.LastIndexByte(address, ':')+1:]+"/\r\nContent-Length: 0\r\n\r\n",
		)
	})
	seen := c.run(vigil.TypeHTTPS, object{"url": "https://" + home, "tls": c.tls})
	if !seen.Success {
		t.Fatal(seen.Error)
	}
	if n, name := <-shown, <-names; n != 0 || name != "localhost" {
		t.Errorf("%d certificates were shown to %q", n, name)
	}
}
