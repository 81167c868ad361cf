package activities

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"vigil"
	"vigil/probe"
)

// How a catalogue keeps up: one query a poll for what changed, reaching back
// by overlap because commits come late, and a full reading now and then for
// whatever was missed all the same.
const (
	cataloguePoll    = time.Second
	catalogueOverlap = 30 * time.Second
	catalogueFull    = 5 * time.Minute
)

// definitionStore is what a catalogue reads.
type definitionStore interface {
	// Definitions returns every active definition of the regions when since
	// is zero, else those that changed at or after it, disabled ones and
	// tombstones included.
	Definitions(ctx context.Context, regions []string, since time.Time) ([]vigil.Definition, []vigil.Tombstone, error)
	Definition(ctx context.Context, checkID uuid.UUID) (vigil.Definition, error)
}

// parser makes a probe of a definition.
type parser interface {
	Parse(t vigil.CheckType, config json.RawMessage, interval time.Duration) (probe.Probe, error)
}

// Catalogue is a worker's copy of the definitions of its regions' checks, kept
// by revision. Every turn looks here before it probes, so a change takes effect
// at the next slot even when no signal about it arrives.
type Catalogue struct {
	store   definitionStore
	parser  parser
	regions []string
	now     func() time.Time
	clock   func(context.Context) (time.Time, error) // that stamps changes
	log     *slog.Logger

	mu      sync.Mutex
	entries map[uuid.UUID]*entry
}

// entry is one definition, ready to run.
type entry struct {
	vigil.Definition
	// probe is nil when the config cannot run, and broken says why.
	probe    probe.Probe
	probeErr error
	// gone: the check exists no more.
	deleted bool
	// replaced is closed when a newer entry takes this one's place.
	replaced chan struct{}
}

// NewCatalogue returns an empty catalogue of the given regions. Load fills it,
// Run keeps it.
func NewCatalogue(store definitionStore, parser parser, regions []string, now func() time.Time, log *slog.Logger) *Catalogue {
	return &Catalogue{
		store: store, parser: parser, regions: regions, now: now, log: log,
		clock:   func(context.Context) (time.Time, error) { return now(), nil },
		entries: make(map[uuid.UUID]*entry),
	}
}

// StampedBy says by which clock changes are stamped when it is not this
// machine's, which may be wrong by minutes. It must be called before Run.
func (c *Catalogue) StampedBy(clock func(context.Context) (time.Time, error)) { c.clock = clock }

// Load reads every active definition and forgets the others. A worker that polls before it has loaded
// would read its checks one by one.
func (c *Catalogue) Load(ctx context.Context) error {
	defs, _, err := c.store.Definitions(ctx, c.regions, time.Time{})
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
	for id, e := range c.entries {
		if !active[id] {
			c.replace(id, e, nil) // a loop that still has it reads it again
		}
	}
	return nil
}

// Run keeps the catalogue until ctx ends. While Postgres is away it works with
// what it has. Since when changes are asked for is told by the clock that stamps
// them (see StampedBy).
func (c *Catalogue) Run(ctx context.Context) {
	tick := time.NewTicker(cataloguePoll)
	defer tick.Stop()
	var since time.Time // by the database
	full := c.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := c.now()
		if began.Sub(full) >= catalogueFull {
			if err := c.Load(ctx); err != nil {
				c.warn(ctx, err)
				continue
			}
			full = began
		}
		at, err := c.clock(ctx)
		if since.IsZero() {
			if since = at; err != nil {
				full = time.Time{} // nobody knows since when changes are missing
			}
		}
		if err == nil {
			err = c.refresh(ctx, since.Add(-catalogueOverlap))
		}
		if err != nil {
			c.warn(ctx, err)
			continue
		}
		since = at
	}
}

// definition returns what is known of a check that is at least as new as the
// revision, reading it when it is not; a check that does not exist has an entry
// that says so.
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

// Len is the number of checks known.
func (c *Catalogue) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries)
}

func (c *Catalogue) refresh(ctx context.Context, since time.Time) error {
	defs, gone, err := c.store.Definitions(ctx, c.regions, since)
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
	return nil
}

// put makes def the entry of its check unless a newer one is there, wakes
// whoever waits on the older, and returns the entry that stands.
func (c *Catalogue) put(def vigil.Definition) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.entries[def.Check.ID]
	if known != nil && known.Check.Revision >= def.Check.Revision {
		return known
	}
	e := &entry{Definition: def, replaced: make(chan struct{})}
	e.probe, e.probeErr = c.parser.Parse(def.Check.Type, def.Check.Config, def.Check.Interval)
	c.replace(def.Check.ID, known, e)
	return e
}

// markDeleted acts on a tombstone. One region of a check may go while the check stays,
// so the check is read again; the tombstone of a check that is gone wakes the
// loops that wait for its next slot.
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

// drop forgets an entry unless a newer one took its place.
func (c *Catalogue) drop(id uuid.UUID, old *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[id] == old {
		c.replace(id, old, nil)
	}
}

// replace puts fresh, or nothing when it is nil, in old's place and wakes who
// waits on old. It needs the lock.
func (c *Catalogue) replace(id uuid.UUID, old, fresh *entry) {
	if fresh == nil {
		delete(c.entries, id)
	} else {
		c.entries[id] = fresh
	}
	if old != nil {
		close(old.replaced)
	}
}

func (c *Catalogue) warn(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.log.WarnContext(ctx, "catalogue not refreshed, working with what is known", "error", err)
	}
}
