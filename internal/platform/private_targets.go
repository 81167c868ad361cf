// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// privateTargets connects the API, which notices who reaches it, with the guard of the
// probes.
type privateTargets struct {
	guard *egress.Guard
	store privateTargetStore // for the other processes; nil: there are none
	log   *slog.Logger

	mu     sync.Mutex
	reason string // why they were closed
}

// privateTargetStore carries the reason from the API to the workers.
type privateTargetStore interface {
	ClosePrivateTargets(ctx context.Context, reason string) error
	OpenPrivateTargets(ctx context.Context) error
	PrivateTargetsClosed(ctx context.Context) (string, error)
}

// A worker asks each FollowEvery whether the API has closed private targets, which it
// writes within publishTimeout.
const (
	FollowEvery    = 5 * time.Second
	publishTimeout = 10 * time.Second
)

var _ rest.PrivateTargets = (*privateTargets)(nil)

// Open reports whether private addresses can be checked.
func (p *privateTargets) Open() bool { return p.guard.PrivateOpen() }

// Close refuses them from now on, in all processes.
func (p *privateTargets) Close(reason string) {
	if p.close(reason) && p.store != nil {
		go p.publish(reason)
	}
}

// close refuses them in this process; it reports whether they were open.
func (p *privateTargets) close(reason string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason != "" {
		return false
	}
	p.reason = reason
	p.guard.ClosePrivate()
	p.log.WarnContext(context.Background(), "private addresses are refused as targets", "reason", reason)
	return true
}

// publish records the reason for the workers of other processes.
func (p *privateTargets) publish(reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), publishTimeout)
	defer cancel()
	if err := p.store.ClosePrivateTargets(ctx, reason); err != nil {
		p.log.WarnContext(ctx, "workers of other processes do not know that private addresses are refused", "error", err)
	}
}

// Follow closes them when the API of another process has, until ctx ends.
func (p *privateTargets) Follow(ctx context.Context, every time.Duration) {
	for p.Open() {
		if reason, err := p.store.PrivateTargetsClosed(ctx); err == nil && reason != "" {
			p.close(reason)
			return
		}
		if timing.Sleep(ctx, every) != nil {
			return
		}
	}
}

// Closed returns why they were closed, "" when they were not.
func (p *privateTargets) Closed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// warnOpenListeners warns of listeners of the embedded Temporal that other machines can
// reach. It has no login.
func warnOpenListeners(ctx context.Context, s *Settings, log *slog.Logger) {
	if s.TemporalAddress != "" {
		return // the operator's own
	}
	for _, listener := range []struct {
		what, setting string
		address       HostPort
	}{
		{"the embedded Temporal server", "VIGIL_TEMPORAL_LISTEN", s.TemporalListen},
		{"the embedded Temporal UI", "VIGIL_UI_LISTEN", s.UIListen},
	} {
		if !listener.address.Loopback() {
			log.WarnContext(ctx, "a listener without a login can be reached by other machines: every one of them can read and change all workflows",
				"listener", listener.what, "address", string(listener.address), "setting", listener.setting)
		}
	}
}
