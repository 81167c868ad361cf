// SPDX-License-Identifier: Apache-2.0

package agentcmd

import (
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestAuthoritiesAreExchanged holds that a request trusts the authorities that are in the file then, and goes on with those of before
// while the file has none.
func TestAuthoritiesAreExchanged(t *testing.T) {
	t.Parallel()
	var certificate atomic.Pointer[tls.Certificate]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.TLS = &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*certificate.Load()}}, nil
		},
	}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	signed := func(by *probetest.Authority) {
		pair := by.Issue(t)
		certificate.Store(&pair)
		server.CloseClientConnections()
	}
	path := filepath.Join(t.TempDir(), "ca.pem")
	write := func(content []byte) {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first, second := probetest.NewAuthority(t, nil), probetest.NewAuthority(t, nil)
	signed(first)
	server.StartTLS()
	t.Cleanup(server.Close)
	write(first.PEM())
	var s Settings
	if err := s.CAFile.UnmarshalText([]byte(path)); err != nil {
		t.Fatal(err)
	}
	client, err := s.client(slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what, wrong string
		do          func()
	}{
		{"the first authority", "", func() {}},
		{"half a file", "", func() { write([]byte("-----BEGIN CERT")) }},
		{"a server of another authority", "unknown authority", func() { signed(second) }},
		{"that one in the file", "", func() { write(second.PEM()) }},
		{"both in the file", "", func() { write(append(first.PEM(), second.PEM()...)) }},
	} {
		step.do()
		response, err := client.Get(server.URL) //nolint:noctx // a server of the test
		if err == nil {
			_ = response.Body.Close()
		}
		if (err == nil) != (step.wrong == "") || err != nil && !strings.Contains(err.Error(), step.wrong) {
			t.Errorf("%s: %v", step.what, err)
		}
	}
}
