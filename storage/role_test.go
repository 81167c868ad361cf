// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"net/url"
	"testing"

	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestRole holds what is said of the rights of a user: of the owner, of one who only works with the tables, and of one who lacks
// some of them.
func TestRole(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t, "fsync=off")
	owner := storagetest.Open(t, cluster.DSN("postgres"))
	if _, err := owner.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	role, err := owner.Role(t.Context())
	if err != nil || !role.Superuser || !role.Migrates || role.Tables < 20 || role.Closed != 0 || !role.CertificateEnds.IsZero() {
		t.Errorf("%+v, %v of the owner", role, err)
	}
	for _, statement := range []string{
		"CREATE ROLE worker LOGIN", "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO worker",
		"CREATE ROLE reader LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
	} {
		if _, err := owner.DB().NewRaw(statement).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	as := func(name string) string {
		address, err := url.Parse(cluster.DSN("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		address.User = url.User(name)
		return address.String()
	}
	role, err = storagetest.Open(t, as("worker")).Role(t.Context())
	if err != nil || role.Name != "worker" || role.Superuser || role.Migrates || role.Closed != 0 {
		t.Errorf("%+v, %v of a user who works with the tables", role, err)
	}
	role, err = storagetest.Open(t, as("reader")).Role(t.Context())
	if err != nil || role.Migrates || role.Closed != role.Tables {
		t.Errorf("%+v, %v of a user who reads", role, err)
	}
}
