// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// until limits a certificate to so many days.
func until(days int) probetest.Change {
	return probetest.Valid(time.Now().Add(-24*time.Hour), time.Now().Add(time.Duration(days)*24*time.Hour+time.Hour))
}

func TestWholeChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	issued := func(intermediate int, leaf ...probetest.Change) tls.Certificate {
		return probetest.NewAuthority(t, w.authority, until(intermediate)).Issue(t, leaf...)
	}
	incomplete := issued(60)
	incomplete.Certificate = incomplete.Certificate[:1]
	stranger := probetest.NewAuthority(t, nil)
	withRoot := stranger.Issue(t)
	withRoot.Certificate = append(withRoot.Certificate, stranger.DER())
	unrelated := incomplete
	unrelated.Certificate = append([][]byte{incomplete.Certificate[0]}, stranger.DER())
	byName := func(c *x509.Certificate) { c.DNSNames, c.IPAddresses, c.Subject.CommonName = nil, nil, "127.0.0.1" }
	address := func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = []string{"127.0.0.1"}, nil }
	client := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }
	for name, c := range map[string]struct {
		certificate tls.Certificate
		days        float64
		problem     string
		reason      string
	}{
		"Fine":                {issued(30, until(60)), 30, "", ""},
		"LeafEndsFirst":       {issued(60, until(30)), 30, "", ""},
		"IntermediateEnds":    {issued(3, until(60)), 3, "", "the intermediate certificate CN=Test authority expires in 3 days, on "},
		"IntermediateExpired": {issued(-1, until(60)), -1, "intermediate_expired", "the intermediate certificate CN=Test authority expired on "},
		"LeafExpired":         {issued(60, until(-1)), -1, "expired", "the certificate expired on "},
		"Incomplete":          {incomplete, 90, "unknown_authority", "an intermediate certificate is missing"},
		"Unrelated":           {unrelated, 90, "missing_intermediate", "an intermediate certificate is missing"},
		"UnknownRoot":         {withRoot, 90, "unknown_authority", "the certificate is signed by an unknown authority, CN=Test authority"},
		"CommonNameOnly":      {issued(60, byName, until(30)), 30, "hostname_mismatch", "is for 127.0.0.1 by its common name only"},
		"AddressAsName":       {issued(60, address, until(30)), 30, "hostname_mismatch", "holds the address 127.0.0.1 as a DNS name"},
		"ForClients":          {issued(60, client, until(30)), 30, "invalid", "is not for servers"},
		"NegativeSerial":      {negativeSerial(t, w.authority), 30, "", ""},
		"WeakSignature":       {weaklySigned(t, w.authority), 89, "weak_signature", "has a weak signature, SHA1-RSA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "WeakSignature" && len(c.certificate.Certificate) == 0 {
				t.Skip("this library does not sign with SHA-1 any more")
			}
			at := secure(t, c.certificate)
			seen := w.run(vigil.TypeSSL, object{"host": at, "alert_days_before": 14})
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) || seen.Metadata["days_remaining"] != c.days {
				t.Errorf("ssl: %q, %v", seen.Error, seen.Metadata)
			}
			if problem, _ := seen.Metadata["problem"].(string); problem != c.problem {
				t.Errorf("ssl: problem %q, want %q", problem, c.problem)
			}
			lenient := w.run(vigil.TypeSSL, object{"host": at, "verify_tls": false})
			if !lenient.Success || lenient.Metadata["days_remaining"] != c.days {
				t.Errorf("ssl without verification: %q, %v", lenient.Error, lenient.Metadata)
			}
			page := object{"url": "https://" + at, "expected_status_code": 404, "assertions": []object{
				{"source": "cert_days", "operator": "gt", "target": 14},
			}}
			seen = w.run(vigil.TypeHTTPS, page)
			if c.problem != "" && !strings.Contains(seen.Error, c.reason) || seen.Success != (c.reason == "") {
				t.Errorf("https: %q", seen.Error)
			}
			if c.problem == "" && seen.Metadata["cert_days_remaining"] != c.days {
				t.Errorf("https: %v", seen.Metadata)
			}
			// As for websocket and grpc, which tell their days by the same function.
			seen = w.run(vigil.TypeTCP, serverAt(t, at, object{"security": "tls"}))
			if seen.Success != (c.problem == "") || c.problem == "" && seen.Metadata["cert_days_remaining"] != c.days {
				t.Errorf("tcp: %q, %v", seen.Error, seen.Metadata)
			}
		})
	}
}

// negativeSerial makes a certificate that this library does not make: it changes the sign of the serial number
// and signs again.
func negativeSerial(t *testing.T, root *probetest.Authority) tls.Certificate {
	t.Helper()
	issued := root.Issue(t, until(30), func(c *x509.Certificate) { c.SerialNumber = big.NewInt(0x2a) })
	var parts struct {
		Signed    asn1.RawValue
		Algorithm asn1.RawValue
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(issued.Certificate[0], &parts); err != nil {
		t.Fatal(err)
	}
	parts.Signed.FullBytes = bytes.Replace(parts.Signed.FullBytes, []byte{2, 1, 0x2a}, []byte{2, 1, 0xaa}, 1)
	digest := sha256.Sum256(parts.Signed.FullBytes)
	signature, err := root.Key().Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	parts.Signature = asn1.BitString{Bytes: signature, BitLength: 8 * len(signature)}
	if issued.Certificate[0], err = asn1.Marshal(parts); err != nil {
		t.Fatal(err)
	}
	issued.Leaf = nil
	return issued
}

// weaklySigned makes a certificate that an authority signed with SHA-1; empty where that is not possible.
func weaklySigned(t *testing.T, root *probetest.Authority) tls.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	parent := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Old authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "old server"}, SignatureAlgorithm: x509.SHA1WithRSA,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(89*24*time.Hour + time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	upper, err := x509.CreateCertificate(rand.Reader, parent, root.Certificate(), &key.PublicKey, root.Key())
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, parent, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}
	}
	return tls.Certificate{Certificate: [][]byte{der, upper}, PrivateKey: key}
}

// TestEveryHop: the certificate of a host that redirects counts, too.
func TestEveryHop(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := w.http(site)
	last := w.https(w.authority.Issue(t), site)
	first := w.https(w.authority.Issue(t, until(5)), func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	})
	to := func(target string) string { return first + "/?to=" + url.QueryEscape(target) }
	seen := w.run(vigil.TypeHTTPS, object{"url": to(last + "/ok"), "assertions": []object{
		{"source": "cert_days", "operator": "gt", "target": 14},
	}})
	named := strings.Contains(seen.Error, "the certificate CN=server of 127.0.0.1:")
	if seen.Success || seen.Metadata["cert_days_remaining"] != 5.0 || !named {
		t.Errorf("the host that redirects: %q, %v", seen.Error, seen.Metadata)
	}
	for name, c := range map[string]struct {
		kind   vigil.CheckType
		config object
		reason string
	}{
		"EndsOnHTTP": {vigil.TypeHTTPS, object{"url": to(plain + "/ok")}, "the redirects end on plain HTTP, at 127.0.0.1:"},
		"Permitted":  {vigil.TypeHTTPS, object{"url": to(plain + "/ok"), "allow_http_redirect": true}, ""},
		"PlainHTTP":  {vigil.TypeHTTP, object{"url": to(plain + "/ok")}, ""},
		"BackAgain":  {vigil.TypeHTTPS, object{"url": to(last + "/moved")}, ""},
		"NotFollowed": {
			vigil.TypeHTTPS, object{"url": to(plain + "/ok"), "follow_redirects": false, "expected_status_code": 302}, "",
		},
	} {
		if seen := w.run(c.kind, c.config); seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
			t.Errorf("%s: %q, want %q", name, seen.Error, c.reason)
		}
	}
	_, err := w.Parse(vigil.TypeHTTP, encode(t, object{"url": plain, "allow_http_redirect": true}), minute)
	rejected(t, err, "config.allow_http_redirect")
}

// TestCertificateOfAFailedHandshake: the certificate is described where the handshake fails after it.
func TestCertificateOfAFailedHandshake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	suite := func(id uint16, version uint16) func(*tls.Config) {
		return func(c *tls.Config) {
			c.MinVersion, c.MaxVersion, c.CipherSuites = tls.VersionTLS10, version, []uint16{id}
		}
	}
	demanding := func(version uint16) func(*tls.Config) {
		return func(c *tls.Config) { c.MaxVersion, c.ClientAuth = version, tls.RequireAndVerifyClientCert }
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rsaServer := w.authority.IssueFor(t, key, until(30))
	for name, c := range map[string]struct {
		limit  func(*tls.Config)
		wants  bool
		config object
	}{
		"TripleDES":           {suite(tls.TLS_RSA_WITH_3DES_EDE_CBC_SHA, tls.VersionTLS12), false, object{}},
		"RC4":                 {suite(tls.TLS_RSA_WITH_RC4_128_SHA, tls.VersionTLS10), false, object{}},
		"KeyExchangeOfRSA":    {suite(tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.VersionTLS12), false, object{}},
		"ClientCertificate":   {demanding(tls.VersionTLS12), true, object{}},
		"ClientCertificate13": {demanding(tls.VersionTLS13), true, object{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeSSL, object{"host": secure(t, rsaServer, c.limit), "alert_days_before": 14})
			if !seen.Success || seen.Metadata["days_remaining"] != 30.0 || (seen.Metadata["wants_client_certificate"] == true) != c.wants {
				t.Errorf("%q, %v", seen.Error, seen.Metadata)
			}
			failing := w.run(vigil.TypeSSL, object{"host": secure(t, rsaServer, c.limit), "alert_days_before": 60})
			if failing.Success || !strings.Contains(failing.Error, "expires in 30 days") {
				t.Errorf("%q", failing.Error)
			}
		})
	}
}
