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

	// again writes what a directory has once more, with another life; serials are the numbers of the certificates that are
	// there now, by their files.
	again   map[string][]func(life time.Duration) error
	serials map[string]string
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
	return &authority{
		key: key, cert: cert, tokens: tokens, now: now, life: life,
		again: make(map[string][]func(time.Duration) error), serials: make(map[string]string),
	}, nil
}

// renew writes all certificates and tokens of a directory again. They end after life.
func (a *authority) renew(dir string, life time.Duration) error {
	for _, write := range a.again[dir] {
		if err := write(life); err != nil {
			return err
		}
	}
	return nil
}

// keep writes something to a directory, and does so again whenever that is renewed.
func (a *authority) keep(dir string, write func(life time.Duration) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // certificates are public, the keys have modes of their own
		return err
	}
	a.again[dir] = append(a.again[dir], write)
	return write(a.life - time.Hour)
}

// roots is the certificate of the authority in PEM.
func (a *authority) roots() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})
}

// issue writes dir/file.pem and dir/file.key: a certificate of a name, which is that of a user for Postgres,
// for the names and addresses of a server. It belongs to the account.
func (a *authority) issue(dir, file, name string, owner *osAccount, hosts ...string) error {
	return a.keep(dir, func(life time.Duration) error {
		certificate, private, err := a.sign(filepath.Join(dir, file+".pem"), name, life, hosts)
		if err != nil {
			return err
		}
		for _, each := range []struct {
			name    string
			content []byte
			mode    os.FileMode
		}{
			{"ca.pem", a.roots(), 0o644},
			{file + ".key", private, 0o600},
			{file + ".pem", certificate, 0o644},
			// For haproxy, which has both in one file.
			{file + ".both", append(certificate, private...), 0o600},
		} {
			if err := replace(filepath.Join(dir, each.name), each.content, each.mode, owner); err != nil {
				return err
			}
		}
		return nil
	})
}

// replace writes a file that programs may be reading: they see the old one or the new one.
func replace(path string, content []byte, mode os.FileMode, owner *osAccount) error {
	made := path + ".new"
	if err := os.WriteFile(made, content, mode); err != nil {
		return err
	}
	if err := owner.own(made); err != nil {
		return err
	}
	return os.Rename(made, path)
}

// sign makes a certificate with its key, in PEM, and notes its number as that of the file.
func (a *authority) sign(path, name string, life time.Duration, hosts []string) (certificate, private []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: a.now().Add(-time.Minute), NotAfter: a.now().Add(life),
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
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	a.serials[path] = serial.String()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
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

// issueToken writes dir/token: the token of a client of Temporal.
func (a *authority) issueToken(dir, subject string, permissions ...string) error {
	return a.keep(dir, func(life time.Duration) error {
		token, err := a.token(life, subject, permissions...)
		if err != nil {
			return err
		}
		return replace(filepath.Join(dir, "token"), []byte(token+"\n"), 0o600, nil)
	})
}

// token is a JSON Web Token (RFC 7519) for a client of Temporal. A permission is namespace:role.
func (a *authority) token(life time.Duration, subject string, permissions ...string) (string, error) {
	encode := base64.RawURLEncoding.EncodeToString
	header, err := json.Marshal(map[string]string{"alg": "ES256", "typ": "JWT", "kid": tokenKey})
	if err != nil {
		return "", err
	}
	claims, err := json.Marshal(map[string]any{
		"sub": subject, "permissions": permissions, "iat": a.now().Unix(), "exp": a.now().Add(life).Unix(),
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
