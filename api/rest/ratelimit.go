// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Limiter admits requests of organizations within the limits of their tiers. It
// counts out of leases from the store, so that the limit is exact over all
// processes while most requests need no query.
type Limiter struct {
	store   LeaseStore
	limitOf func(account.Tier) int64
	now     func() time.Time
	// sessions counts requests of sessions, by user, background those of open pages, and alone those of organizations while
	// the store does not answer.
	sessions, background, alone *RateWindow

	mu      sync.Mutex
	windows map[uuid.UUID]*orgWindow
}

// LeaseStore is what the limiter needs of the database.
type LeaseStore interface {
	LeaseRate(ctx context.Context, orgID uuid.UUID, want, limit int64) (account.RateLease, error)
}

// NewLimiter returns a limiter; limitOf is how many requests a window admits on
// a tier.
func NewLimiter(store LeaseStore, limitOf func(account.Tier) int64, now func() time.Time) *Limiter {
	return &Limiter{
		store: store, limitOf: limitOf, now: now, windows: make(map[uuid.UUID]*orgWindow),
		sessions: NewRateWindow(SessionRate, time.Minute, now), background: NewRateWindow(SessionRate, time.Minute, now),
		alone: NewRateWindow(SessionRate, time.Minute, now),
	}
}

// LimitOrganization is a middleware that admits a request of an authenticated
// organization, or refuses it with 429. One of a session counts for its user alone, and one that is answered while
// the database is away for its organization in this process alone, up to SessionRate.
func (l *Limiter) LimitOrganization(ctx huma.Context, next func(huma.Context)) {
	req := RequestOf(ctx.Context())
	if req.counted { // it is answered a second time
		next(ctx)
		return
	}
	req.counted = true
	if req.Caller.Session {
		window := l.sessions
		if inBackground(ctx.Context()) {
			window = l.background
		}
		countIn(ctx, next, window, req.Caller.User.ID, "Your sessions made too many requests")
		return
	}
	limit := l.limitOf(req.Caller.Org.Tier)
	if limit == account.Unlimited {
		next(ctx)
		return
	}
	if req.Alone {
		countIn(ctx, next, l.alone, req.Caller.Org.ID, "The organization made too many requests")
		return
	}
	rate, err := l.Admit(ctx.Context(), req.Caller.Org.ID, limit)
	if err != nil {
		refuse(ctx, err)
		return
	}
	req.Rate = rate
	ctx.SetHeader("RateLimit-Policy", fmt.Sprintf(`"org";q=%d;w=%d`, limit, int(account.RateWindow.Seconds())))
	ctx.SetHeader("RateLimit", fmt.Sprintf(`"org";r=%d;t=%d`, rate.Left, rate.Resets))
	if !rate.Admitted {
		refuse(ctx, ErrRate(limit, rate))
		return
	}
	next(ctx)
}

// countIn admits a request within a window of this process, or refuses it.
func countIn(ctx huma.Context, next func(huma.Context), window *RateWindow, id uuid.UUID, refusal string) {
	if wait := window.Count(id.String()); wait > 0 {
		refuse(ctx, ErrTooMany(refusal, wait))
		return
	}
	next(ctx)
}

// ErrTooMany is the error of a limit that was met; it says after how many seconds
// to try again.
func ErrTooMany(what string, seconds int64) error {
	return &vigil.Error{
		Code:    vigil.CodeRateLimited,
		Message: what + "; try again in " + Counted(int(seconds), "second") + ".",
		Details: map[string]any{vigil.RetryDetail: int(seconds)},
	}
}

// ErrRate is the error of an organization that made all requests of its window.
func ErrRate(limit int64, rate Rate) error {
	return ErrTooMany("The organization made its "+strconv.FormatInt(limit, 10)+" requests of this minute", rate.Resets)
}

// Rate is the state of an organization's window after a request.
type Rate struct {
	Admitted bool
	Left     int64 // requests of the window, over all processes
	Resets   int64 // seconds until the window ends, rounded up
}

// orgWindow is what this process knows of an organization's window.
type orgWindow struct {
	mu    sync.Mutex
	limit int64
	mine  int64 // leased and not yet used
	left  int64 // in the store, after the last lease
	size  int64 // of the last lease
	ends  time.Time
}

// Bounds of a lease. A lease that is not used up when the window ends is lost to
// the other processes, so leases grow with the demand and shrink towards the
// end.
const (
	maxLease     = 16
	leaseShare   = 64
	leaseTimeout = 5 * time.Second
	maxWindows   = 10_000
)

// Admit counts a request.
func (l *Limiter) Admit(ctx context.Context, orgID uuid.UUID, limit int64) (Rate, error) {
	w := l.window(orgID)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := l.now()
	fresh := !now.Before(w.ends) || w.limit != limit
	if fresh {
		w.mine, w.left, w.size, w.limit = 0, limit, 0, limit
	}
	if w.mine == 0 && w.left > 0 {
		if err := l.lease(ctx, orgID, w, now); err != nil {
			return Rate{}, err
		}
	}
	admitted := w.mine > 0
	if admitted {
		w.mine--
	}
	return Rate{Admitted: admitted, Left: w.mine + w.left, Resets: max(1, CeilSeconds(w.ends.Sub(now)))}, nil
}

// lease takes a share of the window. It does not end with the request: a granted
// share must not get lost.
func (l *Limiter) lease(ctx context.Context, orgID uuid.UUID, w *orgWindow, now time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	want := max(1, min(2*w.size, maxLease, w.left/leaseShare))
	granted, err := l.store.LeaseRate(ctx, orgID, want, w.limit)
	if err != nil {
		return err
	}
	w.mine, w.left, w.size, w.ends = granted.Granted, granted.Left, want, now.Add(granted.Ends)
	return nil
}

func (l *Limiter) window(orgID uuid.UUID) *orgWindow {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w, ok := l.windows[orgID]; ok {
		return w
	}
	if len(l.windows) >= maxWindows {
		l.forget()
	}
	w := &orgWindow{}
	l.windows[orgID] = w
	return w
}

// forget drops the windows that have ended.
func (l *Limiter) forget() {
	now := l.now()
	for id, w := range l.windows {
		if w.mu.TryLock() {
			if !now.Before(w.ends) {
				delete(l.windows, id)
			}
			w.mu.Unlock()
		}
	}
}
