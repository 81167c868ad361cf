// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// Credentials prove the embedded Temporal server and its clients to each other: both have a
// certificate of one authority, whose key is thrown away once it has signed the two. So only
// who can read the data directory can call the server.
type Credentials struct {
	dir            string
	server, client tls.Certificate
	roots          *x509.CertPool
	pem            map[string]string // the files in base64, as the UI's configuration has them
}

// Files of the credentials, in a directory of the data directory that only its owner reads.
// The names are those that the documentation of the command line shows.
const (
	credentialsDir = "temporal-tls"
	rootsFile      = "ca.pem"
	serverFile     = "server.pem"
	serverKeyFile  = "server.key"
	clientFile     = "client.pem"
	clientKeyFile  = "client.key"
	// profileFile is a configuration of Temporal's own tools (TEMPORAL_CONFIG_FILE).
	profileFile = "temporal.toml"
)

// credentialsName is the name in the server's certificate. Clients expect it at any address,
// so that the certificate does not depend on where the server listens.
const credentialsName = "temporal.vigil.internal"

const (
	credentialsLifetime = 10 * 365 * 24 * time.Hour
	credentialsRenewal  = 30 * 24 * time.Hour // before they expire
)

// Credentials returns the credentials of the embedded Temporal server. The first call
// creates them, and a later one when they expire within 30 days or a file is missing.
func (d *DataDir) Credentials(now time.Time) (*Credentials, error) {
	dir := filepath.Join(d.path, credentialsDir)
	found, err := readCredentials(dir, readPrivate)
	if err == nil && now.Add(credentialsRenewal).Before(found.client.Leaf.NotAfter) {
		return found, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the certificates of Temporal in %s cannot be used (%w): remove that directory to make new ones", dir, err)
	}
	if err := makeCredentials(dir, now); err != nil {
		return nil, unusable(d.path, "written to", err)
	}
	return readCredentials(dir, readPrivate)
}

// TemporalTLS returns what a client in another process needs to call the embedded server of a
// data directory; an fs.ErrNotExist error when the directory has no credentials.
func TemporalTLS(dataDir string) (*tls.Config, error) {
	found, err := readCredentials(filepath.Join(dataDir, credentialsDir), os.ReadFile)
	if err != nil {
		return nil, fmt.Errorf("the certificates of Temporal: %w", err)
	}
	return found.Client(), nil
}

// Client is the configuration of a client of the server. It may be changed.
func (c *Credentials) Client() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.client}, RootCAs: c.roots, ServerName: credentialsName,
	}
}

// serverTLS is the configuration of the server, which refuses clients without a certificate.
func (c *Credentials) serverTLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.server},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: c.roots,
	}
}

// WriteProfile writes a profile for Temporal's own tools, which read it when
// TEMPORAL_CONFIG_FILE names it, and returns its path.
func (c *Credentials) WriteProfile(address, namespace string) (string, error) {
	path := filepath.Join(c.dir, profileFile)
	at := func(name string) string { return filepath.Join(c.dir, name) }
	text := fmt.Sprintf("[profile.default]\naddress = %q\nnamespace = %q\n\n[profile.default.tls]\n"+
		"server_name = %q\nserver_ca_cert_path = %q\nclient_cert_path = %q\nclient_key_path = %q\n",
		address, namespace, credentialsName, at(rootsFile), at(clientFile), at(clientKeyFile))
	if err := writeAtomic(path, text); err != nil {
		return "", unusable(c.dir, "written to", err)
	}
	return path, nil
}

func readCredentials(dir string, read func(string) ([]byte, error)) (*Credentials, error) {
	c := &Credentials{dir: dir, roots: x509.NewCertPool(), pem: make(map[string]string)}
	kept := func(path string) ([]byte, error) {
		text, err := read(path)
		c.pem[filepath.Base(path)] = base64.StdEncoding.EncodeToString(text)
		return text, err
	}
	roots, err := kept(filepath.Join(dir, rootsFile))
	if err != nil {
		return nil, err
	}
	if !c.roots.AppendCertsFromPEM(roots) {
		return nil, errors.New(rootsFile + " has no certificate")
	}
	if c.server, err = readPair(dir, serverFile, serverKeyFile, read); err != nil {
		return nil, err
	}
	c.client, err = readPair(dir, clientFile, clientKeyFile, kept)
	return c, err
}

func readPair(dir, certificate, key string, read func(string) ([]byte, error)) (tls.Certificate, error) {
	chain, err := read(filepath.Join(dir, certificate))
	if err != nil {
		return tls.Certificate{}, err
	}
	private, err := read(filepath.Join(dir, key))
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(chain, private)
	if err != nil {
		return pair, fmt.Errorf("%s and %s: %w", certificate, key, err)
	}
	return pair, nil
}

// makeCredentials writes new credentials. The certificate of the authority comes last: a
// start that is interrupted leaves none, and the next one begins again.
func makeCredentials(dir string, now time.Time) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, rootsFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Vigil's embedded Temporal"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(credentialsLifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, MaxPathLenZero: true,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		return err
	}
	for i, one := range []struct {
		certificate, key string
		usage            x509.ExtKeyUsage
	}{{serverFile, serverKeyFile, x509.ExtKeyUsageServerAuth}, {clientFile, clientKeyFile, x509.ExtKeyUsageClientAuth}} {
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i) + 2), Subject: pkix.Name{CommonName: credentialsName}, DNSNames: []string{credentialsName},
			NotBefore: authority.NotBefore, NotAfter: authority.NotAfter,
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{one.usage},
		}
		if err := writePair(dir, one.certificate, one.key, leaf, authority, key); err != nil {
			return err
		}
	}
	return writePEM(filepath.Join(dir, rootsFile), "CERTIFICATE", root)
}

func writePair(dir, certificate, keyFile string, leaf, authority *x509.Certificate, signer *ecdsa.PrivateKey) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), signer)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, keyFile), "PRIVATE KEY", private); err != nil {
		return err
	}
	return writePEM(filepath.Join(dir, certificate), "CERTIFICATE", signed)
}

func writePEM(path, kind string, der []byte) error {
	return writeAtomic(path, string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
}
