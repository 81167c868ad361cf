// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"context"
	"log/slog"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
)

// leaseHealth logs when the process cannot renew its leases, and when its clock is wrong.
// It is used by one goroutine at a time.
type leaseHealth struct {
	log *slog.Logger
	now func() time.Time

	sent       time.Time     // of the last renewal
	parked     bool          // logged as parked
	difference time.Duration // last measured difference of the clocks
	warned     time.Time     // when the difference was logged last; zero: the clock is right
	stopped    bool          // the last warning said that no probes run
}

// failed logs a renewal that failed, and once that the process has stopped probing.
func (h *leaseHealth) failed(ctx context.Context, err error, parked bool) {
	h.log.WarnContext(ctx, "lease not renewed", "error", err)
	if parked && !h.parked {
		h.parked = true
		h.log.WarnContext(ctx, "lease expired: this worker takes no turns and starts no probes until it has renewed it",
			"since_renewal", h.now().Sub(h.sent).Round(time.Millisecond))
	}
}

// renewed logs a successful renewal after a time without a lease, and the clock.
func (h *leaseHealth) renewed(ctx context.Context, sent time.Time, difference time.Duration, lost []string) {
	silent := sent.Sub(h.sent)
	if !h.sent.IsZero() && (h.parked || silent > fleet.LeaseTimeout || len(lost) > 0) {
		h.log.WarnContext(ctx, "lease renewed again: this worker goes on, except with turns of the lost regions, which others may have",
			"since_renewal", silent.Round(time.Millisecond), "lost_regions", lost)
	}
	h.sent, h.parked, h.difference = sent, false, difference
	h.checkClock(ctx, sent, difference)
}

// clockReminder is the shortest time between two warnings about the same difference.
const clockReminder = time.Minute

// checkClock logs a clock that is wrong: when it becomes so, when it becomes so wrong that
// probing stops or goes on, and every minute.
func (h *leaseHealth) checkClock(ctx context.Context, now time.Time, difference time.Duration) {
	wrong, stopped := difference.Abs() > fleet.ClockTolerance, difference.Abs() > fleet.ClockLimit
	switch {
	case !wrong && !h.warned.IsZero():
		h.log.InfoContext(ctx, "the clock of this machine agrees with the database's again")
		h.warned, h.stopped = time.Time{}, false
	case wrong && (h.warned.IsZero() || h.stopped != stopped || now.Sub(h.warned) >= clockReminder):
		h.log.WarnContext(ctx, "the clock of this machine differs from the database's: synchronize both, for example with NTP",
			"difference", difference.Round(time.Millisecond), "probing_stopped", stopped)
		h.warned, h.stopped = now, stopped
	}
}
