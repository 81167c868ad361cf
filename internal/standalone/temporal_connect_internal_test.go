// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestPoolExchangesCertificates holds that a connection of the embedded server shows the certificate that is in its file then.
func TestPoolExchangesCertificates(t *testing.T) {
	t.Parallel()
	cluster, address := storagetest.StartSecureCluster(t)
	authority, files := probetest.NewAuthority(t, nil), storagetest.ClientFiles{Dir: t.TempDir()}
	cluster.Secure(t, authority.Issue(t, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP(address)} }), authority.PEM())
	files.Write(t, "ca.pem", authority.PEM())
	issue := func() (serial string) {
		return files.Certify(t, authority.Issue(t, probetest.Valid(time.Now().Add(-time.Hour), time.Now().Add(time.Hour)),
			func(c *x509.Certificate) {
				c.Subject.CommonName, c.ExtKeyUsage = "postgres", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
			}))
	}
	serial := issue()
	file := func(name string) string { return url.QueryEscape(files.Path(name)) }
	dsn := fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=verify-full&sslrootcert=%s&sslcert=%s&sslkey=%s",
		address, file("ca.pem"), file("client.pem"), file("client.key"))
	timingtest.Eventually(t, 30*time.Second, "the server speaks TLS", func() bool { return EnsureDatabases(t.Context(), dsn) == nil })
	stores, err := newStores(dsn, 1, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	db, err := stores.store.Connect(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxIdleConns(-1) // each question has a new connection
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"of the start", func() {}},
		{"of an exchange", func() { serial = issue() }},
		{"of half an exchange", func() { files.Write(t, "client.key", []byte("half")) }},
	} {
		step.do()
		var shown string
		if err := db.Get(&shown, "SELECT client_serial::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"); err != nil || shown != serial {
			t.Errorf("the certificate %s is %s, %v; want %s", step.what, shown, err, serial)
		}
	}
}
