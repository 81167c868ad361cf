// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"fmt"
	"slices"
)

// mostOfKind is how many hosts of a kind, and workers of a region, have an address.
const mostOfKind = 9

// Add starts one more host of a kind that the others find by themselves: history and matching of Temporal, and the
// workers of a region. One that was removed comes back.
func (c *Cluster) Add(kind Kind, region string) (*Host, error) {
	h := c.again(kind, region)
	if h == nil {
		var err error
		if h, err = c.another(kind, region); err != nil {
			return nil, err
		}
	}
	c.setHosts(append(c.All(), h))
	return h, h.Start()
}

// again takes a host out of those that were removed; nil where there is none of its kind.
func (c *Cluster) again(kind Kind, region string) *Host {
	i := slices.IndexFunc(c.removed, func(h *Host) bool { return h.Kind == kind && h.Region == region })
	if i < 0 {
		return nil
	}
	h := c.removed[i]
	c.removed = slices.Delete(c.removed, i, i+1)
	return h
}

// another makes a host that the cluster never had.
func (c *Cluster) another(kind Kind, region string) (*Host, error) {
	name, octet := string(kind), octets()[kind]
	if kind == KindWorker {
		name, octet = region, octet+10*slices.Index(regionKeys(), region)
	}
	prepare := map[Kind]func(*Host) error{
		KindHistory: c.addTemporalHost, KindMatching: c.addTemporalHost, KindWorker: c.addVigilHost,
	}[kind]
	if prepare == nil {
		return nil, fmt.Errorf("a host of %s cannot be added to a cluster that runs: the proxy has its address", kind)
	}
	n := len(c.ofKind(kind, region))
	if n >= mostOfKind {
		return nil, fmt.Errorf("a cluster has %d of %s at most", mostOfKind, name)
	}
	h := newHost(kind, fmt.Sprintf("%s-%d", name, n+1), c.network.base().Addr(), octet+n)
	h.Region, h.network, h.logs = region, c.network, c.path("logs")
	if err := c.network.join(h); err != nil {
		return nil, err
	}
	return h, prepare(h)
}

// ofKind are the hosts of a kind, in a region where they are workers.
func (c *Cluster) ofKind(kind Kind, region string) []*Host {
	return slices.DeleteFunc(c.Hosts(kind), func(h *Host) bool { return h.Region != region })
}

// Remove stops a host, for which it has until ctx ends, and takes it out of the cluster.
func (c *Cluster) Remove(ctx context.Context, h *Host) {
	h.Stop(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts = slices.DeleteFunc(slices.Clone(c.hosts), func(one *Host) bool { return one == h })
	c.removed = append(c.removed, h)
}
