// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/jackc/pgx/v5"
)

// StartSecureCluster starts a server as StartCluster does, which listens at an address of loopback as well: there it speaks TLS
// alone, once Secure has been called. The port is 5432, so each server has an address of its own, as only Linux has them.
func StartSecureCluster(tb testing.TB) (c *Cluster, address string) {
	tb.Helper()
	if runtime.GOOS != "linux" {
		tb.Skip("the loopback of this system has one address")
	}
	address = fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254)) //nolint:gosec // no secret
	return StartCluster(tb, "fsync=off", "listen_addresses="+address), address
}

// Secure gives the server a certificate. It takes clients that show one of the authorities, in PEM, for the user that they are.
func (c *Cluster) Secure(tb testing.TB, certificate tls.Certificate, authorities []byte) {
	tb.Helper()
	chain, key := PEM(tb, certificate)
	for name, content := range map[string][]byte{
		"server.pem": chain, "server.key": key, "clients.pem": authorities,
		"pg_hba.conf": []byte("local all all trust\nhostssl all all all cert\n"),
	} {
		path := filepath.Join(c.data(), name)
		if err := errors.Join(os.WriteFile(path, content, 0o600), os.Chown(path, c.bin.uid, c.bin.gid)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := administer(tb, c.DSN("postgres"), func(ctx context.Context, conn *pgx.Conn) error {
		for _, statement := range []string{
			"ALTER SYSTEM SET ssl = on", "ALTER SYSTEM SET ssl_cert_file = 'server.pem'", "ALTER SYSTEM SET ssl_key_file = 'server.key'",
			"ALTER SYSTEM SET ssl_ca_file = 'clients.pem'", "SELECT pg_reload_conf()",
		} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
}

// PEM is a certificate with those that it needs, and its key, as files have them.
func PEM(tb testing.TB, pair tls.Certificate) (chain, key []byte) {
	tb.Helper()
	for _, der := range pair.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		tb.Fatal(err)
	}
	return chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

// ClientFiles are the files of a client in a directory, which are replaced as Kubernetes, cert-manager and ACME clients do it: each
// at one instant.
type ClientFiles struct{ Dir string }

// Path is where a file of this name is.
func (f ClientFiles) Path(name string) string { return filepath.Join(f.Dir, name) }

// Write replaces a file.
func (f ClientFiles) Write(tb testing.TB, name string, content []byte) {
	tb.Helper()
	if err := os.WriteFile(f.Path(name)+".new", content, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(f.Path(name)+".new", f.Path(name)); err != nil {
		tb.Fatal(err)
	}
}

// Certify replaces client.key and client.pem, and returns the serial number of the certificate.
func (f ClientFiles) Certify(tb testing.TB, pair tls.Certificate) (serial string) {
	tb.Helper()
	chain, key := PEM(tb, pair)
	f.Write(tb, "client.key", key)
	f.Write(tb, "client.pem", chain)
	return pair.Leaf.SerialNumber.String()
}
