// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"strconv"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// identity is a client's certificate with its key, in PEM.
func identity(tb testing.TB, certificate tls.Certificate) (chain, key string) {
	tb.Helper()
	var text strings.Builder
	for _, der := range certificate.Certificate {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	private, ok := certificate.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		tb.Fatalf("a key of the type %T", certificate.PrivateKey)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return text.String(), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// TestTLSConfig holds that each mistake in the member tls is named.
func TestTLSConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chain, key := identity(t, w.authority.Issue(t))
	_, other := identity(t, w.authority.Issue(t))
	for _, c := range []struct {
		member, part string
		tls          object
	}{
		{"config.tls.server_name", "not a URL", object{"server_name": "https://a.example"}},
		{"config.tls.server_name", "without a port", object{"server_name": "a.example:443"}},
		{"config.tls.ca_certificates", "at least one certificate in PEM", object{"ca_certificates": "none"}},
		{"config.tls.ca_certificates", "certificates only", object{"ca_certificates": key}},
		{"config.tls.ca_certificates", "certificate 2 cannot be read", object{
			"ca_certificates": chain + "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		}},
		{"config.tls.client_key", "is required", object{"client_certificate": chain}},
		{"config.tls.client_certificate", "is required", object{"client_key": key}},
		{"config.tls.client_key", "must be the private key of client_certificate", object{"client_certificate": chain, "client_key": other}},
		{"config.tls.client_key", "must be the private key of client_certificate", object{"client_certificate": chain, "client_key": "s3cr3t"}},
		{
			"config.tls.client_key", "passphrase",
			object{"client_certificate": chain, "client_key": strings.ReplaceAll(key, "PRIVATE", "ENCRYPTED PRIVATE")},
		},
		{"config.tls.passphrase", "is not a member here", object{"passphrase": "x"}},
	} {
		for kind, config := range speakTLS("a.example", 443) {
			config["tls"] = c.tls
			_, err := w.Parse(kind, encode(t, config), minute)
			rejected(t, err, c.member)
			if text := vigil.ErrorMessage(err); !strings.Contains(text, c.part) || strings.Contains(text, "s3cr3t") {
				t.Errorf("%s: %s", kind, text)
			}
		}
	}
}

// speakTLS are configs of the types that have the member tls.
func speakTLS(host string, port int) map[vigil.CheckType]object {
	url := "https://" + host + ":" + strconv.Itoa(port)
	return map[vigil.CheckType]object{
		vigil.TypeHTTP: {"url": url}, vigil.TypeHTTPS: {"url": url}, vigil.TypeHTTP3: {"url": url}, vigil.TypeThroughput: {"url": url},
		vigil.TypeGRPC: {"host": host, "port": port}, vigil.TypeSSL: {"host": host, "port": port},
		vigil.TypeTCP:       {"host": host, "port": port, "security": "tls"},
		vigil.TypeWebSocket: {"url": "wss://" + host + ":" + strconv.Itoa(port)},
	}
}
