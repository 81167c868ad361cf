// SPDX-License-Identifier: Apache-2.0

package agentcmd

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"

	"github.com/vigil-monitor/vigil/internal/reload"
)

// caFile is a file with certificates of authorities.
type caFile struct {
	path, text string
	roots      *x509.CertPool
}

// UnmarshalText reads the file.
func (f *caFile) UnmarshalText(path []byte) error {
	text, err := os.ReadFile(string(path))
	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}
	*f = caFile{path: string(path), text: string(text), roots: x509.NewCertPool()}
	if !f.roots.AppendCertsFromPEM(text) {
		return fmt.Errorf("is %q, which has no certificate in PEM", path)
	}
	return nil
}

// trusting is a transport that trusts the authorities that a file has now. Connections to a platform of others end once they are idle.
type trusting struct {
	settings *Settings
	file     *reload.Value[caFile]

	mu        sync.Mutex
	text      string // of the file, for which transport is
	transport *http.Transport
}

// trusted returns a transport to the platform.
func (s *Settings) trusted(log *slog.Logger) (http.RoundTripper, error) {
	if s.CAFile.path == "" {
		return s.transport(nil), nil
	}
	file, err := reload.New("the file of VIGIL_AGENT_CA_FILE (--ca-file)", log, func() (now caFile, err error) {
		err = now.UnmarshalText([]byte(s.CAFile.path))
		return now, err
	})
	if err != nil {
		return nil, err
	}
	return &trusting{settings: s, file: file, text: s.CAFile.text, transport: s.transport(s.CAFile.roots)}, nil
}

// RoundTrip makes a request.
func (t *trusting) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.now(request.Context()).RoundTrip(request)
}

func (t *trusting) now(ctx context.Context) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if file := t.file.Get(ctx); file.text != t.text {
		t.transport.CloseIdleConnections()
		t.text, t.transport = file.text, t.settings.transport(file.roots)
	}
	return t.transport
}
