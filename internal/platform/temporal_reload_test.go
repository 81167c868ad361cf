// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// frontend is a server of Temporal's protocol that notes who calls it, and can break the connections that it has.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer

	listener net.Listener
	address  string

	mu            sync.Mutex
	certificate   tls.Certificate
	clients       *x509.CertPool
	open          []net.Conn
	serial, token string // of the last call
}

// GetSystemInfo notes the caller.
func (f *frontend) GetSystemInfo(
	ctx context.Context, _ *workflowservice.GetSystemInfoRequest,
) (*workflowservice.GetSystemInfoResponse, error) {
	from, _ := peer.FromContext(ctx)
	given, _ := metadata.FromIncomingContext(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serial = from.AuthInfo.(credentials.TLSInfo).State.PeerCertificates[0].SerialNumber.String()
	f.token = strings.Join(given.Get("authorization"), " ")
	return &workflowservice.GetSystemInfoResponse{}, nil
}

// Accept notes a connection.
func (f *frontend) Accept() (net.Conn, error) {
	conn, err := f.listener.Accept()
	if err == nil {
		f.mu.Lock()
		f.open = append(f.open, conn)
		f.mu.Unlock()
	}
	return conn, err
}

// Close stops listening.
func (f *frontend) Close() error { return f.listener.Close() }

// Addr is where the server listens.
func (f *frontend) Addr() net.Addr { return f.listener.Addr() }

// interrupt breaks all connections.
func (f *frontend) interrupt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, conn := range f.open {
		_ = conn.Close()
	}
	f.open = nil
}

// certify gives the server a certificate of an authority, of which it takes clients.
func (f *frontend) certify(t *testing.T, authority *probetest.Authority) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.certificate, f.clients = authority.Issue(t), authority.Pool()
}

func newFrontend(t *testing.T, authority *probetest.Authority) *frontend {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &frontend{listener: listener, address: listener.Addr().String()}
	f.certify(t, authority)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			return &tls.Config{
				MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{f.certificate}, ClientCAs: f.clients,
				ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"},
			}, nil
		},
	})))
	workflowservice.RegisterWorkflowServiceServer(server, f)
	go func() { _ = server.Serve(f) }()
	t.Cleanup(server.Stop)
	return f
}

// issueClient writes a client's certificate that ends at an instant, with its key, and returns its serial number.
func issueClient(t *testing.T, f storagetest.ClientFiles, authority *probetest.Authority, ends time.Time) string {
	t.Helper()
	pair := authority.Issue(t, probetest.Valid(time.Now().Add(-time.Hour), ends), func(c *x509.Certificate) {
		c.Subject.CommonName, c.ExtKeyUsage = "vigil-api", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	})
	serial := f.Certify(t, pair)
	f.Write(t, "ca.pem", authority.PEM())
	return serial
}

// TestTemporalCredentialsAreExchanged holds that a new connection to Temporal shows and trusts what is in the files then, and a call
// shows the token that is in its file. The files are named by variables, or by a profile of Temporal's own tools.
func TestTemporalCredentialsAreExchanged(t *testing.T) { //nolint:paralleltest // it sets variables
	for name, by := range map[string]func(*testing.T, storagetest.ClientFiles, *platform.Settings){ //nolint:paralleltest // they set variables
		"Variables": func(t *testing.T, f storagetest.ClientFiles, s *platform.Settings) {
			t.Helper()
			t.Setenv("TEMPORAL_CONFIG_FILE", f.Path("none.toml"))
			t.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", f.Path("ca.pem"))
			t.Setenv("TEMPORAL_TLS_CLIENT_CERT_PATH", f.Path("client.pem"))
			t.Setenv("TEMPORAL_TLS_CLIENT_KEY_PATH", f.Path("client.key"))
			s.TemporalTokenFile = f.Path("token")
		},
		"Profile": func(t *testing.T, f storagetest.ClientFiles, s *platform.Settings) {
			t.Helper()
			f.Write(t, "temporal.toml", fmt.Appendf(nil, "[profile.default.tls]\nserver_ca_cert_path = %q\nclient_cert_path = %q\n"+
				"client_key_path = %q\n", f.Path("ca.pem"), f.Path("client.pem"), f.Path("client.key")))
			t.Setenv("TEMPORAL_CONFIG_FILE", f.Path("temporal.toml"))
			s.TemporalTokenFile = f.Path("token")
		},
	} {
		t.Run(name, func(t *testing.T) { exchangeTemporalCredentials(t, by) })
	}
}

func exchangeTemporalCredentials(t *testing.T, by func(*testing.T, storagetest.ClientFiles, *platform.Settings)) {
	t.Helper()
	authority, f := probetest.NewAuthority(t, nil), storagetest.ClientFiles{Dir: t.TempDir()}
	server := newFrontend(t, authority)
	serial := issueClient(t, f, authority, time.Now().Add(time.Hour))
	f.Write(t, "token", []byte("first\n"))
	settings := platform.Settings{TemporalAddress: server.address, TemporalNamespace: "vigil", DataDir: f.Dir}
	by(t, f, &settings)
	var said lockedBuffer
	process := platform.NewProcess(slog.New(slog.NewTextHandler(&said, nil)), platform.Program{})
	defer process.Stop(t.Context())
	temporal, err := process.DialTemporal(settings, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	call := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := temporal.Client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
		return err
	}
	shows := func(serial, token string) {
		t.Helper()
		var failed error
		defer func() {
			if t.Failed() {
				t.Logf("it shows %s and %q, want %s; %v", server.serial, server.token, serial, failed)
			}
		}()
		timingtest.Eventually(t, 30*time.Second, "a call shows what is in the files", func() bool {
			if failed = call(); failed != nil {
				return false
			}
			server.mu.Lock()
			defer server.mu.Unlock()
			return server.serial == serial && server.token == "Bearer "+token
		})
	}
	shows(serial, "first")

	// A token that is exchanged is used on the connection that is open, and a file without one is not.
	f.Write(t, "token", []byte("second\n"))
	shows(serial, "second")
	f.Write(t, "token", nil)
	timingtest.Eventually(t, 30*time.Second, "a warning says that there is no token", func() bool {
		return call() == nil && said.count(`files="the token for Temporal"`) == 1
	})
	shows(serial, "second")

	// A certificate that has ended is refused, and what is put in its place is taken.
	issueClient(t, f, authority, time.Now().Add(2*time.Second))
	timingtest.Eventually(t, 30*time.Second, "a certificate that has ended is refused, and the error says so", func() bool {
		server.interrupt()
		err := call()
		return err != nil && strings.Contains(err.Error(), "expired certificate")
	})
	serial = issueClient(t, f, authority, time.Now().Add(time.Hour))
	shows(serial, "second")

	// Half of an exchange changes nothing.
	f.Write(t, "client.key", []byte("-----BEGIN PRIVATE KEY-----\nMIGHAg"))
	server.interrupt()
	shows(serial, "second")
	if n := said.count(`files="the certificates for Temporal"`); n != 1 {
		t.Errorf("%d warnings of one exchange, want one", n)
	}

	// Another authority, of the server and of its clients.
	other := probetest.NewAuthority(t, nil)
	server.certify(t, other)
	serial = issueClient(t, f, other, time.Now().Add(time.Hour))
	server.interrupt()
	shows(serial, "second")
}

// TestTemporalToken holds which files have a token.
func TestTemporalToken(t *testing.T) {
	f := storagetest.ClientFiles{Dir: t.TempDir()}
	t.Setenv("TEMPORAL_CONFIG_FILE", f.Path("none.toml"))
	for content, want := range map[string]string{
		"a.b.c\n": "a.b.c", "  a.b.c": "a.b.c", "": "which has no token", "a\nb": "which has no token",
	} {
		f.Write(t, "token", []byte(content))
		got, err := platform.TemporalToken(&platform.Settings{TemporalTokenFile: f.Path("token")})
		if got != want && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q is %q, %v; want %s", content, got, err, want)
		}
	}
	_, err := platform.TemporalToken(&platform.Settings{TemporalTokenFile: f.Path("nowhere")})
	if err == nil || !strings.Contains(err.Error(), "VIGIL_TEMPORAL_API_KEY_FILE cannot be read") {
		t.Errorf("%v of no file", err)
	}
	t.Setenv("TEMPORAL_API_KEY", "another")
	if got, err := platform.TemporalToken(&platform.Settings{}); got != "another" || err != nil {
		t.Errorf("%q, %v of a variable", got, err)
	}
	f.Write(t, "token", []byte("one"))
	_, err = platform.TemporalToken(&platform.Settings{TemporalTokenFile: f.Path("token")})
	if err == nil || !strings.Contains(err.Error(), "either by a file") {
		t.Errorf("%v of two tokens", err)
	}
}

// lockedBuffer keeps what is logged.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write keeps a line.
func (b *lockedBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(line)
}

func (b *lockedBuffer) count(words string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), words)
}
