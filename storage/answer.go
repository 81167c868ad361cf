package storage

import (
	"context"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// LastDNSAnswer returns the fingerprint and the slot of the newest successful DNS answer
// of a check in a region whose slot is before the given one, empty and zero when none is
// stored.
func (s *Store) LastDNSAnswer(
	ctx context.Context, checkID uuid.UUID, region string, before time.Time,
) (fingerprint string, slot time.Time, err error) {
	var row struct {
		Fingerprint string    `bun:"fingerprint"`
		Slot        time.Time `bun:"slot"`
	}
	err = s.db.NewRaw(`SELECT metadata->>? AS fingerprint, slot FROM results
		WHERE check_id = ? AND region = ? AND slot < ? AND success AND metadata->>? <> ''
		ORDER BY slot DESC LIMIT 1`,
		vigil.MetadataFingerprint, checkID, region, micro(before), vigil.MetadataFingerprint).Scan(ctx, &row)
	if isNoRow(err) {
		return "", time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, wrap("read the last DNS answer", err)
	}
	return row.Fingerprint, row.Slot.UTC(), nil
}
