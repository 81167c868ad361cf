package storage

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// CheckVersions returns a text for each of these checks of the organization that differs
// after every result, change of the check and change of its open incident. It reads the
// rows that are committed with them. A check that is deleted has none.
func (s *Store) CheckVersions(ctx context.Context, orgID uuid.UUID, checks []uuid.UUID) (map[uuid.UUID]string, error) {
	found, err := s.pool.Query(ctx, `
		SELECT c.id, concat_ws('|', c.revision, i.id, i.status, l.slots) FROM checks AS c
		CROSS JOIN LATERAL (
			SELECT string_agg(concat_ws(' ', r.region, r.health, extract(epoch FROM r.last_slot), r.active), ',' ORDER BY r.region) AS slots
			FROM check_regions AS r WHERE r.check_id = c.id
		) AS l
		LEFT JOIN incidents AS i ON i.check_id = c.id AND i.status <> 'resolved'
		WHERE c.org_id = $1 AND c.id = ANY($2::text[]::uuid[])`, orgID, texts(checks))
	if err != nil {
		return nil, wrap("read what changed", err)
	}
	versions := make(map[uuid.UUID]string, len(checks))
	var id uuid.UUID
	var version string
	_, err = pgx.ForEachRow(found, []any{&id, &version}, func() error {
		versions[id] = version
		return nil
	})
	return versions, wrap("read what changed", err)
}
