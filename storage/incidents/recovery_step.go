// SPDX-License-Identifier: Apache-2.0

package incidents

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// maxRequests is how often a recovery requests an attempt of one delivery, whose outcomes are
// unknown each time because processes died.
const maxRequests = 20

// itemRow is a delivery of a recovery, with what became of it. The members below State are of the
// delivery, which may be gone.
type itemRow struct {
	Position int `bun:"position"`
	Requests int `bun:"requests"`
	// Broken is true when another one of the incident before it failed.
	Broken bool `bun:"broken"`

	deliveryRow `bun:",extend"`

	Found     bool   `bun:"found"`
	Kept      bool   `bun:"kept"` // its event is
	CheckName string `bun:"check_name"`
	// Tried is true when the requested attempt has begun, and Ended when it has an outcome.
	Tried     bool   `bun:"tried"`
	Ended     bool   `bun:"ended"`
	ErrorCode string `bun:"error_code"`
}

// StepRecovery records what became of the attempts that a recovery requested, and requests the next
// ones: at most limit, and only while fewer than outstanding have no outcome. Callers may repeat it, and two may
// call it at the same time. The workflows of the deliveries that it returns must be signaled. A recovery
// whose channel was disabled is canceled. CodeNotFound: it is gone, with its channel.
func (s *Store) StepRecovery(ctx context.Context, id uuid.UUID, limit, outstanding int) (channelhealth.RecoveryStep, error) {
	var step channelhealth.RecoveryStep
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		step = channelhealth.RecoveryStep{}
		var r recoveryRow
		if err := tx.NewSelect().Model(&r).Where("rc.id = ?", id).For("UPDATE").Scan(ctx); err != nil {
			return pg.Found("recovery", err)
		}
		if r.State != string(channelhealth.RecoveryRunning) {
			step = r.step()
			return nil
		}
		usable, err := channelUsable(ctx, tx, r.ChannelID)
		if err != nil {
			return err
		}
		if !usable {
			err := s.withdraw(ctx, tx, &r)
			step = r.step()
			return err
		}
		requested, err := s.advance(ctx, tx, &r, limit, outstanding)
		step = r.step()
		step.Requested = requested
		return err
	})
	return step, pg.Wrap("continue a recovery", err)
}

func (r *recoveryRow) step() channelhealth.RecoveryStep {
	return channelhealth.RecoveryStep{
		Done: r.State != string(channelhealth.RecoveryRunning), Total: r.Total, Sent: r.Sent, Skipped: r.Skipped, Failed: r.Failed,
	}
}

// advance does a step of a recovery that runs and whose row is locked.
func (s *Store) advance(ctx context.Context, tx bun.Tx, r *recoveryRow, limit, outstanding int) ([]vigil.PendingDelivery, error) {
	waiting, again, err := s.settle(ctx, tx, r)
	if err != nil {
		return nil, err
	}
	due, err := s.due(ctx, tx, r, max(0, min(limit, outstanding-waiting)))
	if err != nil {
		return nil, err
	}
	requested := append(again, due...)
	if err := s.request(ctx, tx, r, requested); err != nil {
		return nil, err
	}
	r.SteppedAt = s.db.Instant()
	if r.Sent+r.Skipped+r.Failed >= r.Total {
		r.State, r.FinishedAt = string(channelhealth.RecoveryDone), &r.SteppedAt
	}
	list := make([]vigil.PendingDelivery, len(requested))
	for i := range requested {
		list[i] = requested[i].pendingDelivery(requested[i].CheckName)
	}
	return list, storeRecovery(ctx, tx, r)
}

// settle records the outcomes of requested attempts. It returns how many have none yet, and those
// that are requested again, since their process died before the outcome was stored.
func (s *Store) settle(ctx context.Context, tx bun.Tx, r *recoveryRow) (waiting int, again []itemRow, err error) {
	items, err := s.items(ctx, tx, "i.recovery_id = ? AND i.state = 'requested' ORDER BY i.position", r.ID)
	if err != nil {
		return 0, nil, err
	}
	ended := make(map[string][]int)
	for i := range items {
		item := &items[i]
		switch {
		case !item.Found:
			ended["skipped"] = append(ended["skipped"], item.Position)
		case item.Redeliver && !item.Tried || item.Tried && !item.Ended:
			waiting++
		case item.Status == string(vigil.DeliveryDelivered):
			ended["sent"] = append(ended["sent"], item.Position)
		case item.ErrorCode == vigil.AttemptUnknown && item.Requests < maxRequests:
			waiting++
			again = append(again, *item)
		default:
			ended["failed"] = append(ended["failed"], item.Position)
		}
	}
	return waiting, again, end(ctx, tx, r, ended)
}

// due returns the next deliveries to request, at most limit. Those that need no attempt, or can
// have none, end without it.
func (s *Store) due(ctx context.Context, tx bun.Tx, r *recoveryRow, limit int) ([]itemRow, error) {
	const next = `i.recovery_id = ? AND i.state = 'waiting' AND NOT EXISTS (SELECT FROM recovery_items AS p
		WHERE p.recovery_id = i.recovery_id AND p.incident_id = i.incident_id AND p.position < i.position
			AND p.state IN ('waiting', 'requested')) ORDER BY i.position LIMIT ?`
	var due []itemRow
	for len(due) < limit {
		items, err := s.items(ctx, tx, next, r.ID, 2*limit+16)
		if err != nil {
			return nil, err
		}
		ended := make(map[string][]int)
		due = due[:0]
		for i := range items {
			item := &items[i]
			switch {
			case !item.Found || !item.Kept || item.Status == string(vigil.DeliveryDelivered):
				ended["skipped"] = append(ended["skipped"], item.Position)
			case item.Broken:
				ended["failed"] = append(ended["failed"], item.Position)
			case item.Redeliver: // another request's attempt comes first
			case len(due) < limit:
				due = append(due, *item)
			}
		}
		if len(ended) == 0 {
			break
		}
		if err := end(ctx, tx, r, ended); err != nil {
			return nil, err
		}
	}
	return due, nil
}

// items reads deliveries of a recovery by a condition.
func (s *Store) items(ctx context.Context, tx bun.Tx, condition string, args ...any) ([]itemRow, error) {
	var rows []itemRow
	err := tx.NewRaw(`SELECT i.position, i.requests, d.*, d.id IS NOT NULL AS found,
			EXISTS (SELECT FROM events AS e WHERE e.id = d.event_id) AS kept, `+checkNameOfDelivery+` AS check_name,
			EXISTS (SELECT FROM recovery_items AS p WHERE p.recovery_id = i.recovery_id AND p.incident_id = i.incident_id
				AND p.position < i.position AND p.state = 'failed') AS broken,
			a.number IS NOT NULL AS tried, a.finished_at IS NOT NULL AS ended, coalesce(a.error_code, '') AS error_code
		FROM (SELECT i.* FROM recovery_items AS i WHERE `+condition+`) AS i
		LEFT JOIN LATERAL (SELECT `+pg.ModelColumns[deliveryRow](s.db, "d")+` FROM deliveries AS d
			WHERE d.id = i.delivery_id AND `+checkOfDelivery+`) AS d ON true
		LEFT JOIN LATERAL (SELECT a.number, a.finished_at, a.error_code FROM attempts AS a
			WHERE a.delivery_id = d.id AND a.number > i.attempts AND a.manual ORDER BY a.number LIMIT 1) AS a ON true
		ORDER BY i.position`, args...).Scan(ctx, &rows)
	return rows, pg.Wrap("read the deliveries of a recovery", err)
}

// request requests an attempt of each delivery.
func (s *Store) request(ctx context.Context, tx bun.Tx, r *recoveryRow, items []itemRow) error {
	if len(items) == 0 {
		return nil
	}
	positions, deliveries := make([]int, len(items)), make([]uuid.UUID, len(items))
	for i := range items {
		positions[i], deliveries[i] = items[i].Position, items[i].ID
	}
	now := s.db.Instant()
	_, err := tx.NewRaw(`UPDATE deliveries SET redeliver = true, updated_at = ?0, swept_at = ?0, sweep_wait_ms = 0 WHERE id = ANY(?1)`,
		now, pgdialect.Array(deliveries)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("request attempts: %w", err)
	}
	// An attempt that began since the row was read is not the requested one.
	_, err = tx.NewRaw(`UPDATE recovery_items AS i SET state = 'requested', requests = i.requests + 1, attempts = d.attempts
		FROM deliveries AS d WHERE i.recovery_id = ? AND i.position = ANY(?) AND d.id = i.delivery_id`, r.ID, pgdialect.Array(positions)).
		Exec(ctx)
	return pg.Wrap("note what was requested", err)
}

// end records how deliveries of a recovery ended, by the state.
func end(ctx context.Context, tx bun.Tx, r *recoveryRow, ended map[string][]int) error {
	for state, positions := range ended {
		_, err := tx.NewRaw("UPDATE recovery_items SET state = ? WHERE recovery_id = ? AND position = ANY(?)",
			state, r.ID, pgdialect.Array(positions)).Exec(ctx)
		if err != nil {
			return fmt.Errorf("record what became of deliveries: %w", err)
		}
		switch state {
		case "sent":
			r.Sent += len(positions)
		case "skipped":
			r.Skipped += len(positions)
		case "failed":
			r.Failed += len(positions)
		}
	}
	return nil
}
