// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// deleteBatch is how many rows one statement deletes at most. Each is a transaction
// of its own, so that no lock is held for long.
const deleteBatch = 1000

// deleteSome deletes up to deleteBatch rows of a table that fulfil a condition and
// returns how many they were.
func (s *Store) deleteSome(ctx context.Context, table, condition string, args ...any) (int64, error) {
	args = append(append([]any{bun.Ident(table), bun.Ident(table)}, args...), deleteBatch)
	res, err := s.db.NewRaw("DELETE FROM ? WHERE ctid = ANY (ARRAY("+
		"SELECT ctid FROM ? AS t WHERE "+condition+" LIMIT ? FOR UPDATE))", args...).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("delete from %s: %w", table, err)
	}
	return res.RowsAffected()
}

// deleteAll deletes all rows of a table that fulfil a condition, in steps, until ctx ends.
func (s *Store) deleteAll(ctx context.Context, table, condition string, args ...any) error {
	for {
		n, err := s.deleteSome(ctx, table, condition, args...)
		if err != nil || n < deleteBatch {
			return err
		}
	}
}
