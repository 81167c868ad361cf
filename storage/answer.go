package storage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/google/uuid"

	"vigil"
)

// LastDNSAnswer is the fingerprint of the newest successful DNS answer of a check
// in a region before a slot, empty when none is stored.
func (s *Store) LastDNSAnswer(ctx context.Context, checkID uuid.UUID, region string, slot time.Time) (string, error) {
	var fingerprint string
	err := s.db.NewRaw(`SELECT metadata->>? FROM results
		WHERE check_id = ? AND region = ? AND slot < ? AND success AND metadata->>? <> ''
		ORDER BY slot DESC LIMIT 1`,
		vigil.MetadataFingerprint, checkID, region, micro(slot), vigil.MetadataFingerprint).Scan(ctx, &fingerprint)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return fingerprint, wrap("read the last answer", err)
}
