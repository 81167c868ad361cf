// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// machineTTL is how long the list of the machine's addresses is used before it is read
// again: an address that an interface gets is recognized that much later.
const machineTTL = 5 * time.Second

// machine knows the addresses of this machine's interfaces.
type machine struct {
	list func() ([]net.Addr, error)

	mu      sync.Mutex
	until   time.Time
	known   map[netip.Addr]bool
	unknown bool // the addresses could not be listed
}

// has reports whether an address is one of an interface. While the interfaces cannot be
// listed it is the last known answer.
func (m *machine) has(addr netip.Addr) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh()
	return m.known[addr]
}

// local reports whether an address leads to this machine. When its addresses cannot be
// listed every address counts as local: the caller refuses.
func (m *machine) local(addr netip.Addr) bool {
	addr = addr.Unmap()
	if addr.IsLoopback() || addr.IsUnspecified() {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refresh()
	return m.unknown || m.known[addr]
}

// refresh lists the addresses again when the list is too old.
func (m *machine) refresh() {
	now := time.Now()
	if now.Before(m.until) {
		return
	}
	m.until = now.Add(machineTTL)
	list, err := m.list()
	if m.unknown = err != nil; m.unknown {
		return
	}
	m.known = make(map[netip.Addr]bool, len(list))
	for _, item := range list {
		if prefix, err := netip.ParsePrefix(item.String()); err == nil {
			m.known[prefix.Addr().Unmap()] = true
		}
	}
}
