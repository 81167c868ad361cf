package api

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"vigil"
)

// rateRequests is how many requests a window admits (spec section 8).
const rateRequests = 1000

// rateOf is how many requests a window admits on a tier.
func (s *Server) rateOf(tier vigil.Tier) int64 {
	if tier == vigil.TierEnterprise {
		return s.Config.EnterpriseRate
	}
	return rateRequests
}

// limitRate admits a request of an authenticated organization, or refuses it.
func (s *Server) limitRate(ctx huma.Context, next func(huma.Context)) {
	req := requestOf(ctx.Context())
	limit := s.rateOf(req.who.org.Tier)
	if limit == vigil.Unlimited {
		next(ctx)
		return
	}
	rate, err := s.rates.admit(ctx.Context(), req.who.org.ID, limit)
	if err != nil {
		refuse(ctx, err)
		return
	}
	req.rate = rate
	ctx.SetHeader("RateLimit-Policy", fmt.Sprintf(`"org";q=%d;w=%d`, limit, int(vigil.RateWindow.Seconds())))
	ctx.SetHeader("RateLimit", fmt.Sprintf(`"org";r=%d;t=%d`, rate.left, rate.resets))
	if !rate.admitted {
		refuse(ctx, errTooMany("The organization made its "+strconv.FormatInt(limit, 10)+" requests of this minute", rate.resets))
		return
	}
	next(ctx)
}

// errTooMany says when to come back, in seconds.
func errTooMany(what string, seconds int64) error {
	return &vigil.Error{
		Code:    vigil.CodeRateLimited,
		Message: what + "; try again in " + counted(int(seconds), "second") + ".",
		Details: map[string]any{retryDetail: int(seconds)},
	}
}

// rate is where an organization stands after a request.
type rate struct {
	admitted bool
	left     int64 // requests of the window, over all processes
	resets   int64 // seconds until the window ends, rounded up
}

// leases is what the rate limit asks of the store.
type leases interface {
	LeaseRate(ctx context.Context, orgID uuid.UUID, want, limit int64) (vigil.RateLease, error)
}

// rates admits requests out of leases, so that the limit is exact over all
// processes and most requests ask nobody.
type rates struct {
	store leases
	now   func() time.Time

	mu      sync.Mutex
	windows map[uuid.UUID]*rateWindow
}

// rateWindow is what this process knows of an organization's window.
type rateWindow struct {
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

func newRates(store leases, now func() time.Time) *rates {
	return &rates{store: store, now: now, windows: make(map[uuid.UUID]*rateWindow)}
}

// admit counts a request.
func (r *rates) admit(ctx context.Context, orgID uuid.UUID, limit int64) (rate, error) {
	w := r.window(orgID)
	w.mu.Lock()
	defer w.mu.Unlock()
	now := r.now()
	fresh := !now.Before(w.ends) || w.limit != limit
	if fresh {
		w.mine, w.left, w.size, w.limit = 0, limit, 0, limit
	}
	if w.mine == 0 && w.left > 0 {
		if err := r.lease(ctx, orgID, w, now); err != nil {
			return rate{}, err
		}
	}
	admitted := w.mine > 0
	if admitted {
		w.mine--
	}
	return rate{admitted: admitted, left: w.mine + w.left, resets: max(1, int64((w.ends.Sub(now)+time.Second-1)/time.Second))}, nil
}

// lease takes a share of the window. Once asked for it is waited for, whoever
// the request was from: what is granted must not get lost.
func (r *rates) lease(ctx context.Context, orgID uuid.UUID, w *rateWindow, now time.Time) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTimeout)
	defer cancel()
	want := max(1, min(2*w.size, maxLease, w.left/leaseShare))
	granted, err := r.store.LeaseRate(ctx, orgID, want, w.limit)
	if err != nil {
		return err
	}
	w.mine, w.left, w.size, w.ends = granted.Granted, granted.Left, want, now.Add(granted.Ends)
	return nil
}

func (r *rates) window(orgID uuid.UUID) *rateWindow {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, ok := r.windows[orgID]; ok {
		return w
	}
	if len(r.windows) >= maxWindows {
		r.forget()
	}
	w := &rateWindow{}
	r.windows[orgID] = w
	return w
}

// forget drops the windows that have ended.
func (r *rates) forget() {
	now := r.now()
	for id, w := range r.windows {
		if w.mu.TryLock() {
			if !now.Before(w.ends) {
				delete(r.windows, id)
			}
			w.mu.Unlock()
		}
	}
}
