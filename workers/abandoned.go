package workers

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"vigil"
)

// orphanage is what is left to nudge of workers that fell silent. Each list is
// read once, so that a loop whose next result is far off is nudged once too.
type orphanage map[vigil.Lease][]vigil.Loop

// lookout is what is known of silence. It is filled by a pass that does nothing
// else: whatever keeps the others busy must not look like a Postgres that was away.
type lookout struct {
	mu     sync.Mutex
	silent []vigil.Lease
	calm   time.Time // since when Postgres has answered without a gap; zero: it does not
	looked time.Time // when it last answered
}

// look asks whose lease fell silent.
func (s *Sweep) look(ctx context.Context) error {
	silent, err := s.store.SilentLeases(ctx, leaseSilence)
	now, l := s.now(), &s.lookout
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.calm, l.silent = time.Time{}, nil
		return err
	}
	if l.calm.IsZero() || now.Sub(l.looked) > leaseSilence {
		l.calm = now // nobody could renew while Postgres was away, or nobody looked
	}
	l.looked, l.silent = now, silent
	return nil
}

// believed returns the silent leases once their silence can only be their own.
// Until then it is not known whose is; blind says that Postgres did not answer.
func (l *lookout) believed(now time.Time) (silent []vigil.Lease, known, blind bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calm.IsZero() {
		return nil, false, true
	}
	if now.Sub(l.looked) > leaseSilence || l.looked.Sub(l.calm) < settled {
		return nil, false, false
	}
	return slices.Clone(l.silent), true, false
}

// abandoned nudges the loops of workers that no longer renew their lease, at
// once: their turns would end only at their timeouts. A region without a live
// worker is left alone, its loops wait for one.
func (s *Sweep) abandoned(ctx context.Context) error {
	silent, known, blind := s.lookout.believed(s.now())
	if blind {
		s.orphans = nil
	}
	if !known {
		return nil
	}
	for lease := range s.orphans {
		if !slices.Contains(silent, lease) {
			delete(s.orphans, lease) // it is forgotten, or was only slow
		}
	}
	if len(silent) == 0 {
		return nil
	}
	live, err := s.store.LiveRegions(ctx, leaseSilence)
	if err != nil {
		return err
	}
	left := sweepBatch
	for _, lease := range silent {
		if _, served := live[lease.Region]; !served {
			continue
		}
		nudged, err := s.adopt(ctx, lease, left)
		if err != nil {
			return err
		}
		if left -= nudged; left <= 0 {
			break
		}
	}
	return nil
}

// adopt nudges at most that many loops of a silent worker and returns how many
// it were. When none is left it forgets the lease, but remembers that it has
// nudged them until the lookout, which may have looked before, misses it too.
func (s *Sweep) adopt(ctx context.Context, lease vigil.Lease, most int) (int, error) {
	loops, known := s.orphans[lease]
	if !known {
		var err error
		if loops, err = s.store.AbandonedLoops(ctx, lease); err != nil {
			return 0, err
		}
		if len(loops) > 0 { // else it stopped in good order, and others have them
			s.log.WarnContext(ctx, "worker fell silent, its loops are nudged", "worker", lease.Worker, "region", lease.Region, "loops", len(loops))
		}
		if s.orphans == nil {
			s.orphans = make(orphanage)
		}
		s.orphans[lease] = loops
	}
	n := min(most, len(loops))
	failed, err := each(ctx, loops[:n], s.nudge)
	loops = slices.Concat(failed, loops[n:])
	if s.orphans[lease] = loops; err != nil || len(loops) > 0 {
		return n, err
	}
	return n, s.store.ForgetLease(ctx, lease, leaseSilence)
}

// atOnce is how many loops are started or signalled side by side: a server that
// is busy answers each slowly, and many in the same time.
const atOnce = 8

// each does something to every loop, and stops at the first failure: what is
// away for one loop is away for all. It returns the loops that are left.
func each(ctx context.Context, loops []vigil.Loop, do func(context.Context, vigil.Loop) error) ([]vigil.Loop, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	done := make([]bool, len(loops))
	for i, loop := range loops {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			err := do(ctx, loop)
			done[i] = err == nil
			return err
		})
	}
	err := group.Wait()
	var left []vigil.Loop
	for i, loop := range loops {
		if !done[i] {
			left = append(left, loop)
		}
	}
	return left, err
}
