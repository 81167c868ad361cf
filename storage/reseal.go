package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"vigil"
)

// sealedTables are the tables whose configs hold sealed secrets.
func sealedTables() []string { return []string{"checks", "channels"} }

// Reseal seals every stored secret anew under the current key and returns how
// many configs that changed. Afterwards the older keys are needed no more. It
// may run while the platform works, and again.
func (s *Store) Reseal(ctx context.Context) (changed int, err error) {
	for _, table := range sealedTables() {
		var ids []uuid.UUID
		if err := s.db.NewRaw("SELECT id FROM ? ORDER BY id", bun.Ident(table)).Scan(ctx, &ids); err != nil {
			return changed, wrap("list "+table, err)
		}
		for _, id := range ids {
			did, err := s.resealRow(ctx, table, id)
			if err != nil {
				return changed, wrap("seal a secret of "+table, err)
			}
			if did {
				changed++
			}
		}
	}
	return changed, nil
}

// resealRow seals the secrets of one config anew. What it means stays, so that
// nobody who knows it has to be told.
func (s *Store) resealRow(ctx context.Context, table string, id uuid.UUID) (changed bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var sealed []json.RawMessage
		err := tx.NewRaw("SELECT config FROM ? WHERE id = ? FOR NO KEY UPDATE", bun.Ident(table), id).Scan(ctx, &sealed)
		if err != nil || len(sealed) == 0 {
			return err // without a row it was deleted meanwhile
		}
		opened, err := s.keys.OpenSecrets(sealed[0])
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if changed = string(vigil.MaskSecrets(opened)) != string(opened); !changed {
			return nil
		}
		again, err := s.keys.SealSecrets(opened)
		if err != nil {
			return err
		}
		_, err = tx.NewRaw("UPDATE ? SET config = ? WHERE id = ?", bun.Ident(table), string(again), id).Exec(ctx)
		return err
	})
	return changed, err
}
