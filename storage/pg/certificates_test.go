// SPDX-License-Identifier: Apache-2.0

package pg_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage/pg"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// secured is a database behind TLS, and the files of a client of it.
type secured struct {
	cluster *storagetest.Cluster
	address string
	files   storagetest.ClientFiles
	db      *pg.DB
	log     *said
}

// said keeps what is logged.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

func (s *said) count(words string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), words)
}

// issue writes a client's certificate that ends at an instant, with its key, and returns its serial number.
func (s *secured) issue(t *testing.T, authority *probetest.Authority, ends time.Time) string {
	t.Helper()
	return s.files.Certify(t, authority.Issue(t, probetest.Valid(time.Now().Add(-time.Hour), ends), func(c *x509.Certificate) {
		c.Subject.CommonName, c.ExtKeyUsage = "postgres", []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}))
}

// serve gives the server a certificate of an authority, and has it take clients of that one.
func (s *secured) serve(t *testing.T, authority *probetest.Authority) {
	t.Helper()
	s.cluster.Secure(t, s.certificate(t, authority), authority.PEM())
	s.files.Write(t, "ca.pem", authority.PEM())
}

func (s *secured) certificate(t *testing.T, authority *probetest.Authority) tls.Certificate {
	t.Helper()
	return authority.Issue(t, func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, []net.IP{net.ParseIP(s.address)} })
}

// serials are the serial numbers of the certificates that new connections show, by their kind.
func (s *secured) serials(ctx context.Context) (shown map[string]string, err error) {
	const query = "SELECT client_serial::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
	shown = make(map[string]string)
	for kind, pool := range map[string]*pgxpool.Pool{"ordinary": s.db.Pool, "probing": s.db.Probing} {
		pool.Reset()
		var serial string
		if err := pool.QueryRow(ctx, query).Scan(&serial); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		shown[kind] = serial
	}
	err = s.db.Renewing(ctx, func(conn *pgx.Conn) error {
		var serial string
		err := conn.QueryRow(ctx, query).Scan(&serial)
		shown["leases"] = serial
		_ = conn.Close(ctx) // the next use makes a new one
		return err
	})
	return shown, err
}

// shows waits until all kinds of connections show a certificate.
func (s *secured) shows(t *testing.T, serial string) {
	t.Helper()
	var shown map[string]string
	var err error
	defer func() {
		if t.Failed() {
			t.Logf("they show %v, want %s; %v", shown, serial, err)
		}
	}()
	timingtest.Eventually(t, 30*time.Second, "new connections show the certificate", func() bool {
		shown, err = s.serials(t.Context())
		return err == nil && shown["ordinary"] == serial && shown["probing"] == serial && shown["leases"] == serial
	})
}

func newSecured(t *testing.T) (*secured, *probetest.Authority) {
	t.Helper()
	s := &secured{files: storagetest.ClientFiles{Dir: t.TempDir()}, log: &said{}}
	s.cluster, s.address = storagetest.StartSecureCluster(t)
	authority := probetest.NewAuthority(t, nil)
	s.serve(t, authority)
	s.issue(t, authority, time.Now().Add(time.Hour))
	dsn := fmt.Sprintf("postgres://postgres:hidden@%s:5432/postgres?sslmode=verify-full&sslrootcert=%s&sslcert=%s&sslkey=%s",
		s.address, s.files.Path("ca.pem"), s.files.Path("client.pem"), s.files.Path("client.key"))
	timingtest.Eventually(t, 30*time.Second, "the server speaks TLS", func() (open bool) {
		var err error
		s.db, err = pg.Open(t.Context(), dsn, pg.Options{Log: slog.New(slog.NewTextHandler(s.log, nil))})
		return err == nil
	})
	t.Cleanup(func() {
		if err := s.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, authority
}

// TestCertificatesAreExchanged holds that a new connection shows and trusts what is in the files then.
func TestCertificatesAreExchanged(t *testing.T) {
	t.Parallel()
	s, authority := newSecured(t)

	// One that ends is refused, and what is put in its place is taken.
	s.issue(t, authority, time.Now().Add(2*time.Second))
	timingtest.Eventually(t, 30*time.Second, "a certificate that has ended is refused, and the error says so", func() bool {
		_, err := s.serials(t.Context())
		return err != nil && strings.Contains(err.Error(), "expired certificate")
	})
	good := s.issue(t, authority, time.Now().Add(time.Hour))
	s.shows(t, good)
	if ends, err := s.db.Role(t.Context()); err != nil || time.Until(ends.CertificateEnds) < 50*time.Minute {
		t.Errorf("the certificate ends at %v, %v", ends.CertificateEnds, err)
	}

	// Files that do not belong together are half of an exchange.
	const warning = `files="those of the database address"`
	if n := s.log.count(warning); n != 0 {
		t.Fatalf("%d warnings before", n)
	}
	_, key := storagetest.PEM(t, s.certificate(t, authority))
	s.files.Write(t, "client.key", key)
	s.shows(t, good)
	s.files.Write(t, "client.key", []byte("-----BEGIN PRIVATE KEY-----\nMIGHAg"))
	s.shows(t, good)
	if n := s.log.count(warning); n != 1 {
		t.Errorf("%d warnings of one exchange, want one", n)
	}
	if n := s.log.count("hidden"); n != 0 {
		t.Error("the password is in the log")
	}
	s.shows(t, s.issue(t, authority, time.Now().Add(time.Hour)))

	// Another authority, of the server and of its clients.
	other := probetest.NewAuthority(t, nil)
	s.serve(t, other)
	s.shows(t, s.issue(t, other, time.Now().Add(time.Hour)))
}
