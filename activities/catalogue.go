// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// How a catalogue follows changes of definitions.
const (
	// cataloguePoll is the time between two queries for changes.
	cataloguePoll = time.Second
	// catalogueFull is the time between two full loads, which correct what the
	// polls may have missed.
	catalogueFull = 5 * time.Minute
	// catalogueRetry is the time from a full load that failed to the next one. The polls go on
	// meanwhile: a database that is too slow for the one may answer the others.
	catalogueRetry = 30 * time.Second
	// cataloguePollTimeout and catalogueFullTimeout bound one poll and one full load, so
	// that a database that does not answer cannot stop the ones after it.
	cataloguePollTimeout = 15 * time.Second
	catalogueFullTimeout = 3 * time.Minute
)

// definitionStore reads definitions.
type definitionStore interface {
	// Definitions returns every active definition of the regions when the cursor is
	// empty; otherwise those that changed since, disabled ones included, and the
	// tombstones created since then. Next is the cursor of the call after it; when it is
	// empty, everything must be read again.
	Definitions(ctx context.Context, regions []string, cursor string) (
		defs []vigil.Definition, gone []vigil.Tombstone, next string, err error)
	// Definition returns one definition, disabled or not; an unknown check is a
	// CodeNotFound error.
	Definition(ctx context.Context, checkID uuid.UUID) (vigil.Definition, error)
}

// parser creates the probe of a definition.
type parser interface {
	Parse(t vigil.CheckType, config json.RawMessage, interval time.Duration) (probe.Probe, error)
}

// Catalogue is a worker's cache of the definitions of the checks in its regions. Every
// turn reads it before it probes, so a change takes effect at the next slot even when
// the signal about it is lost. It is safe for concurrent use.
type Catalogue struct {
	store   definitionStore
	parser  parser
	regions []string
	now     func() time.Time
	log     *slog.Logger

	maintenance windows

	mu      sync.Mutex
	entries map[uuid.UUID]*entry
	cursor  string // of what was read last; empty: everything must be read
}

// entry is one definition, ready to run.
type entry struct {
	vigil.Definition
	// probe is nil when the config cannot run; probeErr is the reason.
	probe    probe.Probe
	probeErr error
	// heartbeat is how results arrive for a check that is not probed; nil for every other one.
	heartbeat *vigil.Heartbeat
	// deleted: the check does not exist any more.
	deleted bool
	// slow: the last probe took long.
	slow atomic.Bool
	// replaced is closed when a newer entry replaces this one, or it is dropped.
	replaced chan struct{}
}

// CatalogueOptions are what a Catalogue needs.
type CatalogueOptions struct {
	Store   definitionStore
	Parser  parser
	Regions []string // region keys
	Now     func() time.Time
	// Maintenance is where windows are read; nil: there are none.
	Maintenance maintenanceStore
	Log         *slog.Logger
}

// NewCatalogue returns an empty catalogue. Load fills it, and Run keeps it up to date.
func NewCatalogue(opts CatalogueOptions) *Catalogue {
	return &Catalogue{
		store: opts.Store, parser: opts.Parser, regions: opts.Regions, now: opts.Now, log: opts.Log,
		entries: make(map[uuid.UUID]*entry), maintenance: windows{store: opts.Maintenance},
	}
}

// Load reads every active definition and drops the others. A worker must call it before
// it polls for tasks, or it would read its checks one by one.
func (c *Catalogue) Load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, catalogueFullTimeout)
	defer cancel()
	if err := c.maintenance.load(ctx, c.now()); err != nil {
		return err
	}
	defs, _, next, err := c.store.Definitions(ctx, c.regions, "")
	if err != nil {
		return err
	}
	active := make(map[uuid.UUID]bool, len(defs))
	for _, def := range defs {
		c.put(def)
		active[def.Check.ID] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cursor = next
	for id, e := range c.entries {
		if !active[id] {
			c.replace(id, e, nil) // a turn that still uses it reads it again
		}
	}
	return nil
}

// Run keeps the catalogue up to date until ctx ends. While Postgres is unavailable the
// catalogue keeps its last definitions.
func (c *Catalogue) Run(ctx context.Context) {
	tick := time.NewTicker(cataloguePoll)
	defer tick.Stop()
	full := c.now().Add(catalogueFull)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := c.now()
		var err error
		if !began.Before(full) {
			full = began.Add(catalogueFull)
			if err = c.Load(ctx); err != nil {
				full = c.now().Add(catalogueRetry)
			}
		}
		polling, cancel := context.WithTimeout(ctx, cataloguePollTimeout)
		err = errors.Join(err, c.refresh(polling), c.maintenance.refresh(polling, began))
		cancel()
		if err != nil {
			c.warn(ctx, err)
		}
	}
}

// definition returns the entry of a check at this revision or a newer one, and reads it
// from the store when the cached entry is older or missing. A check that does not exist
// has an entry with deleted set.
func (c *Catalogue) definition(ctx context.Context, id uuid.UUID, revision int64) (*entry, error) {
	c.mu.Lock()
	known := c.entries[id]
	c.mu.Unlock()
	if known != nil && (known.deleted || known.Check.Revision >= revision) {
		return known, nil
	}
	def, err := c.store.Definition(ctx, id)
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		return &entry{deleted: true, replaced: make(chan struct{})}, nil
	case err != nil:
		return nil, err
	}
	return c.put(def), nil
}

// cached returns the entry of a check at this revision or a newer one, nil when there is
// none without reading the store.
func (c *Catalogue) cached(id uuid.UUID, revision int64) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.entries[id]; known != nil && !known.deleted && known.Check.Revision >= revision {
		return known
	}
	return nil
}

// Len returns the number of cached checks.
func (c *Catalogue) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

// HasTarget reports whether a target of a check that runs here matches.
func (c *Catalogue) HasTarget(matches func(target string) bool) bool {
	c.mu.Lock()
	entries := slices.Collect(maps.Values(c.entries))
	c.mu.Unlock()
	return slices.ContainsFunc(entries, func(e *entry) bool {
		return e.probe != nil && !e.deleted && slices.ContainsFunc(c.regions, func(region string) bool {
			_, runs := e.Schedule(region)
			return runs
		}) && matches(e.probe.Target())
	})
}

// refresh reads what changed since the last read. The cursor moves on once all of it is known.
func (c *Catalogue) refresh(ctx context.Context) error {
	c.mu.Lock()
	cursor := c.cursor
	c.mu.Unlock()
	if cursor == "" {
		return c.Load(ctx)
	}
	defs, gone, next, err := c.store.Definitions(ctx, c.regions, cursor)
	if err != nil {
		return err
	}
	for _, def := range defs {
		c.put(def)
	}
	for _, t := range gone {
		if err := c.markDeleted(ctx, t); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cursor = next
	return nil
}

// put makes def the entry of its check unless the current entry is as new, and returns
// the current entry. It closes replaced of the older entry.
func (c *Catalogue) put(def vigil.Definition) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.entries[def.Check.ID]
	if known != nil && known.Check.Revision >= def.Check.Revision {
		return known
	}
	e := &entry{Definition: def, replaced: make(chan struct{})}
	e.probe, e.probeErr = c.parser.Parse(def.Check.Type, def.Check.Config, def.Check.Interval)
	if def.Check.Type == vigil.TypeHeartbeat && e.probeErr == nil {
		if h, err := vigil.HeartbeatOf(def.Check.Config); err == nil {
			e.heartbeat = &h
		}
	}
	c.replace(def.Check.ID, known, e)
	return e
}

// markDeleted handles a tombstone. A check may lose one region and keep the others, so
// its definition is read again; when the check does not exist any more, its entry is
// dropped, which wakes the turns that wait for its next slot.
func (c *Catalogue) markDeleted(ctx context.Context, t vigil.Tombstone) error {
	c.mu.Lock()
	known := c.entries[t.CheckID]
	c.mu.Unlock()
	if known == nil {
		return nil
	}
	if _, has := known.Starts[t.Region]; !has {
		return nil
	}
	def, err := c.store.Definition(ctx, t.CheckID)
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		c.drop(t.CheckID, known)
		return nil
	case err != nil:
		return err
	}
	c.put(def)
	return nil
}

// drop removes an entry unless a newer one has replaced it.
func (c *Catalogue) drop(id uuid.UUID, old *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[id] == old {
		c.replace(id, old, nil)
	}
}

// replace replaces old by next, or removes it when next is nil, and wakes the turns that
// wait on old. The caller must hold c.mu.
func (c *Catalogue) replace(id uuid.UUID, old, next *entry) {
	if next == nil {
		delete(c.entries, id)
	} else {
		c.entries[id] = next
	}
	if old != nil {
		close(old.replaced)
	}
}

// warn logs that the catalogue stays as it was: probes go on with the last definitions.
func (c *Catalogue) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.log.WarnContext(ctx, "catalogue not refreshed, using the last definitions", "error", err)
	}
}
