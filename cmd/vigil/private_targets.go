package main

import (
	"context"
	"log/slog"
	"sync"

	"vigil/api/rest"
	"vigil/egress"
)

// privateTargets connects the API, which notices who reaches it, with the guard of the
// probes.
type privateTargets struct {
	guard *egress.Guard
	log   *slog.Logger

	mu     sync.Mutex
	reason string // why they were closed
}

var _ rest.PrivateTargets = (*privateTargets)(nil)

// Open reports whether private addresses can be checked.
func (p *privateTargets) Open() bool { return p.guard.PrivateOpen() }

// Close refuses them from now on.
func (p *privateTargets) Close(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason != "" {
		return
	}
	p.reason = reason
	p.guard.ClosePrivate()
	p.log.WarnContext(context.Background(), "private addresses are refused as targets", "reason", reason)
}

// Closed returns why they were closed, "" when they were not.
func (p *privateTargets) Closed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// warnOpenListeners warns of listeners of the embedded Temporal that other machines can
// reach. It has no login.
func warnOpenListeners(ctx context.Context, s *settings, log *slog.Logger) {
	if s.TemporalAddress != "" {
		return // the operator's own
	}
	for _, listener := range []struct {
		what, setting string
		address       hostPort
	}{
		{"the embedded Temporal server", "VIGIL_TEMPORAL_LISTEN", s.TemporalListen},
		{"the embedded Temporal UI", "VIGIL_UI_LISTEN", s.UIListen},
	} {
		if !listener.address.loopback() {
			log.WarnContext(ctx, listener.what+" has no login, and other machines can reach it: every one of them can read and change all workflows",
				"address", string(listener.address), "setting", listener.setting)
		}
	}
}
