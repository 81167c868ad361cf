// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// DeleteBatch is how many rows one statement deletes at most. Each is a transaction
// of its own, so that no lock is held for long.
const DeleteBatch = 1000

// DeleteSome deletes up to DeleteBatch rows of a table that fulfil a condition and
// returns how many they were.
func (d *DB) DeleteSome(ctx context.Context, table, condition string, args ...any) (int64, error) {
	args = append(append([]any{bun.Ident(table), bun.Ident(table)}, args...), DeleteBatch)
	res, err := d.NewRaw("DELETE FROM ? WHERE ctid = ANY (ARRAY("+
		"SELECT ctid FROM ? AS t WHERE "+condition+" LIMIT ? FOR UPDATE))", args...).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete from %s: %w", table, err)
	}
	return res.RowsAffected()
}

// DeleteAll deletes all rows of a table that fulfil a condition, in steps, until ctx ends.
func (d *DB) DeleteAll(ctx context.Context, table, condition string, args ...any) error {
	for {
		n, err := d.DeleteSome(ctx, table, condition, args...)
		if err != nil || n < DeleteBatch {
			return err
		}
	}
}
