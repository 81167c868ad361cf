// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil/storage/pg"
)

// Missing says which results could not be read because their database is away.
type Missing struct {
	mu      sync.Mutex
	regions map[string]bool
}

type missingKey struct{}

// WithMissing returns a context whose reads note what they miss.
func WithMissing(ctx context.Context) (context.Context, *Missing) {
	m := &Missing{regions: make(map[string]bool)}
	return context.WithValue(ctx, missingKey{}, m), m
}

// Regions returns the regions whose results are missing, sorted; "*" stands for all that have no database of their own.
func (m *Missing) Regions() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]string, 0, len(m.regions))
	for region := range m.regions {
		list = append(list, region)
	}
	slices.Sort(list)
	return list
}

// miss notes that the results of a database are missing.
func (h *home) miss(ctx context.Context) {
	m, watched := ctx.Value(missingKey{}).(*Missing)
	if !watched {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, region := range h.regions {
		m.regions[region] = true
	}
	if len(h.regions) == 0 {
		m.regions["*"] = true
	}
}

// lockedLimit bounds a read of a database of results while the caller holds locks in that of the definitions.
const lockedLimit = 2 * time.Second

// patience bounds a read of a database of results in a transaction of the other one.
func (h *home) patience(ctx context.Context, db bun.IDB) context.Context {
	if h.own && db != nil {
		return pg.WithQueryLimit(ctx, lockedLimit)
	}
	return ctx
}

// readAll reads from databases, side by side, and returns what each has, in their order. One that is away is left out, and noted.
func readAll[T any](ctx context.Context, from []*home, read func(context.Context, *home) (T, error)) ([]T, error) {
	if len(from) == 1 {
		one, err := read(ctx, from[0])
		return []T{one}, err
	}
	found, there := make([]T, len(from)), make([]bool, len(from))
	work, beside := errgroup.WithContext(ctx)
	for i, h := range from {
		work.Go(func() (err error) {
			if h.usable(beside) != nil {
				h.miss(ctx)
				return nil
			}
			if found[i], err = read(beside, h); err != nil && h.failed(beside, err) {
				h.miss(ctx)
				return nil
			}
			there[i] = err == nil
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, err
	}
	var list []T
	for i := range found {
		if there[i] {
			list = append(list, found[i])
		}
	}
	return list, nil
}

// view is what a reader of figures sees: one snapshot of each database.
type view struct {
	tx    pgx.Tx   // of the definitions, loops and gaps
	homes []pgx.Tx // of results and rollups; the first is tx
}

// viewIdle is for how long one of several databases may wait while another is read.
const viewIdle = "SET LOCAL idle_in_transaction_session_timeout = '60s'"

// snapshot begins a view of databases with results. Its end must be called. That of the definitions is read last: a result that its
// loop knows is in the view then, or stored after it began. Its connection is taken first, as by all that needs several.
func (s *Store) snapshot(ctx context.Context, from []*home) (v view, end func(), err error) {
	tx, done, err := s.db.Snapshot(ctx)
	if err != nil {
		return view{}, nil, err
	}
	v, ends := view{tx: tx, homes: []pgx.Tx{tx}}, []func(){done}
	end = func() {
		for _, one := range ends {
			one()
		}
	}
	if len(from) == 1 {
		return v, end, nil
	}
	for _, h := range from[1:] {
		one, done, err := h.begin(ctx)
		switch {
		case err == nil:
			v.homes, ends = append(v.homes, one), append(ends, done)
		case ctx.Err() != nil || !h.failed(ctx, err) && h.usable(ctx) == nil:
			end()
			return view{}, nil, err
		default:
			h.miss(ctx)
		}
	}
	if _, err := tx.Exec(ctx, viewIdle); err != nil {
		end()
		return view{}, nil, fmt.Errorf("begin: %w", err)
	}
	return v, end, nil
}

// beginLimit bounds how long a view waits for a database of results.
const beginLimit = 2 * time.Second

// begin begins a transaction that reads one snapshot, which is taken at once.
func (h *home) begin(ctx context.Context) (tx pgx.Tx, end func(), err error) {
	if err := h.usable(ctx); err != nil {
		return nil, nil, err
	}
	bounded, cancel := context.WithTimeout(ctx, beginLimit)
	defer cancel()
	if tx, end, err = h.Snapshot(bounded); err != nil {
		return nil, nil, fmt.Errorf("begin in %s: %w", h.name(), err)
	}
	for _, step := range []string{viewIdle, "SELECT 1"} {
		if _, err = tx.Exec(bounded, step); err != nil {
			end()
			return nil, nil, fmt.Errorf("begin in %s: %w", h.name(), err)
		}
	}
	return tx, func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }, nil
}
