// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority signs the certificates of a cluster and the tokens of Temporal's clients. Its own keys are
// only in memory.
type authority struct {
	key    *ecdsa.PrivateKey
	cert   *x509.Certificate
	tokens *ecdsa.PrivateKey
	now    func() time.Time
	life   time.Duration // of certificates and tokens
}

// tokenKey is the name of the key that signs tokens.
const tokenKey = "vigil-1"

// shortLife is for a cluster that a process runs.
const shortLife = 30 * 24 * time.Hour

func newAuthority(now func() time.Time, life time.Duration) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tokens, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Vigil cluster"},
		NotBefore: now().Add(-time.Minute), NotAfter: now().Add(life),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{key: key, cert: cert, tokens: tokens, now: now, life: life}, nil
}

// roots is the certificate of the authority in PEM.
func (a *authority) roots() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue writes dir/file.pem and dir/file.key: a certificate of a name, which is that of a user for Postgres,
// for the names and addresses of a server. It belongs to the account.
func (a *authority) issue(dir, file, name string, owner *osAccount, hosts ...string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: a.now().Add(-time.Minute), NotAfter: a.now().Add(a.life - time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // certificates are public, the keys have modes of their own
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for _, each := range []struct {
		path    string
		content []byte
		mode    os.FileMode
	}{
		{filepath.Join(dir, "ca.pem"), a.roots(), 0o644},
		{filepath.Join(dir, file+".pem"), certificate, 0o644},
		{filepath.Join(dir, file+".key"), private, 0o600},
		// For haproxy, which has both in one file.
		{filepath.Join(dir, file+".both"), append(certificate, private...), 0o600},
	} {
		if err := os.WriteFile(each.path, each.content, each.mode); err != nil {
			return err
		}
		if err := owner.own(each.path); err != nil {
			return err
		}
	}
	return nil
}

// keySet is the public key of the tokens as a JSON Web Key Set (RFC 7517).
func (a *authority) keySet() ([]byte, error) {
	point, err := a.tokens.PublicKey.Bytes() // 4, then x and y of 32 bytes each
	if err != nil {
		return nil, err
	}
	type key struct {
		Kty string `json:"kty"`
		Crv string `json:"crv"`
		Use string `json:"use"`
		Alg string `json:"alg"`
		Kid string `json:"kid"`
		X   string `json:"x"`
		Y   string `json:"y"`
	}
	encode := base64.RawURLEncoding.EncodeToString
	return json.Marshal(map[string][]key{"keys": {{"EC", "P-256", "sig", "ES256", tokenKey, encode(point[1:33]), encode(point[33:])}}})
}

// token is a JSON Web Token (RFC 7519) for a client of Temporal. A permission is namespace:role.
func (a *authority) token(subject string, permissions ...string) (string, error) {
	encode := base64.RawURLEncoding.EncodeToString
	header, err := json.Marshal(map[string]string{"alg": "ES256", "typ": "JWT", "kid": tokenKey})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"sub": subject, "permissions": permissions, "iat": a.now().Unix(), "exp": a.now().Add(a.life).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed := encode(header) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, a.tokens, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + encode(signature), nil
}
