// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGatusRoutesAndCredentials pins that a check has the credentials and the way to its target
// that Gatus has, or does not run.
func TestGatusRoutesAndCredentials(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		client, path, want string
		disabled           bool
		lost               string
	}{
		"MutualTLS": {
			client: "tls: {certificate-file: /etc/tls.crt, private-key-file: /etc/tls.key}", path: "tls",
			want: `{"client_certificate":"$HOME_CLIENT_CERTIFICATE","client_key":"$HOME_CLIENT_KEY"}`,
			lost: `client.tls.private-key-file: /etc/tls.key | put the text of the file into the variable HOME\_CLIENT\_KEY`,
		},
		"HalfTLS": {client: "tls: {certificate-file: /etc/tls.crt}", path: "tls", want: "null", disabled: true, lost: "client.tls | a client"},
		"OAuth2": {
			client: "oauth2: {token-url: 'https://id.example/token', client-id: a, client-secret: b, scopes: [c]}", path: "oauth2",
			want: `{"client_id":"a","client_secret":"$CHECK_HOME_CLIENT_SECRET","scopes":["c"],"token_url":"https://id.example/token"}`,
		},
		"HalfOAuth2": {client: "oauth2: {client-id: a}", path: "oauth2", want: "null", disabled: true, lost: "it has no token-url"},
		"Proxy":      {client: "proxy-url: 'http://proxy.example:3128'", path: "proxy", want: `"http://proxy.example:3128"`},
		"SOCKS": {
			client: "proxy-url: 'socks5://proxy.example:1080'", path: "proxy", want: "null", disabled: true, lost: "client.proxy-url",
		},
		"IAP": {
			client: "identity-aware-proxy: {audience: a}", path: "proxy", want: "null", disabled: true, lost: "client.identity-aware-proxy",
		},
		"Tunnel": {client: "tunnel: bastion", path: "proxy", want: "null", disabled: true, lost: "client.tunnel"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gatusText(t, "endpoints: [{name: home, url: 'https://shop.example/', conditions: ['[STATUS] == 200'], client: {"+tt.client+"}}]")
			if config := at(t, got.document, "checks", "home", "config", tt.path); config != tt.want {
				t.Errorf("%s is %s, not %s", tt.path, config, tt.want)
			}
			if enabled := at(t, got.document, "checks", "home", "enabled"); (enabled == "false") != tt.disabled {
				t.Errorf("enabled is %s\n%s", enabled, files(t, got.dir))
			}
			if !strings.Contains(got.report, tt.lost) || (tt.lost == "") == got.result.Lossy() {
				t.Errorf("the report lacks %q\n%s", tt.lost, got.report)
			}
		})
	}
}

// TestGatusAnchors pins that members which only hold anchors are no loss.
func TestGatusAnchors(t *testing.T) {
	t.Parallel()
	got := gatusText(t, "x-standard: &standard {conditions: ['[STATUS] == 200']}\n"+
		"endpoints: [{<<: *standard, name: home, url: 'https://shop.example/'}]")
	if got.result.Lossy() {
		t.Error(got.report)
	}
}

// TestKumaMutualTLS pins that a client certificate is carried over, and its key is in .env only.
func TestKumaMutualTLS(t *testing.T) {
	t.Parallel()
	certificate, key := clientPEM(t)
	monitor := map[string]any{
		"id": 1, "name": "it", "type": "http", "url": "https://a.example/", "authMethod": "mtls",
		"tlsCert": certificate, "tlsKey": key, "tlsCa": certificate,
	}
	path := filepath.Join(t.TempDir(), "backup.json")
	if err := os.WriteFile(path, []byte(asJSON(t, map[string]any{"monitorList": []any{monitor}})), 0o600); err != nil {
		t.Fatal(err)
	}
	got := kuma(t, path)
	if text := at(t, got.document, "checks", "it", "config", "tls", "client_key"); text != `"$CHECK_IT_CLIENT_KEY"` {
		t.Errorf("client_key is %s\n%s", text, got.report)
	}
	for _, member := range []string{"client_certificate", "ca_certificates"} {
		if text := at(t, got.document, "checks", "it", "config", "tls", member); text != asJSON(t, certificate) {
			t.Errorf("%s is %s", member, text)
		}
	}
	if strings.Contains(files(t, got.dir)+got.report, "PRIVATE KEY") || !strings.Contains(read(t, got.dir, ".env"), key) {
		t.Error("the key is not in .env alone")
	}
}

// TestKumaAddressesInReports pins that an address which is not carried over is named without the
// credentials in it.
func TestKumaAddressesInReports(t *testing.T) {
	t.Parallel()
	for _, columns := range []map[string]any{
		{"type": "http", "url": "ftp://ada:s3cret@shop.example/"},
		{"type": "http", "url": "https://ada:s3cret@shop.example:99999/?key=s3cret"},
		{"type": "http", "url": "https://ada:s3cret@bad host/"},
		{"type": "keyword", "url": "ada:s3cret@shop.example"},
		{"type": "websocket-upgrade", "url": "wss://ada:s3cret@shop.example/"},
		{"type": "port", "hostname": "https://ada:s3cret@shop.example", "port": 443},
		{"type": "ping", "hostname": "ada:s3cret@shop.example?s3cret"},
	} {
		got := monitor(t, columns)
		if text := got.report + asJSON(t, got.result.Summary()); strings.Contains(text, "s3cret") || len(got.result.Missing) != 1 {
			t.Errorf("%s is reported as\n%s", columns["url"], text)
		}
	}
}

// clientPEM returns a certificate and its key.
func clientPEM(tb testing.TB) (certificate, key string) {
	tb.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		tb.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}
