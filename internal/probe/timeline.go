// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"net"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
)

// phase is a part of an exchange. They come in this order; a redirect
// begins again with the first.
type phase int

const (
	phaseStart phase = iota
	phaseDNS
	phaseConnect
	phaseTLS
	phaseWait     // from the connection's readiness to the first byte
	phaseTransfer // from the first byte to the last
)

const phases = int(phaseTransfer) + 1

// doing is how a timeout names the phase.
func (p phase) doing() string {
	switch p {
	case phaseDNS:
		return "resolving the name"
	case phaseStart, phaseConnect:
		return "connecting"
	case phaseTLS:
		return "in the TLS handshake"
	case phaseWait:
		return "waiting for the first byte"
	case phaseTransfer:
		return "reading the answer"
	}
	return "connecting"
}

// Timings are how long the phases of an exchange took, in milliseconds. Those
// that did not happen are absent: an IP address needs no name server, and plain
// HTTP no TLS. With redirects each is the sum over all requests, so that
// together they are always the response time.
type Timings struct {
	DNS      *float64 `json:"dns_ms,omitempty" doc:"Resolving the name, ms"`
	Connect  *float64 `json:"connect_ms,omitempty" doc:"Connecting, ms"`
	TLS      *float64 `json:"tls_ms,omitempty" doc:"TLS handshake, ms"`
	TTFB     *float64 `json:"ttfb_ms,omitempty" doc:"From a connection ready to use to the first byte of the answer, ms"`
	Transfer *float64 `json:"transfer_ms,omitempty" doc:"From the first byte of the answer to the last, ms"`
}

// timeline is a clock that is always in exactly one phase. Switching it on the
// events of an exchange makes it impossible to count an instant twice.
type timeline struct {
	mu    sync.Mutex
	began time.Time
	since time.Time
	now   phase
	ended bool
	spent [phases]time.Duration
	seen  [phases]bool
	// words override the phase's own where a protocol has better ones.
	words string
	peer  net.Addr // of the newest connection; nil before the first

	recorder *recorder // nil: nothing is collected
	secrets  []string  // that came up during the exchange
}

func newTimeline() *timeline {
	now := time.Now()
	return &timeline{began: now, since: now}
}

// again restarts the clock: what was done so far was no part of the exchange with the target.
func (t *timeline) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.began, t.since, t.now, t.words = now, now, phaseStart, ""
	t.spent, t.seen = [phases]time.Duration{}, [phases]bool{}
}

// enter moves on to a later phase. An earlier one is ignored: it is the late
// event of a connection attempt that lost the race against another.
func (t *timeline) enter(next phase) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if next > t.now && !t.ended {
		t.move(next)
	}
}

// unused takes away the time of what was begun and did not lead to the answer, such as a
// connection attempt that another one overtook: it is no part of the response time.
func (t *timeline) unused(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.began, t.since = t.began.Add(d), t.since.Add(d)
	}
}

// restart begins the next request of a chain.
func (t *timeline) restart() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.move(phaseStart)
	}
}

func (t *timeline) move(next phase) {
	now := time.Now()
	t.spent[t.now] += now.Sub(t.since)
	t.since, t.now, t.words = now, next, ""
	t.seen[next] = true
}

// step names what is under way, until the next phase begins.
func (t *timeline) step(words string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.words = words
}

// doing returns what is under way, for a sentence.
func (t *timeline) doing() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.words != "" {
		return t.words
	}
	return t.now.doing()
}

// connected notes that a connection is ready to use.
func (t *timeline) connected(conn net.Conn) {
	t.enter(phaseWait)
	t.at(conn)
}

// at notes which address the exchange goes to.
func (t *timeline) at(conn net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.peer = conn.RemoteAddr()
}

// address is the IP address that the exchange went to, or empty.
func (t *timeline) address() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.peer == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(t.peer.String())
	if err != nil {
		return ""
	}
	return host
}

// stop ends the current phase and returns the whole time. What comes after is
// not counted; stopping twice changes nothing.
func (t *timeline) stop() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		now := time.Now()
		t.spent[t.now] += now.Sub(t.since)
		t.since, t.ended = now, true
	}
	return t.since.Sub(t.began)
}

// timings returns the phases so far. Moments between the hooks of the standard
// library are part of connecting.
func (t *timeline) timings() Timings {
	t.mu.Lock()
	defer t.mu.Unlock()
	of := func(p phase, more time.Duration) *float64 {
		if !t.seen[p] {
			return nil
		}
		ms := milliseconds(t.spent[p] + more)
		return &ms
	}
	return Timings{
		DNS:      of(phaseDNS, 0),
		Connect:  of(phaseConnect, t.spent[phaseStart]),
		TLS:      of(phaseTLS, 0),
		TTFB:     of(phaseWait, 0),
		Transfer: of(phaseTransfer, 0),
	}
}

// milliseconds with three decimals.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// trace makes the exchanges of a context move the timeline, and its recorder note what they see.
func (t *timeline) trace(ctx context.Context) context.Context {
	hooks := &httptrace.ClientTrace{
		GetConn:              func(string) { t.restart() },
		DNSStart:             func(httptrace.DNSStartInfo) { t.enter(phaseDNS) },
		ConnectStart:         func(_, _ string) { t.enter(phaseConnect) },
		TLSHandshakeStart:    func() { t.enter(phaseTLS) },
		GotConn:              func(info httptrace.GotConnInfo) { t.connected(info.Conn) },
		GotFirstResponseByte: func() { t.enter(phaseTransfer) },
	}
	t.recorder.watch(hooks)
	return httptrace.WithClientTrace(egress.OnUnused(ctx, t.unused), hooks)
}
