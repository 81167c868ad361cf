// SPDX-License-Identifier: Apache-2.0

package reload_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/reload"
)

// TestLost names what a TLS configuration has not any more.
func TestLost(t *testing.T) {
	t.Parallel()
	full := func() *tls.Config {
		return &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool(), Certificates: []tls.Certificate{{}},
			VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error { return nil },
		}
	}
	for want, change := range map[string]func(*tls.Config) *tls.Config{
		"":                                func(c *tls.Config) *tls.Config { return c },
		"no TLS":                          func(*tls.Config) *tls.Config { return nil },
		"the verification of the server":  func(c *tls.Config) *tls.Config { c.InsecureSkipVerify = true; return c },
		"not the verification":            func(c *tls.Config) *tls.Config { c.VerifyPeerCertificate = nil; return c },
		"the certificates of authorities": func(c *tls.Config) *tls.Config { c.RootCAs = nil; return c },
		"the certificate of the client":   func(c *tls.Config) *tls.Config { c.Certificates = nil; return c },
	} {
		err := reload.Lost(full(), change(full()))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := reload.Lost(nil, nil); err != nil {
		t.Errorf("%v where there was none", err)
	}
	if err := reload.Lost(&tls.Config{InsecureSkipVerify: true}, full()); err != nil {
		t.Errorf("%v where there is more", err)
	}
}
