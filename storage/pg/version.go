// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
)

// MatchStored runs a query that returns the version of a resource, whose first argument is
// the id, and returns a CodePrecondition error when match does not accept that version. No
// row is a CodeNotFound error.
func MatchStored(ctx context.Context, db bun.IDB, kind, query string, id uuid.UUID, match vigil.Precondition, args ...any) error {
	var version int64
	if err := db.NewRaw(query, append([]any{id}, args...)...).Scan(ctx, &version); err != nil {
		return Found(kind, err)
	}
	return match.Check(kind, version)
}
