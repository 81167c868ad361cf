// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Bounds of connecting to a name with several addresses (RFC 8305).
const (
	// attemptDelay is how long an attempt may take until the next address is tried beside it
	// (section 5).
	attemptDelay = 250 * time.Millisecond
	// resolutionDelay is how long the answers for both IP versions are waited for until those
	// of one are enough (section 3). Only a name server that does not answer for one of them
	// makes a name take that long.
	resolutionDelay = 250 * time.Millisecond
	// maxAddresses is how many addresses of a name are tried.
	maxAddresses = 20
)

// NoAddressError says that a host has no address of the IP version that was asked for.
type NoAddressError struct {
	Host    string
	Version int // 4 or 6
}

func (e *NoAddressError) Error() string {
	return fmt.Sprintf("%s has no IPv%d address", e.Host, e.Version)
}

type unusedKey struct{}

// OnUnused calls a function with the time that connecting under the context spends on what is
// not used in the end: addresses that another one overtook, names that are not answered for.
func OnUnused(ctx context.Context, spent func(time.Duration)) context.Context {
	return context.WithValue(ctx, unusedKey{}, spent)
}

// Connect resolves the host of an address and connects to it with attempt: to the first of its
// addresses and, when that fails or takes longer than 250 ms, to the next beside it, and so on,
// of both IP versions in turn (Happy Eyeballs, RFC 8305). The first attempt that succeeds is
// the result; drop closes that of a later one. A network that ends in 4 or 6 permits only
// that version; a host without one gives a *NoAddressError. Attempt judges its address itself,
// and its context ends once Connect returns.
func Connect[T any](
	ctx context.Context, g *Guard, network, address string,
	attempt func(context.Context, netip.AddrPort) (T, error), drop func(T),
) (T, error) {
	var none T
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return none, fmt.Errorf("address: %w", err)
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return none, fmt.Errorf("port: %w", err)
	}
	version := versionOf(network)
	trace := cmp.Or(httptrace.ContextClientTrace(ctx), &httptrace.ClientTrace{})
	if addr, err := netip.ParseAddr(host); err == nil {
		if version != 0 && (version == 4) != addr.Unmap().Is4() {
			return none, &NoAddressError{host, version}
		}
		return attemptOne(ctx, trace, netip.AddrPortFrom(addr, uint16(port)), attempt)
	}
	r := race[T]{
		guard: g, host: host, version: version, port: uint16(port), trace: trace, attempt: attempt, drop: drop,
		results: make(chan raced[T]), over: make(chan struct{}),
	}
	defer close(r.over)
	return r.run(ctx)
}

func versionOf(network string) int {
	switch {
	case strings.HasSuffix(network, "4"):
		return 4
	case strings.HasSuffix(network, "6"):
		return 6
	}
	return 0
}

// shown writes an address without the port 0, which stands for none.
func shown(to netip.AddrPort) string {
	if to.Port() == 0 {
		return to.Addr().String()
	}
	return to.String()
}

func attemptOne[T any](
	ctx context.Context, trace *httptrace.ClientTrace, to netip.AddrPort, attempt func(context.Context, netip.AddrPort) (T, error),
) (T, error) {
	if trace.ConnectStart != nil {
		trace.ConnectStart("", shown(to))
	}
	got, err := attempt(ctx, to)
	if trace.ConnectDone != nil {
		trace.ConnectDone("", shown(to), err)
	}
	return got, err
}

// race connects to a name. All but the attempts and the lookups runs in one goroutine.
type race[T any] struct {
	guard   *Guard
	host    string
	version int
	port    uint16
	trace   *httptrace.ClientTrace
	attempt func(context.Context, netip.AddrPort) (T, error)
	drop    func(T)

	results chan raced[T]
	over    chan struct{} // closed when no result is taken any more

	queue    []netip.Addr
	tried    map[netip.Addr]time.Time // when
	first    time.Time
	running  int
	resolved bool // a lookup gave addresses, or all failed
	failure  error
}

// raced is what an attempt came to.
type raced[T any] struct {
	to    netip.AddrPort
	value T
	err   error
}

func (r *race[T]) run(ctx context.Context) (T, error) {
	var none T
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.tried = make(map[netip.Addr]time.Time)
	lookups := r.guard.lookUp(ctx, r.version, r.host)
	defer lookups.backup.Stop()
	if r.trace.DNSStart != nil {
		r.trace.DNSStart(httptrace.DNSStartInfo{Host: r.host})
	}
	next := time.NewTimer(attemptDelay)
	defer next.Stop()
	due, whole := true, false
	for {
		switch {
		case len(r.queue) > 0 && (due || r.running == 0):
			r.start(ctx)
			next.Reset(attemptDelay)
			due = false
			continue
		case len(r.queue) == 0 && r.running == 0 && whole:
			return none, r.failure
		}
		select {
		case found := <-lookups.found:
			whole = whole || found.whole
			r.add(ctx, found, lookups.began)
		case done := <-r.results:
			r.running--
			if r.trace.ConnectDone != nil {
				r.trace.ConnectDone("", shown(done.to), done.err)
			}
			if done.err == nil {
				unused(ctx, r.tried[done.to.Addr()].Sub(r.first))
				return done.value, nil
			}
			r.fail(done.err)
			due = true
		case <-next.C:
			due = true
		case <-ctx.Done():
			return none, fmt.Errorf("connect to %s: %w", r.host, ctx.Err())
		}
	}
}

func unused(ctx context.Context, spent time.Duration) {
	if report, ok := ctx.Value(unusedKey{}).(func(time.Duration)); ok && spent > 0 {
		report(spent)
	}
}

// start tries the next address.
func (r *race[T]) start(ctx context.Context) {
	addr := r.queue[0]
	r.queue = r.queue[1:]
	now := time.Now()
	r.tried[addr] = now
	if r.first.IsZero() {
		r.first = now
	}
	r.running++
	to := netip.AddrPortFrom(addr, r.port)
	if r.trace.ConnectStart != nil {
		r.trace.ConnectStart("", shown(to))
	}
	go func() {
		value, err := r.attempt(ctx, to)
		select {
		case r.results <- raced[T]{to, value, err}:
		case <-r.over:
			if err == nil {
				r.drop(value)
			}
		}
	}()
}

// add takes what a lookup found. Those of one IP version only count when they have addresses.
func (r *race[T]) add(ctx context.Context, found foundAddrs, began time.Time) {
	if len(found.addrs) == 0 && !found.whole {
		return
	}
	if !r.resolved {
		r.resolved = true
		unused(ctx, found.began.Sub(began))
		if r.trace.DNSDone != nil {
			info := httptrace.DNSDoneInfo{Err: found.err}
			for _, addr := range found.addrs {
				info.Addrs = append(info.Addrs, net.IPAddr{IP: addr.AsSlice(), Zone: addr.Zone()})
			}
			r.trace.DNSDone(info)
		}
	}
	if found.err != nil {
		r.fail(found.err)
	}
	for _, addr := range interleave(found.addrs) {
		addr = addr.Unmap()
		if _, known := r.tried[addr]; !known && len(r.tried) < maxAddresses {
			r.tried[addr] = time.Time{}
			r.queue = append(r.queue, addr)
		}
	}
}

// fail keeps the error that says most: of the target rather than of this machine.
func (r *race[T]) fail(err error) {
	if r.failure == nil || isLocal(r.failure) && !isLocal(err) {
		r.failure = err
	}
}

// isLocal reports whether an error says more about this machine, or its policy, than about the
// target.
func isLocal(err error) bool {
	if _, ok := errors.AsType[*Refusal](err); ok {
		return true
	}
	if local, ok := errors.AsType[interface {
		error
		Local() bool
	}](err); ok {
		return local.Local()
	}
	return errors.Is(err, syscall.ENETUNREACH) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.EADDRNOTAVAIL)
}

// interleave orders addresses so that the IP versions take turns, beginning with that of the
// first (RFC 8305, section 4).
func interleave(addrs []netip.Addr) []netip.Addr {
	if len(addrs) < 3 {
		return addrs
	}
	var same, other []netip.Addr
	for _, addr := range addrs {
		if addr.Unmap().Is4() == addrs[0].Unmap().Is4() {
			same = append(same, addr)
		} else {
			other = append(other, addr)
		}
	}
	mixed := make([]netip.Addr, 0, len(addrs))
	for i := range max(len(same), len(other)) {
		if i < len(same) {
			mixed = append(mixed, same[i])
		}
		if i < len(other) {
			mixed = append(mixed, other[i])
		}
	}
	return mixed
}

// foundAddrs is what a lookup came to.
type foundAddrs struct {
	addrs []netip.Addr
	err   error
	began time.Time
	whole bool // of every IP version that is permitted
}

// lookups are those of one name.
type lookups struct {
	found  chan foundAddrs
	began  time.Time
	backup *time.Timer // begins a lookup for each IP version
}

// lookUp resolves a name and, when that takes long, each IP version of it besides: a name
// server that does not answer for one of them does not hold up the other.
func (g *Guard) lookUp(ctx context.Context, version int, host string) lookups {
	l := lookups{found: make(chan foundAddrs, 3), began: time.Now()} // room for all of them
	quiet := untraced{ctx}
	resolve := func(version int, whole bool) { //nolint:contextcheck // quiet is ctx, without its values
		began, network := time.Now(), "ip"
		if version != 0 {
			network += strconv.Itoa(version)
		}
		addrs, err := g.Resolve(quiet, network, host)
		if failed, ok := errors.AsType[*net.DNSError](err); ok && failed.IsNotFound && version != 0 {
			err = &NoAddressError{host, version}
		}
		l.found <- foundAddrs{addrs, err, began, whole}
	}
	go resolve(version, true)
	wait := resolutionDelay
	if version != 0 {
		wait = 1 << 62 // there is no other version
	}
	l.backup = time.AfterFunc(wait, func() {
		go resolve(4, false)
		resolve(6, false)
	})
	return l
}
