// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
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
			if h.usable(beside) == nil {
				found[i], err = read(beside, h)
				there[i] = err == nil
			}
			if there[i] || err != nil && (!h.own || !pg.Retryable(err) || beside.Err() != nil) {
				return err
			}
			if err != nil {
				h.lost(beside, err)
			}
			h.miss(ctx)
			return nil
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

// snapshot begins a view of databases with results. Its end must be called. That of the definitions is read last: a result that its
// loop knows is in the view then, or stored after it began.
func (s *Store) snapshot(ctx context.Context, from []*home) (v view, end func(), err error) {
	var ends []func()
	end = func() {
		for _, one := range ends {
			one()
		}
	}
	for _, h := range from[1:] {
		tx, done, err := h.begin(ctx)
		switch {
		case err == nil:
			v.homes, ends = append(v.homes, tx), append(ends, done)
		case ctx.Err() != nil:
			end()
			return view{}, nil, err
		default:
			h.miss(ctx)
		}
	}
	tx, done, err := s.db.Snapshot(ctx)
	if err != nil {
		end()
		return view{}, nil, err
	}
	ends = append(ends, done)
	return view{tx: tx, homes: append([]pgx.Tx{tx}, v.homes...)}, end, nil
}

// begin begins a transaction that reads one snapshot, which is taken at once.
func (h *home) begin(ctx context.Context) (tx pgx.Tx, end func(), err error) {
	if err := h.usable(ctx); err != nil {
		return nil, nil, err
	}
	if tx, end, err = h.Snapshot(ctx); err == nil {
		if _, err = tx.Exec(ctx, "SELECT 1"); err == nil {
			return tx, end, nil
		}
		end()
	}
	h.lost(ctx, err)
	return nil, nil, fmt.Errorf("begin in %s: %w", h.name(), err)
}
