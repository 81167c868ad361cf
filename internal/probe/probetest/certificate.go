// SPDX-License-Identifier: Apache-2.0

package probetest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// Authority signs certificates that live in memory.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	parent      *Authority
}

// Change changes the certificate that is about to be signed.
type Change func(*x509.Certificate)

// Valid limits when the certificate is valid.
func Valid(from, until time.Time) Change {
	return func(c *x509.Certificate) { c.NotBefore, c.NotAfter = from, until }
}

// ForNames makes the certificate one for these names only.
func ForNames(names ...string) Change {
	return func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = names, nil }
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(90*24*time.Hour + time.Hour),
	}
}

// NewAuthority makes a root, or an intermediate of parent.
func NewAuthority(tb testing.TB, parent *Authority, changes ...Change) *Authority {
	tb.Helper()
	request := template("Test authority")
	request.IsCA, request.BasicConstraintsValid, request.KeyUsage = true, true, x509.KeyUsageCertSign
	for _, change := range changes {
		change(request)
	}
	a := &Authority{parent: parent, key: newKey(tb)}
	a.certificate = sign(tb, request, a.key, parent)
	return a
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// sign makes the certificate of a key; without a parent it signs itself.
func sign(tb testing.TB, request *x509.Certificate, key crypto.Signer, parent *Authority) *x509.Certificate {
	tb.Helper()
	issuer, issuerKey := request, key
	if parent != nil {
		issuer, issuerKey = parent.certificate, parent.key
	}
	der, err := x509.CreateCertificate(rand.Reader, request, issuer, key.Public(), issuerKey)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}

// Certificate is the authority's own.
func (a *Authority) Certificate() *x509.Certificate { return a.certificate }

// DER is the authority's own certificate as a server sends it.
func (a *Authority) DER() []byte { return a.certificate.Raw }

// Key is what the authority signs with.
func (a *Authority) Key() crypto.Signer { return a.key }

// Issue makes a server's certificate, for 127.0.0.1 and localhost and for 90 days
// unless the changes say otherwise, with the intermediates it needs.
func (a *Authority) Issue(tb testing.TB, changes ...Change) tls.Certificate {
	tb.Helper()
	return a.IssueFor(tb, newKey(tb), changes...)
}

// IssueFor is Issue for a key that the server has.
func (a *Authority) IssueFor(tb testing.TB, key crypto.Signer, changes ...Change) tls.Certificate {
	tb.Helper()
	request := template("server")
	request.DNSNames, request.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	request.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, change := range changes {
		change(request)
	}
	certificate := sign(tb, request, key, a)
	chain := tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate}
	for up := a; up != nil && up.parent != nil; up = up.parent {
		chain.Certificate = append(chain.Certificate, up.certificate.Raw)
	}
	return chain
}

// Pool is what a client that trusts the authority has.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// PEM is what a program reads from its file of authorities to trust this one.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// Expired ended a day ago.
func Expired() Change {
	return Valid(time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour))
}

// NotYet begins in a day.
func NotYet() Change {
	return Valid(time.Now().Add(24*time.Hour), time.Now().Add(48*time.Hour))
}

// SelfSigned makes a certificate for localhost that no authority signed.
func SelfSigned(tb testing.TB) tls.Certificate {
	tb.Helper()
	request := template("127.0.0.1")
	request.DNSNames = []string{"localhost"}
	key := newKey(tb)
	certificate := sign(tb, request, key, nil)
	return tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}
}
