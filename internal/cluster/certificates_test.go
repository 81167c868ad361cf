// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql/driver"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/postgresql/session"
	"go.temporal.io/server/common/resolver"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestRenew holds that what a directory has is written again with another end, and what another one has is not.
func TestRenew(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a, err := newAuthority(func() time.Time { return now }, shortLife)
	if err != nil {
		t.Fatal(err)
	}
	dir, other := t.TempDir(), t.TempDir()
	for _, each := range []string{dir, other} {
		if err := a.issue(each, "server", "history-1", nil, "10.0.0.1"); err != nil {
			t.Fatal(err)
		}
		if err := a.issueToken(each, "vigil-api", "vigil:write"); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(dir string) (certificate, token time.Time, serial string) {
		t.Helper()
		pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"))
		if err != nil {
			t.Fatal(err)
		}
		if host := pair.Leaf.IPAddresses; len(host) != 1 || host[0].String() != "10.0.0.1" || pair.Leaf.Subject.CommonName != "history-1" {
			t.Errorf("the certificate is of %s, for %v", pair.Leaf.Subject.CommonName, host)
		}
		text, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(strings.TrimSpace(string(text)), ".")
		if len(parts) != 3 {
			t.Fatalf("the token is %q", text)
		}
		raw, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		var claims struct {
			Exp int64 `json:"exp"`
		}
		if err := json.Unmarshal(raw, &claims); err != nil {
			t.Fatal(err)
		}
		return pair.Leaf.NotAfter, time.Unix(claims.Exp, 0), pair.Leaf.SerialNumber.String()
	}
	_, _, first := ends(dir)
	if err := a.renew(dir, time.Minute); err != nil {
		t.Fatal(err)
	}
	certificate, token, serial := ends(dir)
	if !certificate.Equal(now.Add(time.Minute)) || !token.Equal(now.Add(time.Minute)) {
		t.Errorf("the certificate ends at %v and the token at %v, a minute after %v", certificate, token, now)
	}
	if serial == first || a.serials[filepath.Join(dir, "server.pem")] != serial {
		t.Errorf("the certificate is %s, was %s, and is noted as %s", serial, first, a.serials[filepath.Join(dir, "server.pem")])
	}
	if certificate, _, _ := ends(other); certificate.Before(now.Add(shortLife / 2)) {
		t.Errorf("the certificate of another directory ends at %v", certificate)
	}
}

// TestTemporalReadsItsCertificate holds that Temporal's server reads the certificate for Postgres again for each connection by the
// configuration of a cluster, and that it is the passwordCommand there that makes it.
func TestTemporalReadsItsCertificate(t *testing.T) { //nolint:paralleltest // it sets variables
	postgres, address := storagetest.StartSecureCluster(t)
	a, err := newAuthority(time.Now, shortLife)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(a.issue(dir, "server", "server", nil, address), a.issue(dir, "postgres", "postgres", nil)); err != nil {
		t.Fatal(err)
	}
	server, err := tls.LoadX509KeyPair(filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key"))
	if err != nil {
		t.Fatal(err)
	}
	postgres.Secure(t, server, a.roots())
	for name, value := range map[string]string{
		"BIND_ON_IP": "127.0.0.1", "POSTGRES_ADDRESS": address + ":5432", "POSTGRES_USER": "postgres", "DBNAME": "postgres",
		"TEMPORAL_TLS_DIR": dir, "TEMPORAL_JWKS": "none", "TEMPORAL_DYNAMIC_CONFIG": "none",
	} {
		t.Setenv(name, value)
	}
	for name, reads := range map[string]bool{"AsItIs": true, "WithoutCommand": false} { //nolint:paralleltest // as above
		t.Run(name, func(t *testing.T) {
			read, err := config.Load(config.WithConfigFile("../../temporal-config/cluster.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			store := read.Persistence.DataStores["default"].SQL
			if !reads {
				store.PasswordCommand = nil
			}
			var opened *session.Session
			timingtest.Eventually(t, 30*time.Second, "the server speaks TLS", func() bool {
				opened, err = session.NewSession(store, &driver.PGXDriver{}, resolver.NewNoopResolver())
				return err == nil
			})
			defer opened.Close()
			opened.SetMaxIdleConns(-1) // each question has a new connection
			before := a.serials[filepath.Join(dir, "postgres.pem")]
			if err := a.renew(dir, time.Hour); err != nil {
				t.Fatal(err)
			}
			want := before
			if reads {
				want = a.serials[filepath.Join(dir, "postgres.pem")]
			}
			var shown string
			if err := opened.Get(&shown, "SELECT client_serial::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"); err != nil || shown != want {
				t.Errorf("it shows %s, %v; want %s, of %s and the new %s", shown, err, want, before, a.serials[filepath.Join(dir, "postgres.pem")])
			}
		})
	}
}
