// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// mostSessions is how many agents of a location may live at a time.
const mostSessions = 50

// goneKept is how many agents of a location are kept that do not report: those that were seen last.
const goneKept = 100

// sessionKept is how long the row of an agent that is gone is shown.
const sessionKept = "interval '1 day'"

// reports is the condition of an agent that has reported within a duration, and does not leave.
func reports(within time.Duration) string {
	return fmt.Sprintf("reported AND NOT leaving AND seen_at > clock_timestamp() - interval '%d ms'", within.Milliseconds())
}

// alive is the condition of an agent that counts when the checks of its location are divided.
func alive() string { return reports(agentlink.AgentTimeout) }

// accessColumns are the columns of a location.Access.
const accessColumns = "l.id, coalesce(l.org_id, '00000000-0000-0000-0000-000000000000') AS org_id, l.key, l.name"

// epochNow is the number of the newest restore of the database, 0 before the first one.
const epochNow = "(SELECT coalesce((extract(epoch FROM max(at)) * 1000000)::bigint, 0) FROM restores)"

// OpenSession opens a session for an agent whose location has a token, by its hash: the one that its
// instance has, or another one. An unknown token is a CodeUnauthorized error, and too many agents at a
// time are a CodeConflict one.
func (s *Store) OpenSession(ctx context.Context, tokenHash []byte, hello *agentlink.Hello) (location.Begun, error) {
	type row struct {
		location.Access

		Session *uuid.UUID
		Now     time.Time
		Epoch   int64
	}
	types := make([]string, len(hello.Types))
	for i, t := range hello.Types {
		types[i] = string(t)
	}
	opened, err := pg.Row[row](ctx, s.db, `WITH l AS (SELECT * FROM locations WHERE token_hash = @token FOR UPDATE),
		gone AS (
			DELETE FROM agents AS a USING l WHERE a.location_id = l.id AND a.instance <> @instance AND (
				a.seen_at < clock_timestamp() - `+sessionKept+` OR a.id IN (
					SELECT o.id FROM agents AS o WHERE o.location_id = l.id AND NOT (`+alive()+`) ORDER BY o.seen_at DESC OFFSET @kept))
		), opened AS (
			INSERT INTO agents AS a (id, location_id, instance, name, version, public_key, types)
			SELECT @id, l.id, @instance, @name, @version, @key, @types::text[] FROM l
			WHERE (SELECT count(*) FROM agents AS o WHERE o.location_id = l.id AND o.instance <> @instance AND `+alive()+`) < @most
			ON CONFLICT (location_id, instance) DO UPDATE SET name = excluded.name, version = excluded.version,
				public_key = excluded.public_key, types = excluded.types, seen_at = excluded.seen_at, leaving = false
			RETURNING id
		)
		SELECT `+accessColumns+`, (SELECT id FROM opened) AS session, clock_timestamp() AS now, `+epochNow+` AS epoch FROM l`,
		pg.Named{
			"token": tokenHash, "id": uuid.New(), "instance": hello.Instance, "name": vigil.CleanText(hello.Name),
			"version": vigil.CleanText(hello.Version), "key": hello.Key, "types": types, "most": mostSessions, "kept": goneKept,
		})
	switch {
	case pg.IsNoRow(err):
		return location.Begun{}, errToken()
	case err != nil:
		return location.Begun{}, pg.Wrap("open the session of an agent", err)
	case opened.Session == nil:
		return location.Begun{}, vigil.Errorf(vigil.CodeConflict, "%d agents of the location are connected, which is the most.", mostSessions)
	}
	return location.Begun{Session: *opened.Session, Location: opened.Access, Time: opened.Now.UTC(), Epoch: opened.Epoch}, nil
}

// errToken is the error of a token that is not known, or not any more.
func errToken() error {
	return vigil.Errorf(vigil.CodeUnauthorized, "The token of the location is not valid: it was rotated, or the location was deleted.")
}

// SessionOf returns a session of the location that has a token, by its hash. An unknown token is a
// CodeUnauthorized error, and a session that is not the location's a CodeNotFound error.
func (s *Store) SessionOf(ctx context.Context, tokenHash []byte, id uuid.UUID) (location.Session, error) {
	type row struct {
		location.Access

		PublicKey []byte
	}
	found, err := pg.Row[row](ctx, s.db, "SELECT "+accessColumns+`, a.public_key FROM locations AS l
		LEFT JOIN agents AS a ON a.location_id = l.id AND a.id = $2 WHERE l.token_hash = $1`, tokenHash, id)
	switch {
	case pg.IsNoRow(err):
		return location.Session{}, errToken()
	case err != nil:
		return location.Session{}, pg.Wrap("read the session of an agent", err)
	case found.PublicKey == nil:
		return location.Session{}, vigil.NotFound("session")
	}
	return location.Session{ID: id, Location: found.Access, Key: found.PublicKey}, nil
}

// ReportOf records that an agent lives, and returns those of its location that do, sorted.
func (s *Store) ReportOf(ctx context.Context, in location.Seen) (location.Lives, error) {
	r := in.Report
	lives, err := pg.Row[struct {
		Agents []uuid.UUID `bun:"agents,array"`
		Now    time.Time
		Epoch  int64
	}](ctx, s.db, `WITH seen AS (
			UPDATE agents SET seen_at = clock_timestamp(), reported = true, leaving = @leaving, blind = @blind, clock_ms = @clock, checks = @checks,
				spool_results = @results, spool_bytes = @bytes, spool_dropped = @dropped, refused = refused + @refused
			WHERE id = @session AND location_id = @location
		), place AS (
			UPDATE locations SET seen_at = clock_timestamp() WHERE id = @location AND NOT @leaving
				AND (seen_at IS NULL OR seen_at < clock_timestamp() - interval '500 ms')
		)
		SELECT array(SELECT id FROM agents WHERE location_id = @location AND id <> @session AND `+alive()+`
			UNION SELECT @session::uuid WHERE NOT @leaving ORDER BY 1) AS agents, clock_timestamp() AS now, `+epochNow+` AS epoch`,
		pg.Named{
			"session":  in.Session.ID,
			"location": in.Session.Location.ID,
			"leaving":  r.Leaving,
			"blind":    r.Blind,
			"clock":    r.ClockMS,
			"checks":   r.Checks,
			"results":  r.Spool.Results,
			"bytes":    r.Spool.Bytes,
			"dropped":  r.Spool.Dropped,
			"refused":  in.Refused,
		})
	return location.Lives{Agents: lives.Agents, Time: lives.Now.UTC(), Epoch: lives.Epoch}, pg.Wrap("record the report of an agent", err)
}

// AgentRegions returns the public regions that agents serve.
func (s *Store) AgentRegions(ctx context.Context) ([]string, error) {
	keys, err := pg.Rows[string](ctx, s.db, "SELECT key FROM locations WHERE org_id IS NULL ORDER BY key")
	return keys, pg.Wrap("read the regions of agents", err)
}
