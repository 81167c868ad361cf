// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"crypto/x509"
	"time"
)

// Role is what the user of a connection may do in the database.
type Role struct {
	Name      string
	Superuser bool
	// Migrates: the user may make tables, as a migration does.
	Migrates bool
	// Tables is how many the database has, and Closed how many of them the user may not both read and write.
	Tables, Closed int
	// CertificateEnds is when the client's certificate of a new connection ends; zero: it shows none.
	CertificateEnds time.Time `bun:"-"`
}

// Role reads what the user of the connections may do.
func (d *DB) Role(ctx context.Context) (Role, error) {
	role, err := Row[Role](ctx, d, `WITH tables AS (SELECT c.oid FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
			AND c.relkind IN ('r', 'p') AND NOT c.relispartition)
		SELECT current_user::text AS name, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS superuser,
			coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS migrates, (SELECT count(*) FROM tables) AS tables,
			(SELECT count(*) FROM tables WHERE NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
				AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))) AS closed`)
	if err != nil {
		return role, Wrap("read the rights of the user", err)
	}
	if secure := d.connector.address.Get(ctx).TLSConfig; secure != nil {
		for _, shown := range secure.Certificates {
			leaf, err := x509.ParseCertificate(shown.Certificate[0])
			if err == nil && (role.CertificateEnds.IsZero() || leaf.NotAfter.Before(role.CertificateEnds)) {
				role.CertificateEnds = leaf.NotAfter
			}
		}
	}
	return role, nil
}
