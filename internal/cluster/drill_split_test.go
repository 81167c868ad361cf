// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestHalves holds that each half has one of two, and that what says where the primaries are is so.
func TestHalves(t *testing.T) {
	t.Parallel()
	all := plan(DefaultSizes(), netip.MustParseAddr("127.0.1.0"))
	standbys := make(map[*Host]bool)
	for _, h := range all {
		if strings.HasSuffix(string(h.Kind), "postgres") {
			standbys[h] = strings.HasSuffix(h.Name, "-1") // the primaries have failed over before
		}
	}
	for what, where := range map[string]struct{ primaries, proxy string }{
		splitWithMost: {"most", "most"}, splitWithFew: {"few", "most"}, splitWithProxy: {"few", "few"},
	} {
		most, few := halves(all, standbys, what)
		counts := make(map[string]map[string]int)
		for half, hosts := range map[string][]*Host{"most": most, "few": few} {
			counts[half] = make(map[string]int)
			for _, h := range hosts {
				counts[half][string(h.Kind)+h.Region]++
				if standby, ok := standbys[h]; ok && !standby != (half == where.primaries) {
					t.Errorf("%s: %s is in the half of %s", what, h.Name, half)
				}
			}
		}
		if len(most)+len(few) != len(all) {
			t.Errorf("%s: %d and %d hosts of %d", what, len(most), len(few), len(all))
		}
		for _, of := range []string{"vigil-postgres", "temporal-postgres", "api", "control", "frontend", "matching", "worker" + farRegion} {
			if counts["most"][of] != 1 || counts["few"][of] != 1 {
				t.Errorf("%s: %d and %d of %s, want one in each half", what, counts["most"][of], counts["few"][of], of)
			}
		}
		if counts["most"]["etcd"] != 2 || counts[where.proxy]["proxy"] != 1 || counts["few"]["etcd"] != 1 {
			t.Errorf("%s: the halves have %v", what, counts)
		}
	}
}

// TestSplit sends datagrams between two halves, and in one.
func TestSplit(t *testing.T) { //nolint:paralleltest // the network of hosts is named by the process
	n, hosts := joined(t, KindHistory, KindAPI, KindControl)
	sockets := make([]net.PacketConn, len(hosts))
	for i, h := range hosts {
		sockets[i] = inside(t, n, h)
	}
	reach := func(from, to int, want bool) bool { return arrives(t, sockets[from], sockets[to], want) }
	timingtest.Eventually(t, waitLimit, "the hosts reach each other", func() bool {
		return reach(0, 1, true) && reach(1, 2, true) && reach(2, 0, true)
	})
	for _, err := range []error{n.refuse(hosts[:2], hosts[2:]), n.refuse(hosts[2:], hosts[:2])} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, socket := range sockets {
		drain(t, socket)
	}
	if reach(0, 2, false) || reach(2, 0, false) || reach(1, 2, false) || reach(2, 1, false) {
		t.Error("the halves reach each other")
	}
	if !reach(0, 1, true) || !reach(1, 0, true) {
		t.Error("the hosts of one half do not reach each other")
	}
	if err := n.accept(hosts); err != nil {
		t.Fatal(err)
	}
	if !reach(0, 2, true) || !reach(2, 1, true) {
		t.Error("the halves do not reach each other again")
	}
	if err := n.accept(hosts); err != nil {
		t.Errorf("where nothing is refused: %v", err)
	}
}
