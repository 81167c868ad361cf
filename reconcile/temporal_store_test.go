package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"vigil"
	"vigil/reconcile"
)

// sentinels is the sentinels of a Temporal: true for one that is open.
type sentinels struct {
	mu      sync.Mutex
	known   map[int64]bool
	started int
	away    bool
}

func (s *sentinels) Find(_ context.Context, generation int64) (found, open bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return false, false, errAway
	}
	open, found = s.known[generation]
	return found, open, nil
}

func (s *sentinels) Start(_ context.Context, generation int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[int64]bool)
	}
	s.known[generation] = true
	s.started++
	return nil
}

func (s *sentinels) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// generations keeps the generation; fences are those of the advances.
type generations struct {
	emptyStore

	mu     sync.Mutex
	now    int64
	fences []int64
}

func (g *generations) TemporalGeneration(context.Context) (int64, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now, nil
}

func (g *generations) AdvanceTemporalGeneration(_ context.Context, lease vigil.SweepLease, to int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if to != g.now+1 {
		return false, nil
	}
	g.now, g.fences = to, append(g.fences, lease.Fence)
	return true, nil
}

func TestTemporalStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		temporal, store := &sentinels{}, &generations{}
		options := optionsOf(store, &workflows{})
		options.Sentinel, options.Generations = temporal, store
		sweep := reconcile.New(options)
		if err := sweep.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect := func(fact string, generation int64, started int) {
			t.Helper()
			time.Sleep(3 * time.Second)
			now, _ := store.TemporalGeneration(t.Context())
			temporal.mu.Lock()
			defer temporal.mu.Unlock()
			if now != generation || temporal.started != started {
				t.Errorf("%s: generation %d and %d starts of a sentinel, want %d and %d", fact, now, temporal.started, generation, started)
			}
		}
		expect("the first sentinel is started", 1, 1)
		temporal.change(func() { temporal.away = true })
		expect("a Temporal that is away has lost nothing", 1, 1)
		temporal.change(func() { temporal.away, temporal.known[1] = false, false })
		expect("a sentinel that somebody closed is started again", 1, 2)
		temporal.change(func() { clear(temporal.known) })
		expect("a store without the sentinel is the next generation", 2, 3)
		temporal.change(func() { clear(temporal.known); temporal.known[1] = true })
		expect("so is one that was restored from before", 3, 4)
		if err := sweep.Stop(); err != nil {
			t.Error(err)
		}
		for _, fence := range store.fences {
			if fence != 1 {
				t.Errorf("advanced under fence %d", fence)
			}
		}
	})
}
