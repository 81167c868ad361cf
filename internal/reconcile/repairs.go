// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
)

const (
	// rowTimeout bounds the repair of one row.
	rowTimeout = 10 * time.Second
	// awayRows is how many rows in succession must get no answer before a server counts
	// as away: one row may be locked, and one part of Temporal down.
	awayRows = 3
	// A row whose repair fails is left out for a time that doubles from firstPause to
	// longestPause. One that got no answer is left out for firstPause only, since the cause
	// may be the server.
	firstPause   = 2 * time.Second
	longestPause = 5 * time.Minute
	// maxFailing bounds the memory of rows that fail; beyond it all are tried again.
	maxFailing = 10_000
)

// repair is what a pass does about one row.
type repair struct {
	check  uuid.UUID
	common bool   // the lease is that of the common shard, not of the check's
	kind   string // of the row, for the log
	id     string // of the row, unique within its kind
	do     func(ctx context.Context, lease fleet.SweepLease) error
	// putOff stores that the row failed, so that it is not read again for a while; nil if
	// rows of its kind cannot displace others.
	putOff func(ctx context.Context, lease fleet.SweepLease) error
	// longest is for how long the row is left out at most; 0: longestPause.
	longest time.Duration
}

// ofRegion returns the repair of a row that a check has in a region.
func ofRegion(kind string, check uuid.UUID, region string) repair {
	return repair{check: check, kind: kind, id: region + "/" + check.String()}
}

// ofDelivery returns the repair of the deliveries of an incident to a channel.
func ofDelivery(kind string, d vigil.PendingDelivery) repair {
	return repair{check: d.CheckID, kind: kind, id: d.IncidentID.String() + "/" + d.ChannelID.String()}
}

// repairs runs repairs so that a row that fails delays no other one.
type repairs struct {
	away func(error) bool
	now  func() time.Time
	log  *slog.Logger

	mu      sync.Mutex
	failing map[string]failing // by kind and id
}

// failing is a row whose last repair failed.
type failing struct {
	pause time.Duration
	until time.Time
}

// run makes the repairs, parallelism of them at a time. A row that fails is logged, left
// out for a while and passed over; so is one whose shard another process has. The error
// says that a server is away, so that the remaining rows were not tried.
func (r *repairs) run(ctx context.Context, w work, parallelism int, list []repair) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var group errgroup.Group
	group.SetLimit(parallelism)
	var unanswered atomic.Int32
	for _, one := range list {
		if ctx.Err() != nil {
			break
		}
		if r.paused(one) {
			continue
		}
		group.Go(func() error {
			switch answered, err := r.attempt(ctx, w, one); {
			case answered:
				unanswered.Store(0)
			case unanswered.Add(1) >= awayRows:
				stop(fmt.Errorf("no answer for %d rows in succession: %w", awayRows, err))
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return context.Cause(ctx)
}

// attempt makes one repair. answered is false, with the reason, when the server may be
// away.
func (r *repairs) attempt(ctx context.Context, w work, one repair) (answered bool, err error) {
	shard := fleet.SweepShard(one.check)
	if one.common {
		shard = fleet.CommonShard
	}
	lease, held := w.lease(shard)
	if !held || ctx.Err() != nil {
		return true, nil
	}
	limited, cancel := context.WithTimeout(ctx, rowTimeout)
	defer cancel()
	if err = one.do(limited, lease); err == nil {
		r.repaired(one)
		return true, nil
	}
	if ctx.Err() != nil {
		return true, nil // the pass ended
	}
	answered = !r.isAway(err)
	pause := r.pause(one, answered)
	r.log.WarnContext(ctx, "repair failed and will be retried",
		"kind", one.kind, "id", one.id, "check", one.check, "pause", pause, "error", err)
	if answered && one.putOff != nil {
		if err := one.putOff(limited, lease); err != nil {
			return !r.isAway(err), err
		}
	}
	return answered, err
}

// isAway reports whether an error may say that a server is away.
func (r *repairs) isAway(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || r.away(err)
}

// paused reports whether a row is left out because it failed.
func (r *repairs) paused(one repair) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	row, ok := r.failing[one.kind+one.id]
	return ok && r.now().Before(row.until)
}

// pausedOf returns how many rows of a kind are left out.
func (r *repairs) pausedOf(kind string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for key, row := range r.failing {
		if strings.HasPrefix(key, kind) && now.Before(row.until) {
			n++
		}
	}
	return n
}

// repaired forgets that a row failed: its next failure begins with the shortest pause again.
func (r *repairs) repaired(one repair) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.failing, one.kind+one.id)
}

// pause leaves a row out and returns for how long.
func (r *repairs) pause(one repair, answered bool) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, key := r.now(), one.kind+one.id
	if len(r.failing) >= maxFailing || r.failing == nil {
		r.failing = make(map[string]failing)
	}
	next := firstPause
	if answered {
		next = min(max(2*r.failing[key].pause, firstPause), cmp.Or(one.longest, longestPause))
	}
	r.failing[key] = failing{pause: next, until: now.Add(next)}
	return next
}
