// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// AddTask asks the agents of the location of a region for a probe. A region that is no location is a
// CodeNotFound error.
func (s *Store) AddTask(ctx context.Context, w location.Wanted) error {
	_, err := pg.Row[uuid.UUID](ctx, s.db, `INSERT INTO agent_tasks (id, location_id, check_id, revision, once, deadline)
		SELECT @id, id, @check, @revision, @once, clock_timestamp() + @within * interval '1 millisecond'
		FROM locations WHERE key = @region AND (org_id = @org OR org_id IS NULL) RETURNING id`,
		pg.Named{
			"id": w.ID, "check": w.CheckID, "revision": w.Revision, "once": w.Once, "within": pg.Milliseconds(w.Within),
			"region": w.Region, "org": w.OrgID,
		})
	if pg.IsNoRow(err) {
		return vigil.NotFound("location")
	}
	return pg.Wrap("ask an agent for a probe", err)
}

// WaitingTasks returns the tasks of all locations that no agent has taken.
func (s *Store) WaitingTasks(ctx context.Context) ([]location.Task, error) {
	rows, err := pg.Rows[location.Task](ctx, s.db, `SELECT id, location_id, check_id, revision, once, deadline FROM agent_tasks
		WHERE taken_by IS NULL AND deadline > clock_timestamp() ORDER BY created_at`)
	return rows, pg.Wrap("read the tasks of agents", err)
}

// TakeTask gives a task to a session, unless another one has it.
func (s *Store) TakeTask(ctx context.Context, task, session uuid.UUID) (taken bool, err error) {
	_, err = pg.Row[uuid.UUID](ctx, s.db,
		"UPDATE agent_tasks SET taken_by = $2 WHERE id = $1 AND taken_by IS NULL AND deadline > clock_timestamp() RETURNING id", task, session)
	if pg.IsNoRow(err) {
		return false, nil
	}
	return err == nil, pg.Wrap("give a task to an agent", err)
}

// AnswerTask stores the answer to a task that a session has taken. A task that is over, or of another session, is a CodeNotFound error.
func (s *Store) AnswerTask(ctx context.Context, task, session uuid.UUID, answer *agentlink.TaskAnswer) error {
	raw, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode the answer of an agent: %w", err)
	}
	_, err = pg.Row[uuid.UUID](ctx, s.db,
		"UPDATE agent_tasks SET answer = $3::jsonb WHERE id = $1 AND taken_by = $2 AND answer IS NULL RETURNING id", task, session, string(raw))
	if pg.IsNoRow(err) {
		return vigil.NotFound("task")
	}
	return pg.Wrap("store the answer of an agent", err)
}

// TaskState returns whether an agent has taken a task, and its answer, nil before there is one.
func (s *Store) TaskState(ctx context.Context, task uuid.UUID) (taken bool, answer *vigil.Result, err error) {
	row, err := pg.Row[struct {
		Taken  bool
		Answer json.RawMessage
	}](ctx, s.db, "SELECT taken_by IS NOT NULL AS taken, answer FROM agent_tasks WHERE id = $1", task)
	if err != nil || len(row.Answer) == 0 {
		return row.Taken, nil, pg.Wrap("read a task of an agent", err)
	}
	var said agentlink.TaskAnswer
	if err := json.Unmarshal(row.Answer, &said); err != nil {
		return true, nil, fmt.Errorf("read the answer of an agent: %w", err)
	}
	return true, &vigil.Result{Time: pg.Micro(said.Time), Observation: said.Observation.Observation()}, nil
}

// EndTask deletes a task.
func (s *Store) EndTask(ctx context.Context, task uuid.UUID) error {
	return pg.Wrap("end a task of an agent", pg.Exec(ctx, s.db, "DELETE FROM agent_tasks WHERE id = $1", task))
}
