// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"net/netip"
)

// Kind is what a host runs.
type Kind string

// The kinds of hosts, in the order in which they start.
const (
	KindEtcd             Kind = "etcd"
	KindTemporalPostgres Kind = "temporal-postgres"
	KindVigilPostgres    Kind = "vigil-postgres"
	KindProxy            Kind = "proxy"
	KindFrontend         Kind = "frontend"
	KindHistory          Kind = "history"
	KindMatching         Kind = "matching"
	KindTemporalWorker   Kind = "temporal-worker"
	KindAPI              Kind = "api"
	KindControl          Kind = "control"
	KindRelay            Kind = "relay"
	KindWorker           Kind = "worker"
	KindAgent            Kind = "agent"
)

// Sizes are how many hosts of each kind a cluster has. There is always one proxy and one relay.
type Sizes struct {
	Etcd            int // members, 1 or 3
	Postgres        int // for each of the two databases; 1: no standby
	Frontend        int
	History         int
	Matching        int
	TemporalWorker  int
	API             int
	Control         int
	Regions         int // 1 to 3, the last of three is the far one
	WorkersOfRegion int
	Agents          int
}

// DefaultSizes are those of a production cluster that may lose any one host.
func DefaultSizes() Sizes {
	return Sizes{
		Etcd: 3, Postgres: 2, Frontend: 2, History: 3, Matching: 2, TemporalWorker: 1,
		API: 2, Control: 2, Regions: 3, WorkersOfRegion: 2, Agents: 1,
	}
}

// SmallSizes are those of the smallest cluster: one of each.
func SmallSizes() Sizes {
	return Sizes{
		Etcd: 1, Postgres: 1, Frontend: 1, History: 1, Matching: 1, TemporalWorker: 1, API: 1, Control: 1, Regions: 1, WorkersOfRegion: 1,
	}
}

// Validate returns an error that names the size that cannot be.
func (s Sizes) Validate() error {
	for _, one := range []struct {
		name         string
		is, min, max int
	}{
		{"etcd", s.Etcd, 1, 3},
		{"postgres", s.Postgres, 1, 2},
		{"frontend", s.Frontend, 1, 9},
		{"history", s.History, 1, 9},
		{"matching", s.Matching, 1, 9},
		{"temporal-worker", s.TemporalWorker, 1, 9},
		{"api", s.API, 1, 9},
		{"control", s.Control, 1, 9},
		{"regions", s.Regions, 1, len(regionKeys())},
		{"workers", s.WorkersOfRegion, 1, 9},
		{"agents", s.Agents, 0, 9},
	} {
		if one.is < one.min || one.is > one.max {
			return fmt.Errorf("a cluster has %d to %d of %s, not %d", one.min, one.max, one.name, one.is)
		}
	}
	return nil
}

// regionKeys are the regions of a cluster. The last one is far away.
func regionKeys() []string { return []string{"eu-central-fra", "na-east-ewr", farRegion} }

// farRegion is behind the relay.
const farRegion = "ap-southeast-sin"

// octets are the last part of the first address of each kind, from which the hosts of a kind count.
func octets() map[Kind]int {
	return map[Kind]int{
		KindProxy: 2, KindRelay: 3, KindEtcd: 11, KindTemporalPostgres: 21, KindVigilPostgres: 31, KindFrontend: 41,
		KindHistory: 51, KindMatching: 61, KindTemporalWorker: 71, KindAPI: 81, KindControl: 91, KindWorker: 101, KindAgent: 141,
	}
}

// plan lists the hosts of a cluster in the order in which they start. Their addresses are in base, a /24.
func plan(sizes Sizes, base netip.Addr) []*Host {
	counts := []struct {
		kind  Kind
		count int
	}{
		{KindEtcd, sizes.Etcd},
		{KindTemporalPostgres, sizes.Postgres},
		{KindVigilPostgres, sizes.Postgres},
		{KindProxy, 1},
		{KindFrontend, sizes.Frontend},
		{KindHistory, sizes.History},
		{KindMatching, sizes.Matching},
		{KindTemporalWorker, sizes.TemporalWorker},
		{KindAPI, sizes.API},
		{KindControl, sizes.Control},
		{KindRelay, 1},
	}
	var hosts []*Host
	for _, each := range counts {
		for i := range each.count {
			hosts = append(hosts, newHost(each.kind, fmt.Sprintf("%s-%d", each.kind, i+1), base, octets()[each.kind]+i))
		}
	}
	for r, region := range regionKeys()[:sizes.Regions] {
		for i := range sizes.WorkersOfRegion {
			host := newHost(KindWorker, fmt.Sprintf("%s-%d", region, i+1), base, octets()[KindWorker]+10*r+i)
			host.Region = region
			hosts = append(hosts, host)
		}
	}
	for i := range sizes.Agents {
		hosts = append(hosts, newHost(KindAgent, fmt.Sprintf("agent-%d", i+1), base, octets()[KindAgent]+i))
	}
	return hosts
}

func newHost(kind Kind, name string, base netip.Addr, octet int) *Host {
	four := base.As4()
	four[3] = byte(octet) //nolint:gosec // at most 149
	return &Host{Kind: kind, Name: name, Address: netip.AddrFrom4(four).String(), octet: octet}
}
