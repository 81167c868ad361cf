// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage/beats"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// sealLock is the advisory lock of the process that seals what was stored in
// clear.
const sealLock = 0x7669_6769_6c00_0003

// sealBatch bounds the configs that are read at once.
const sealBatch = 100

// sealedTable is a table with a column of configs that hold sealed secrets.
type sealedTable struct {
	name   string
	column string
	fields func(kind string) secret.Fields
}

func (s *Store) sealedTables() []sealedTable {
	ofCheck := func(kind string) secret.Fields { return s.Secrets.Check(vigil.CheckType(kind)) }
	ofChannel := func(kind string) secret.Fields { return s.Secrets.Channel(vigil.ChannelType(kind)) }
	ofToken := func(string) secret.Fields { return beats.SecretFields() }
	return []sealedTable{
		{"checks", "config", ofCheck},
		{"channels", "config", ofChannel},
		{"channels", "former_secret", ofChannel},
		{"delivery_addresses", "config", ofChannel},
		{"heartbeats", "secret", ofToken},
		{"ping_keys", "secret", ofToken},
		{"status_page_readers", "config", func(string) secret.Fields { return readerFields() }},
	}
}

// Reseal seals every stored secret again, under the current key, and returns how
// many configs and signing keys that changed. Afterwards no older key is needed. It may run while
// the platform works, and repeatedly.
func (s *Store) Reseal(ctx context.Context) (changed int, err error) {
	keys, err := s.resealSigningKeys(ctx)
	if err != nil {
		return 0, err
	}
	changed, err = s.rewriteConfigs(ctx, func(fields secret.Fields, config json.RawMessage) (json.RawMessage, error) {
		opened, err := s.Keyring.OpenSecrets(fields, config)
		if err != nil {
			return nil, err
		}
		if len(fields.Values(opened)) == 0 {
			return config, nil
		}
		return s.Keyring.SealSecrets(fields, opened)
	})
	return changed + keys, err
}

// SealConfigs seals the secrets that were stored in plaintext, because their members
// were not secret then, and returns how many configs that changed. It does so
// once for each set of secret members, and records it; a start that finds the
// record reads one row. Of several processes one works, the others go on: both
// forms can be read. It may be interrupted, and run while the platform works.
func (s *Store) SealConfigs(ctx context.Context) (changed int, err error) {
	if s.Keyring == nil {
		return 0, errors.New("seal configs: the store has no keys to seal secrets with")
	}
	wanted, err := s.Secrets.Fingerprint()
	if err != nil {
		return 0, fmt.Errorf("seal configs: %w", err)
	}
	// A transaction holds the lock, and not a session, which a proxy could share.
	err = s.db.Transact(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		var due bool
		if _, err := tx.ExecContext(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
			return err
		}
		err := tx.NewRaw("SELECT NOT EXISTS (SELECT FROM config_sealing WHERE fingerprint = ?) AND pg_try_advisory_xact_lock(?)",
			wanted, int64(sealLock)).
			Scan(ctx, &due)
		if err != nil || !due {
			return err
		}
		if changed, err = s.rewriteConfigs(ctx, s.Keyring.SealClear); err != nil {
			return err
		}
		_, err = tx.NewRaw(`INSERT INTO config_sealing (fingerprint, sealed_at) VALUES (?, ?)
			ON CONFLICT (one_row) DO UPDATE SET fingerprint = excluded.fingerprint, sealed_at = excluded.sealed_at`, wanted, s.db.Instant()).
			Exec(ctx)
		return err
	})
	return changed, pg.Wrap("seal configs", err)
}

// rewriteConfigs gives every stored config to change, with the secret members of
// its type, and stores the ones that come back different.
func (s *Store) rewriteConfigs(
	ctx context.Context, change func(secret.Fields, json.RawMessage) (json.RawMessage, error),
) (changed int, err error) {
	read := 0
	for _, table := range s.sealedTables() {
		last := uuid.Nil
		for {
			var rows []struct {
				ID     uuid.UUID
				Type   string
				Config json.RawMessage
			}
			err := s.db.NewRaw("SELECT id, type, ?0 AS config FROM ?1 WHERE id > ?2 AND ?0 IS NOT NULL ORDER BY id LIMIT ?3",
				bun.Ident(table.column), bun.Ident(table.name), last, sealBatch).Scan(ctx, &rows)
			if err != nil {
				return changed, pg.Wrap("list "+table.name, err)
			}
			for _, row := range rows {
				last = row.ID
				fields := table.fields(row.Type)
				if len(fields.Values(row.Config)) == 0 {
					continue
				}
				did, err := s.rewriteConfig(ctx, table, row.ID, change)
				if err != nil {
					return changed, pg.Wrap("seal a secret of "+table.name, err)
				}
				if did {
					changed++
				}
			}
			read += len(rows)
			s.db.Progress(fmt.Sprintf("%d configs read, %d sealed", read, changed))
			if len(rows) < sealBatch {
				break
			}
		}
	}
	return changed, nil
}

// rewriteConfig changes the stored form of one config. Its meaning stays, so no
// revision changes.
func (s *Store) rewriteConfig(
	ctx context.Context, table sealedTable, id uuid.UUID, change func(secret.Fields, json.RawMessage) (json.RawMessage, error),
) (changed bool, err error) {
	err = s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		var rows []struct {
			Type   string
			Config json.RawMessage
		}
		err := tx.NewRaw("SELECT type, ? AS config FROM ? WHERE id = ? AND ? IS NOT NULL FOR NO KEY UPDATE",
			bun.Ident(table.column), bun.Ident(table.name), id, bun.Ident(table.column)).Scan(ctx, &rows)
		if err != nil || len(rows) == 0 {
			return err // without a row it was deleted or erased meanwhile
		}
		config, err := change(table.fields(rows[0].Type), rows[0].Config)
		if err != nil {
			return fmt.Errorf("%s: %w", id, err)
		}
		if changed = !bytes.Equal(config, rows[0].Config); !changed {
			return nil
		}
		_, err = tx.NewRaw("UPDATE ? SET ? = ? WHERE id = ?", bun.Ident(table.name), bun.Ident(table.column), string(config), id).Exec(ctx)
		return err
	})
	return changed, err
}
