// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"context"
	"net"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Follow returns a context in which the connections of one attempt to probe a target are
// followed, and lost, which says after the attempt has failed whether it had no line: then it says
// nothing about the target. fresh: the result before was a success. lost waits a second at most,
// and is false for a target that is not public.
func (l *Line) Follow(ctx context.Context, target string) (followed context.Context, lost func(ctx context.Context, fresh bool) bool) {
	if l == nil {
		return ctx, func(context.Context, bool) bool { return false }
	}
	a := &attempt{line: l, target: target, host: hostOf(target), began: l.Now()}
	l.wakeFor(a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart: a.lookUp, DNSDone: a.found, ConnectStart: func(_, address string) { a.connect(address) },
	}), a.lost
}

// wakeFor has the canaries asked before the first failure, when a public target is probed and
// they were not asked in the last minute.
func (l *Line) wakeFor(a *attempt) {
	l.mu.Lock()
	asked := l.flight != nil || !l.last.ended.IsZero() && a.began.Sub(l.last.ended) < askEvery
	l.mu.Unlock()
	if !asked && l.isPublic(a.target) {
		l.askSoon()
	}
}

// attempt is one attempt to probe a target.
type attempt struct {
	line         *Line
	target, host string
	began        time.Time

	mu      sync.Mutex
	asked   string // the name that is being looked up
	public  bool   // it led to a public address
	private bool   // the addresses of the target are private
}

func (a *attempt) lookUp(info httptrace.DNSStartInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = normal(info.Host)
}

func (a *attempt) found(info httptrace.DNSDoneInfo) {
	public := false
	for _, found := range info.Addrs {
		addr, ok := netip.AddrFromSlice(found.IP)
		public = public || ok && a.line.Guard.IsPublic(addr)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.public = a.public || public
	if len(info.Addrs) > 0 && a.asked == a.host {
		a.private = !public
		a.line.inside.learn(a.host, a.private)
	}
}

func (a *attempt) connect(address string) {
	addr, ok := literal(address)
	if !ok || !a.line.Guard.IsPublic(addr) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.public = true
}

func (a *attempt) lost(ctx context.Context, fresh bool) bool {
	a.mu.Lock()
	public := a.public || !a.private && a.line.isPublic(a.target)
	a.mu.Unlock()
	return public && a.line.lost(ctx, a.began, fresh)
}

// isPublic reports whether a target is public, as far as its name or address says so. A name
// is unless it is known to be of a private network: while the line is lost it has no address.
func (l *Line) isPublic(target string) bool {
	if addr, ok := literal(target); ok {
		return l.Guard.IsPublic(addr)
	}
	host := hostOf(target)
	return !isInside(host) && !l.inside.has(host)
}

// literal returns the address of a target that is one, with or without a port.
func literal(target string) (netip.Addr, bool) {
	if full, err := netip.ParseAddrPort(target); err == nil {
		return full.Addr(), true
	}
	addr, err := netip.ParseAddr(strings.Trim(target, "[]"))
	return addr, err == nil
}

// hostOf returns the host of a target, which may have a port.
func hostOf(target string) string {
	if host, _, err := net.SplitHostPort(target); err == nil {
		target = host
	}
	return normal(target)
}

func normal(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// isInside reports whether a name is one of private networks: a single label, or below a
// top-level domain that the public DNS does not have (RFC 6761, RFC 6762, RFC 8375, and what ICANN
// reserves for private use or never delegates).
func isInside(host string) bool {
	at := strings.LastIndexByte(host, '.')
	if at < 0 {
		return host != "" // empty: the root of the public DNS
	}
	switch host[at+1:] {
	case "local", "localhost", "localdomain", "internal", "intranet", "private", "lan", "home", "corp", "test":
		return true
	}
	return strings.HasSuffix(host, ".home.arpa")
}

// maxInsideNames bounds the names that are remembered, some 100 bytes each.
const maxInsideNames = 10_000

// insideNames are names whose addresses were all private when they were last looked up.
type insideNames struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func (n *insideNames) learn(name string, private bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !private:
		delete(n.names, name)
	case n.names == nil:
		n.names = map[string]struct{}{name: {}}
	case len(n.names) < maxInsideNames:
		n.names[name] = struct{}{}
	}
}

func (n *insideNames) has(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, has := n.names[name]
	return has
}
