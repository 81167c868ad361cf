// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/location"
)

// How often results of agents are looked for while turns wait for some, and how long a look may
// take. What was taken is deleted inboxTake later, together. Which public regions agents serve is
// looked at each servedEvery.
const (
	inboxPoll    = 250 * time.Millisecond
	inboxTimeout = 10 * time.Second
	inboxTake    = time.Second
	servedEvery  = 5 * time.Second
)

const (
	// inboxLimit is how many results one look reads. When there are more, each turn reads its own.
	inboxLimit = 5000
	// inboxPage is how many results of its loop a turn has at a time.
	inboxPage = 500
)

// sentStore has what agents have sent.
type sentStore interface {
	// NewSentResults returns what was committed since a cursor, and the next cursor; an empty one says
	// that each turn must read its own.
	NewSentResults(ctx context.Context, cursor string, limit int) ([]location.Sent, string, error)
	// SentResults returns those of a loop, the oldest slots first.
	SentResults(ctx context.Context, checkID uuid.UUID, region string, limit int) ([]location.Sent, error)
	// TakeSentResults deletes what is stored in its slot.
	TakeSentResults(ctx context.Context, ids []int64) error
	// AgentRegions returns the public regions that agents serve.
	AgentRegions(ctx context.Context) ([]string, error)
	// AddTask asks the agents of a region for a probe, until EndTask. TaskState says whether one has
	// taken it, and what it saw, nil before it has answered.
	AddTask(ctx context.Context, wanted location.Wanted) error
	TaskState(ctx context.Context, task uuid.UUID) (taken bool, answer *vigil.Result, err error)
	EndTask(ctx context.Context, task uuid.UUID) error
}

// Inbox hands turns the results that agents have sent. One query asks for those of all turns of the
// process. It is safe for concurrent use.
type Inbox struct {
	store sentStore
	log   *slog.Logger
	woken chan struct{}

	mu     sync.Mutex
	waits  map[loopKey]*sentWait
	cursor string // empty: nothing was read
	taken  []int64
	own    []string // the regions that this process was given to probe
	served []string
	loops  []string // the regions whose loops run here: its own, and those that agents served at the start
}

// NewInbox returns an Inbox; Run keeps it going.
func NewInbox(store sentStore, log *slog.Logger) *Inbox {
	return &Inbox{store: store, log: log, woken: make(chan struct{}, 1), waits: make(map[loopKey]*sentWait)}
}

// sentWait is a turn that waits for results of agents.
type sentWait struct {
	key   loopKey
	ready chan struct{} // has a buffer of one

	// Of Inbox, under its lock.
	sent   []location.Sent // in the order of their slots
	reread bool            // some may have been passed over
}

// Serves reports whether the results of a region come from agents: those of a location, of a region of
// the platform that agents serve, and of one that is not this process's own. A loop of the last
// kind runs here because agents served its region; once they do not any more it waits, as that of a location
// without agents does, since what was seen from this machine was not seen from there.
func (b *Inbox) Serves(region string) bool {
	if b == nil {
		return false
	}
	if vigil.IsLocation(region) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.served, region) || !slices.Contains(b.own, region)
}

// Served returns the public regions whose results come from agents, as they were read last.
func (b *Inbox) Served() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.served)
}

// Wake makes Run look for results at once.
func (b *Inbox) Wake() {
	signal(b.woken)
}

// Load notes the regions that this process was given to probe, and reads which ones agents serve. A worker
// must call it before its first turn: before that nothing is probed.
func (b *Inbox) Load(ctx context.Context, own []string) error {
	b.mu.Lock()
	b.own = slices.Clone(own)
	b.mu.Unlock()
	if err := b.readServed(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loops = slices.Concat(b.own, b.served)
	return nil
}

// readServed reads which regions agents serve. Where that has changed it wakes the turns that wait, since
// theirs may be probed here now.
func (b *Inbox) readServed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, inboxTimeout)
	defer cancel()
	served, err := b.store.AgentRegions(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Equal(served, b.served) {
		return nil
	}
	b.served = served
	for _, key := range served {
		if slices.Contains(b.loops, vigil.LocationsRegion) && !slices.Contains(b.loops, key) {
			b.log.WarnContext(ctx, "agents serve a region that they did not when this process started: it runs the loops of it after a restart",
				"region", key)
		}
	}
	for _, w := range b.waits {
		signal(w.ready)
	}
	return nil
}

// Run looks for results until ctx ends.
func (b *Inbox) Run(ctx context.Context) {
	looks, takes, serves := time.NewTicker(inboxPoll), time.NewTicker(inboxTake), time.NewTicker(servedEvery)
	defer looks.Stop()
	defer takes.Stop()
	defer serves.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-takes.C:
			err = b.deleteTaken(ctx)
		case <-serves.C:
			err = b.readServed(ctx)
		case <-b.woken:
			err = b.look(ctx)
		case <-looks.C:
			err = b.look(ctx)
		}
		if err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "results of agents not read or taken, trying again", "error", err)
		}
	}
}

// look reads what is new and wakes the turns that it is for. While none waits the cursor grows old,
// so the next turn begins with a new one.
func (b *Inbox) look(ctx context.Context) error {
	b.mu.Lock()
	if len(b.waits) == 0 {
		b.cursor = ""
		b.mu.Unlock()
		return nil
	}
	cursor := b.cursor
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, inboxTimeout)
	defer cancel()
	sent, next, err := b.store.NewSentResults(ctx, cursor, inboxLimit)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cursor = next
	if cursor == "" || next == "" {
		for _, w := range b.waits {
			w.reread = true
			signal(w.ready)
		}
		return nil
	}
	for i := range sent {
		if w := b.waits[loopKey{Check: sent[i].CheckID, Region: sent[i].Region}]; w != nil {
			w.add(sent[i])
			signal(w.ready)
		}
	}
	return nil
}

// add adds a result that it does not have yet, in the order of slots.
func (w *sentWait) add(one location.Sent) {
	at, _ := slices.BinarySearchFunc(w.sent, one, func(a, b location.Sent) int { return a.Slot.Compare(b.Slot) })
	if at < len(w.sent) && w.sent[at].Slot.Equal(one.Slot) {
		return
	}
	if len(w.sent) >= inboxPage && at == len(w.sent) {
		w.reread = true // it is read when those before it are taken
		return
	}
	w.sent = slices.Insert(w.sent, at, one)
}

// join begins a wait for results of a loop. It must be left. They are read with the first read.
func (b *Inbox) join(key loopKey) *sentWait {
	w := &sentWait{key: key, ready: make(chan struct{}, 1), reread: true}
	b.mu.Lock()
	b.waits[key] = w
	fresh := b.cursor == ""
	b.mu.Unlock()
	if fresh {
		b.Wake()
	}
	return w
}

func (b *Inbox) leave(w *sentWait) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waits[w.key] == w {
		delete(b.waits, w.key)
	}
}

// first returns the result with the oldest slot, nil when there is none.
func (b *Inbox) first(ctx context.Context, w *sentWait) (*location.Sent, error) {
	b.mu.Lock()
	waits := b.cursor == "" // what comes meanwhile would be passed over
	reread := w.reread && len(w.sent) == 0 && !waits
	if reread {
		w.reread = false
	}
	b.mu.Unlock()
	if waits {
		return nil, nil //nolint:nilnil // there is none yet
	}
	if reread {
		sent, err := b.store.SentResults(ctx, w.key.Check, w.key.Region, inboxPage)
		b.mu.Lock()
		if err != nil || len(sent) == inboxPage {
			w.reread = true // never false: look may have seen meanwhile that more must be read
		}
		if err != nil {
			b.mu.Unlock()
			return nil, err
		}
		sent = slices.DeleteFunc(sent, func(s location.Sent) bool { return slices.Contains(b.taken, s.Number) })
		for i := range sent {
			w.add(sent[i])
		}
		b.mu.Unlock()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(w.sent) == 0 {
		return nil, nil //nolint:nilnil // as above
	}
	return &w.sent[0], nil
}

// take says that a result is in its slot, or need not be.
func (b *Inbox) take(w *sentWait, one int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.sent = slices.DeleteFunc(w.sent, func(s location.Sent) bool { return s.Number == one })
	b.taken = append(b.taken, one)
}

// deleteTaken deletes what was taken.
func (b *Inbox) deleteTaken(ctx context.Context) error {
	b.mu.Lock()
	ids := slices.Clone(b.taken)
	b.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, inboxTimeout)
	defer cancel()
	if err := b.store.TakeSentResults(ctx, ids); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = b.taken[len(ids):]
	return nil
}
