package api

import (
	"net/netip"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// pace counts what somebody does in windows of a fixed length, in this process
// alone: enough to slow down guessing and mailing.
type pace struct {
	now    func() time.Time
	length time.Duration
	limit  int

	mu    sync.Mutex
	count map[string]paced
}

type paced struct {
	n    int
	ends time.Time
}

// maxPaced bounds what is remembered.
const maxPaced = 100_000

func newPace(limit int, length time.Duration, now func() time.Time) *pace {
	return &pace{now: now, length: length, limit: limit, count: make(map[string]paced)}
}

// step counts one; beyond the limit it returns the seconds to wait. A limit of 0
// never binds.
func (p *pace) step(who string) (wait int64) {
	if p.limit == 0 {
		return 0
	}
	now := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	seen, ok := p.count[who]
	if !ok && len(p.count) >= maxPaced {
		p.forget(now)
	}
	if !now.Before(seen.ends) {
		seen = paced{ends: now.Add(p.length)}
	}
	if seen.n >= p.limit {
		return int64((seen.ends.Sub(now) + time.Second - 1) / time.Second)
	}
	seen.n++
	p.count[who] = seen
	return 0
}

func (p *pace) forget(now time.Time) {
	for who, seen := range p.count {
		if !now.Before(seen.ends) {
			delete(p.count, who)
		}
	}
	if len(p.count) >= maxPaced {
		clear(p.count)
	}
}

// limitAddress slows down an address that tries the operations which need no
// credential.
func (s *Server) limitAddress(ctx huma.Context, next func(huma.Context)) {
	if wait := s.addresses.step(network(requestOf(ctx.Context()).address)); wait > 0 {
		refuse(ctx, errTooMany("Too many requests from this address", wait))
		return
	}
	next(ctx)
}

// network is what one caller can be expected to hold: an IPv4 address, or the
// /64 around an IPv6 one.
func network(address netip.Addr) string {
	if address.Is6() {
		if prefix, err := address.Prefix(64); err == nil {
			return prefix.String()
		}
	}
	return address.String()
}
