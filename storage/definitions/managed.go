// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// ManagedRow are the columns of what manages a definition.
type ManagedRow struct {
	Tool    string `bun:"managed_tool,nullzero" json:"-"`
	Project string `bun:"managed_project,nullzero" json:"-"`
	Key     string `bun:"managed_key,nullzero" json:"-"`
	Applied int64  `bun:"applied_version" json:"-"`
}

// ManagedColumns returns the columns of who manages an object.
func ManagedColumns(by *vigil.ManagedBy, applied int64) ManagedRow {
	if by == nil {
		return ManagedRow{}
	}
	return ManagedRow{Tool: by.Tool, Project: by.Project, Key: by.Key, Applied: applied}
}

// ManagedBy returns who manages the object of a row, nil without.
func (r *ManagedRow) ManagedBy() *vigil.ManagedBy {
	if r.Tool == "" {
		return nil
	}
	return &vigil.ManagedBy{Tool: r.Tool, Project: r.Project, Key: r.Key}
}

// ManagedChange returns the applied version of a definition after a change that is not made
// by apply.
func ManagedChange(before, after *vigil.ManagedBy, applied int64) int64 {
	if !vigil.SameManager(before, after) {
		return 0
	}
	return applied
}

// ManagedTaken turns the violation of a unique index of managed_by into a CodeConflict
// error. Other errors pass unchanged.
func ManagedTaken(err error, kind string, by *vigil.ManagedBy) error {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || by == nil {
		return err
	}
	switch refused.ConstraintName {
	case "checks_managed_key", "alert_rules_managed_key", "channels_managed_key", "status_pages_managed_key",
		"maintenance_windows_managed_key", "subscriptions_managed_key":
	default:
		return err
	}
	taken := vigil.Errorf(vigil.CodeConflict, "managed_by: another %s is %q in the project %q of %s already. "+
		"Choose another key, or release the other %s first with \"managed_by\": null.", kind, by.Key, by.Project, by.Tool, kind)
	taken.Details = map[string]any{"member": "managed_by"}
	return taken
}

// NamesKey reports whether the violation of a unique index of managed_by is about this key, the
// last of the values that Postgres names.
func NamesKey(err error, key string) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && strings.Contains(refused.Detail, ", "+key+")")
}

// WhereManaged adds a filter by what manages a definition to a query; alias is that of the
// table.
func WhereManaged(query *bun.SelectQuery, alias string, f listing.ManagedFilter) *bun.SelectQuery {
	for _, of := range []struct{ column, value string }{
		{"managed_tool", f.Tool}, {"managed_project", f.Project}, {"managed_key", f.Key},
	} {
		if of.value != "" {
			query = query.Where("?.? = ?", bun.Ident(alias), bun.Ident(of.column), of.value)
		}
	}
	return query
}
