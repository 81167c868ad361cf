// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// CheckVersions returns a text for each of these checks of the organization that differs
// after every result, change of the check and change of its open incident, and when the check
// is not probed any more. It reads the rows that are committed with them. A check that is
// deleted has none.
func (s *Store) CheckVersions(ctx context.Context, orgID uuid.UUID, checks []uuid.UUID) (map[uuid.UUID]string, error) {
	found, err := s.db.Pool.Query(ctx, `
		SELECT c.id, concat_ws('|', c.revision, i.id, i.status, l.slots) FROM checks AS c
		CROSS JOIN LATERAL (
			SELECT string_agg(
				concat_ws(' ', r.region, r.health, extract(epoch FROM r.last_slot), r.active,
					`+loops.Unobserved(pg.SQLTime(s.db.Instant()))+`), ',' ORDER BY r.region
			) AS slots
			FROM check_regions AS r WHERE r.check_id = c.id
		) AS l
		LEFT JOIN incidents AS i ON i.check_id = c.id AND i.status <> 'resolved'
		WHERE c.org_id = $1 AND c.id = ANY($2::text[]::uuid[])`, orgID, pg.UUIDTexts(checks))
	if err != nil {
		return nil, pg.Wrap("read what changed", err)
	}
	versions := make(map[uuid.UUID]string, len(checks))
	var id uuid.UUID
	var version string
	_, err = pgx.ForEachRow(found, []any{&id, &version}, func() error {
		versions[id] = version
		return nil
	})
	return versions, pg.Wrap("read what changed", err)
}

// OrganizationVersion returns a text that differs after everything that people change in the
// organization, which the audit log has, every event of an incident, every attempt of the
// newest deliveries, those that begin and end of all deliveries, each state of the newest drills, and
// when a maintenance window begins or ends. Results do not change it. It reads a bounded number of rows of each, so that
// it can be asked each second; the checks are counted.
func (s *Store) OrganizationVersion(ctx context.Context, orgID uuid.UUID) (version string, err error) {
	now := pg.SQLTime(s.db.Instant())
	err = s.db.Pool.QueryRow(ctx, `SELECT concat_ws('|',
		(SELECT string_agg(l.id::text, ' ') FROM (
			SELECT id FROM audit_log WHERE org_id = $1 ORDER BY at DESC, id DESC LIMIT 5
		) AS l),
		(SELECT concat_ws(' ', ms, seq) FROM stream_heads WHERE org_id = $1),
		(SELECT count(*) FROM checks WHERE org_id = $1 AND `+pg.NotDrill+`),
		(SELECT md5(string_agg(concat_ws(' ', o.window_id, o.starts_at, o.ends_at), ',' ORDER BY o.window_id, o.starts_at))
			FROM maintenance_occurrences AS o
			WHERE o.org_id = $1 AND o.removed_at IS NULL AND o.ends_at > `+now+` AND o.starts_at <= `+now+`),
		(SELECT md5(string_agg(concat_ws(' ', d.id, d.status, d.attempts, d.next_attempt_at, a.made, a.finished), ',' ORDER BY d.id)) FROM (
			SELECT id, status, attempts, next_attempt_at FROM deliveries WHERE org_id = $1 ORDER BY created_at DESC, id DESC LIMIT 100
		) AS d CROSS JOIN LATERAL (
			SELECT count(*) AS made, count(finished_at) AS finished FROM attempts WHERE delivery_id = d.id
		) AS a),
		(SELECT md5(string_agg(a.id::text, ',' ORDER BY a.id)) FROM channels AS h
			JOIN attempts AS a ON a.channel_id = h.id AND a.finished_at IS NULL WHERE h.org_id = $1),
		(SELECT md5(string_agg(concat_ws(' ', r.id, r.state), ',' ORDER BY r.id)) FROM (
			SELECT id, state FROM drills WHERE org_id = $1 ORDER BY asked_at DESC, id DESC LIMIT 100
		) AS r)
	)`, orgID).Scan(&version)
	return version, pg.Wrap("read whether an organization changed", err)
}
