// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil/internal/simulate"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// written is what Temporal has written into its database so far.
type written struct {
	transitions int64 // updates of executions, each a state transition
	bytes       int64 // size of the database with its indexes
	history     int64 // of it the tables of histories
	wal         int64 // log written by the whole cluster, Vigil's own part included
}

func (s *cluster) writes(ctx context.Context) (written, error) {
	var w written
	// A session publishes its counters when it has been idle for about a second.
	err := s.history.QueryRowContext(ctx, `
		SELECT (SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'executions'),
			pg_database_size(current_database()),
			pg_total_relation_size('history_node') + pg_total_relation_size('history_tree'),
			pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint`).
		Scan(&w.transitions, &w.bytes, &w.history, &w.wal)
	if err != nil {
		return w, fmt.Errorf("read Temporal's database: %w", err)
	}
	return w, nil
}

// restart kills the worker and Temporal, starts them again and waits until every
// loop has its turn on the new worker, and then until each has a result. It returns how long that took.
func (s *cluster) restart(ctx context.Context, o LoopOptions) (*simulate.Recovery, error) {
	before, err := usageOf(s.postgres.PID(), true)
	if err != nil {
		return nil, err
	}
	for _, p := range []*part{s.worker, s.temporal} {
		if p != nil {
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
	began := time.Now()
	if s.temporal != nil {
		var served struct {
			Address string `json:"temporal_address"`
		}
		s.temporal, err = spawn(ctx, "temporal", append(s.env, "VIGIL_TEMPORAL_LISTEN="+s.address()), &served, "temporal", "--json")
		if err != nil {
			return nil, err
		}
	}
	if s.worker, err = s.startWorker(ctx); err != nil {
		return nil, err
	}
	pattern := fmt.Sprintf("%%/%d/%%", s.worker.pid())
	turns, err := s.since(ctx, began, o.Loops, "SELECT count(*) FROM check_regions WHERE worker LIKE $1", pattern)
	if err != nil {
		return nil, err
	}
	after, err := usageOf(s.postgres.PID(), true)
	if err != nil {
		return nil, err
	}
	worker, err := usageOf(s.worker.pid(), false)
	if err != nil {
		return nil, err
	}
	results, err := s.since(ctx, began, o.Loops, "SELECT count(*) FROM check_regions WHERE last_time >= $1", began)
	if err != nil {
		return nil, err
	}
	recovered := &simulate.Recovery{
		Took: turns.Seconds(), Results: results.Seconds(), Worker: worker.cpu.Seconds(), Postgres: (after.cpu - before.cpu).Seconds(),
	}
	_, err = fmt.Fprintf(
		o.Out, "  after kill -9 of worker and Temporal: every loop had a turn again %.1f s after the start, and a result after %.1f s\n\n",
		turns.Seconds(), results.Seconds(),
	)
	return recovered, err
}

// address is where Temporal listens.
func (s *cluster) address() string {
	const name = "TEMPORAL_ADDRESS="
	for _, variable := range s.env {
		if len(variable) > len(name) && variable[:len(name)] == name {
			return variable[len(name):]
		}
	}
	return ""
}

// since waits until a query counts all loops, and says how long that took.
func (s *cluster) since(ctx context.Context, began time.Time, loops int, query string, arg any) (time.Duration, error) {
	for {
		var n int
		if err := s.db.QueryRowContext(ctx, query, arg).Scan(&n); err != nil {
			return 0, err
		}
		if n >= loops {
			return time.Since(began), nil
		}
		if err := timing.Sleep(ctx, 200*time.Millisecond); err != nil {
			return 0, err
		}
	}
}
