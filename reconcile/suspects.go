package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const (
	// suspectGrace is how late a loop is, beyond its deadline, when its workflow is
	// looked at: a loop whose workflow was terminated need not wait for overdueGrace.
	suspectGrace = 10 * time.Second
	// suspectsPerPass bounds the requests of a pass: an overloaded platform is late
	// everywhere, and describing its workflows helps nothing.
	suspectsPerPass = 20
	// A workflow that runs is looked at again after a wait, which doubles.
	minSuspectWait = 30 * time.Second
	maxSuspectWait = 10 * time.Minute
)

// suspects finds loops that do not run although they should: an operator has terminated
// or cancelled their workflows. A slow loop is left alone.
type suspects struct {
	store loopStore
	lost  func(context.Context, vigil.Loop) (bool, error)
	nudge func(kind string, loop vigil.Loop) repair

	repairs *repairs
	now     func() time.Time

	looked map[loopKey]look
}

// loopKey names a loop.
type loopKey struct {
	check  uuid.UUID
	region string
}

// look is when a workflow was seen to run, and for how long it is left alone since.
type look struct {
	at   time.Time
	wait time.Duration
}

// inspect is one pass.
func (s *suspects) inspect(ctx context.Context, w work) error {
	live, err := s.store.LiveRegions(ctx, vigil.LeaseTimeout)
	if err != nil || len(live) == 0 {
		return err
	}
	late, err := s.store.Overdue(ctx, s.now(), suspectGrace, slices.Sorted(maps.Keys(live)), w.checks(), passLimit)
	if err != nil {
		return err
	}
	chosen := s.choose(late)
	list := make([]repair, len(chosen))
	for i, loop := range chosen {
		list[i] = s.nudge(kindSuspect, loop)
		nudge := list[i].do
		list[i].putOff = nil // only a nudge is marked, and the next look has its own wait
		list[i].do = func(ctx context.Context, lease vigil.SweepLease) error {
			lost, err := s.lost(ctx, loop)
			if err != nil || !lost {
				return err
			}
			return nudge(ctx, lease)
		}
	}
	return s.repairs.run(ctx, w, nudgeParallelism, list)
}

// choose returns the loops to look at now, and forgets those that are late no more.
func (s *suspects) choose(late []vigil.Loop) []vigil.Loop {
	now, looked := s.now(), make(map[loopKey]look, len(late))
	var chosen []vigil.Loop
	for _, loop := range late {
		key := loopKey{loop.CheckID, loop.Region}
		last, known := s.looked[key]
		if len(chosen) < suspectsPerPass && (!known || now.Sub(last.at) >= last.wait) {
			chosen = append(chosen, loop)
			last, known = look{now, min(max(2*last.wait, minSuspectWait), maxSuspectWait)}, true
		}
		if known {
			looked[key] = last
		}
	}
	s.looked = looked
	return chosen
}
