// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Database is one that keeps results alone.
type Database struct {
	// Region is the region whose results it keeps; empty for all regions that have no database of their own.
	Region string
	// DSN is its address, a URL or a keyword string.
	DSN string
}

const (
	// answerLimit bounds the question whether a database of results answers. For answerTrust one that did counts as there, and
	// for answerRest one that did not is left alone.
	answerLimit, answerTrust, answerRest = time.Second, time.Second, 2 * time.Second
)

// home is a database that keeps results with what is summed from them.
type home struct {
	*pg.DB

	own     bool     // it keeps results alone: the loops are in another one
	regions []string // whose results are stored there; none: all that have no other
	others  *Homes   // among which it is

	mu    sync.Mutex
	until time.Time // for how long err is known
	err   error     // why it cannot be used; nil: it can
	ready bool      // its schema is complete

	knownMu sync.Mutex
	known   []*pendingRow // whose notes go with the next group
}

// Homes are the databases that keep results, that of the definitions first. Results are stored in the one of their region, and
// read from all: what came before a region had one of its own, or while that was away, is in the first.
type Homes struct {
	all      []*home
	rest     *home // of regions without one of their own
	byRegion map[string]*home

	mu   sync.Mutex
	byID map[string]*home // by the cluster and the number of the database
}

// OpenHomes opens the databases of results beside that of the definitions. They need not answer yet. Two addresses of one database
// are one; that of the definitions, or of another program, is an error.
func OpenHomes(ctx context.Context, main *pg.DB, list []Database, opts pg.Options) (*Homes, error) {
	first := &home{DB: main}
	h := &Homes{all: []*home{first}, rest: first, byRegion: make(map[string]*home), byID: make(map[string]*home)}
	byDSN := make(map[string]*home)
	for _, one := range list {
		at := byDSN[one.DSN]
		if at == nil {
			opts.Results, opts.MayBeAway = true, true
			db, err := pg.Open(ctx, one.DSN, opts)
			if err != nil {
				return nil, h.fail(one, err) //nolint:contextcheck // a goodbye has a bound of its own
			}
			at = &home{DB: db, own: true, others: h}
			h.all, byDSN[one.DSN] = append(h.all, at), at
			if err := at.refuseOther(ctx); err != nil {
				return nil, h.fail(one, err) //nolint:contextcheck // a goodbye has a bound of its own
			}
		}
		if one.Region == "" {
			h.rest, at.regions = at, nil
			continue
		}
		if h.byRegion[one.Region] = at; at != h.rest {
			at.regions = append(at.regions, one.Region)
		}
	}
	return h, nil
}

func (h *Homes) fail(of Database, err error) error {
	h.close()
	if of.Region != "" {
		return fmt.Errorf("the database of the results of %s: %w", of.Region, err)
	}
	return fmt.Errorf("the database of results: %w", err)
}

// close closes the databases of results alone, and returns the first error.
func (h *Homes) close() (first error) {
	for _, at := range h.all[1:] {
		if err := at.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// refuseOther returns an error for a database that has tables which are not of results.
func (h *home) refuseOther(ctx context.Context) error {
	if h.Answers(ctx, answerLimit) != nil {
		return nil // it is looked at when it answers
	}
	var definitions bool
	err := h.NewRaw("SELECT to_regclass('checks') IS NOT NULL").Scan(ctx, &definitions)
	if err == nil && definitions {
		return vigil.Errorf(vigil.CodeConflict, "it is a database of definitions: results of their own need one that is empty at first")
	}
	return err
}

// of returns where the results of a region are stored.
func (h *Homes) of(region string) *home {
	if at := h.byRegion[region]; at != nil {
		return at
	}
	return h.rest
}

// divided divides rows, in their order, by the databases that they belong into.
func (h *Homes) divided(rows []*pendingRow) [][]*pendingRow {
	if len(rows) == 0 {
		return nil
	}
	if len(h.all) == 1 {
		return [][]*pendingRow{rows}
	}
	byHome := make(map[*home][]*pendingRow, len(h.all))
	for _, p := range rows {
		at := h.of(p.result.Region)
		byHome[at] = append(byHome[at], p)
	}
	var parts [][]*pendingRow
	for _, at := range h.all {
		if part := byHome[at]; len(part) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}

// with returns the databases that may have results of some regions.
func (h *Homes) with(regions ...string) []*home {
	list := h.all[:1:1]
	for _, region := range regions {
		for _, at := range []*home{h.of(region), h.rest} {
			if !slices.Contains(list, at) {
				list = append(list, at)
			}
		}
	}
	return list
}

// name is what people call it.
func (h *home) name() string {
	switch {
	case !h.own:
		return "the database"
	case len(h.regions) == 0:
		return "the database of results"
	}
	return "the database of the results of " + strings.Join(h.regions, ", ")
}

// usable returns why the database cannot be used now; nil when it can. It asks at most once a second.
func (h *home) usable(ctx context.Context) error {
	if !h.own {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now().Before(h.until) {
		return h.err
	}
	err := h.ask(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx) // it says nothing of the database
	}
	h.note(ctx, err)
	return err
}

func (h *home) ask(ctx context.Context) error {
	if err := h.Answers(ctx, answerLimit); err != nil || h.ready {
		return err
	}
	if err := h.refuseOther(ctx); err != nil {
		return err
	}
	if err := h.Ready(ctx); err != nil {
		return err
	}
	var id string
	err := h.NewRaw(`SELECT system_identifier::text || '/' || (SELECT oid::text FROM pg_database WHERE datname = current_database())
		FROM pg_control_system()`).Scan(ctx, &id)
	if err != nil {
		return fmt.Errorf("read which database it is: %w", err)
	}
	if !h.others.claim(h, id) {
		return vigil.Errorf(vigil.CodeConflict, "it is the same database as another one of results, by another address: name both alike")
	}
	h.ready = true
	return nil
}

// claim notes which database a home is, and reports whether no other one is the same.
func (h *Homes) claim(at *home, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if first := h.byID[id]; first != nil && first != at {
		return false
	}
	h.byID[id] = at
	return true
}

// note keeps what was found of the database. The lock is held.
func (h *home) note(ctx context.Context, err error) {
	switch {
	case err != nil && h.err == nil:
		h.Log.WarnContext(
			ctx,
			"a database of results is away: its results are kept with the definitions meanwhile",
			"regions",
			h.regions,
			"error",
			err,
		)
	case err == nil && h.err != nil:
		h.Log.InfoContext(ctx, "a database of results is back", "regions", h.regions)
	}
	rest := answerTrust
	if err != nil {
		rest = answerRest
	}
	h.err, h.until = err, now().Add(rest)
}

// lost notes that a statement failed because the database is away.
func (h *home) lost(ctx context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(ctx, err)
}

// failed asks again whether the database can be used after a read has failed, and reports whether it cannot: what a read waits for
// may be a place in the pool, or be long.
func (h *home) failed(ctx context.Context, err error) (away bool) {
	if !h.own || !unreachable(err) || ctx.Err() != nil {
		return false
	}
	h.mu.Lock()
	h.until = time.Time{}
	h.mu.Unlock()
	return h.usable(ctx) != nil
}

// migrate brings the schema of a database of results up to date. It is done once for each process.
func (h *home) migrate(ctx context.Context) error {
	h.mu.Lock()
	ready := h.ready
	h.mu.Unlock()
	if ready {
		return nil
	}
	if err := h.Answers(ctx, answerLimit); err != nil {
		return err
	}
	if err := h.refuseOther(ctx); err != nil {
		return err
	}
	if _, err := h.Migrate(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = time.Time{} // it can be used at once
	return nil
}

// unlessAway returns an error, with the name of the database, unless it is that the database does not answer.
func (h *home) unlessAway(ctx context.Context, err error) error {
	if err == nil || h.own && h.Answers(ctx, answerLimit) != nil {
		return nil
	}
	if !h.own {
		return err
	}
	return fmt.Errorf("%s: %w", h.name(), err)
}

// each runs work on each database that is there, and joins the errors.
func (h *Homes) each(ctx context.Context, work func(*home) error) error {
	var errs []error
	for _, at := range h.all {
		if at.usable(ctx) == nil {
			errs = append(errs, at.unlessAway(ctx, work(at)))
		}
	}
	return errors.Join(errs...)
}

// HomeState is how a database that keeps results alone is.
type HomeState struct {
	Region string // whose results it keeps; empty: of all that have no other
	Err    error  // why it cannot be used
}

// HomeStates looks at the databases that keep results alone.
func (s *Store) HomeStates(ctx context.Context) (list []HomeState) {
	for _, h := range s.homes.all[1:] {
		err := h.usable(ctx)
		for _, region := range h.regions {
			list = append(list, HomeState{region, err})
		}
		if len(h.regions) == 0 {
			list = append(list, HomeState{Err: err})
		}
	}
	return list
}

// MigrateHomes brings the schemas of the databases that keep results alone up to date. One that is away is left for EnsurePartitions.
func (s *Store) MigrateHomes(ctx context.Context) error {
	var errs []error
	for _, h := range s.homes.all[1:] {
		errs = append(errs, h.unlessAway(ctx, h.migrate(ctx)))
	}
	return errors.Join(errs...)
}

// now is the clock of a machine, which a test's clock must not stop.
func now() time.Time { return time.Now() } //nolint:forbidigo // durations only
