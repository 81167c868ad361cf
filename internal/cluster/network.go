// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
)

// network is how the hosts of a cluster reach each other.
type network interface {
	// base is the network of the hosts, a /24; its .1 is the machine itself.
	base() netip.Prefix
	// join gives a host its address.
	join(h *Host) error
	// prefix is the command that runs another one on the host; none for this machine itself.
	prefix(h *Host) []string
	// cut takes the host from the network, in one or both directions, and mend gives it back.
	cut(h *Host, way Way) error
	mend(h *Host) error
	// lossy makes the host lose packets in each direction, of a thousand.
	lossy(h *Host, perMille int) error
	close()
}

// Way is a direction in which packets of a host are lost.
type Way string

// The directions of a cut.
const (
	WayBoth Way = "both ways"
	WayIn   Way = "in"  // what comes to the host
	WayOut  Way = "out" // what the host sends
)

// errNoCut says that hosts on loopback cannot be cut off.
var errNoCut = errors.New("hosts on loopback have no link of their own: cuts need root and --network namespaces")

// loopback has hosts at addresses of the loopback network. It needs no rights.
type loopback struct{}

func (loopback) base() netip.Prefix     { return netip.MustParsePrefix("127.0.1.0/24") }
func (loopback) join(*Host) error       { return nil }
func (loopback) prefix(*Host) []string  { return nil }
func (loopback) cut(*Host, Way) error   { return errNoCut }
func (loopback) mend(*Host) error       { return nil }
func (loopback) lossy(*Host, int) error { return errNoCut }
func (loopback) close()                 {}

// namespaces has each host in a network namespace of its own, with a link to a switch. The switch is a bridge in a
// namespace of its own, too: one of this machine would follow its firewall, and Docker leaves one that forwards nothing.
type namespaces struct {
	id     int
	subnet netip.Prefix
	joined []*Host
}

// newNamespaces makes the switch, and the link of this machine to it. It needs root.
func newNamespaces() (*namespaces, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("network namespaces need root: run it as root, or with --network loopback")
	}
	id := os.Getpid()%250 + 1
	n := &namespaces{id: id, subnet: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 233, byte(id), 0}), 24)} //nolint:gosec // 1 to 250
	for _, args := range [][]string{
		{"netns", "add", n.switchName()},
		{"-n", n.switchName(), "link", "add", bridge, "type", "bridge"},
		{"-n", n.switchName(), "link", "set", bridge, "up"},
		{"link", "add", n.link(), "type", "veth", "peer", "name", n.link(), "netns", n.switchName()},
		{"-n", n.switchName(), "link", "set", n.link(), "master", bridge, "up"},
		{"addr", "add", n.gateway() + "/24", "dev", n.link()},
		{"link", "set", n.link(), "up"},
	} {
		if err := ip(args...); err != nil {
			n.close()
			return nil, fmt.Errorf("this machine makes no network of hosts: %w", err)
		}
	}
	return n, nil
}

// bridge is the name of the bridge in its namespace.
const bridge = "hosts"

func (n *namespaces) base() netip.Prefix      { return n.subnet }
func (n *namespaces) gateway() string         { return n.subnet.Addr().Next().String() }
func (n *namespaces) switchName() string      { return fmt.Sprintf("vigil-%d-switch", n.id) }
func (n *namespaces) link() string            { return fmt.Sprintf("vgl%d", n.id) }
func (n *namespaces) name(h *Host) string     { return fmt.Sprintf("vigil-%d-%s", n.id, h.Name) }
func (n *namespaces) device(h *Host) string   { return fmt.Sprintf("vgl%dh%d", n.id, h.octet) }
func (n *namespaces) prefix(h *Host) []string { return []string{"ip", "netns", "exec", n.name(h)} }

func (n *namespaces) join(h *Host) error {
	name, device := n.name(h), n.device(h)
	n.joined = append(n.joined, h)
	for _, args := range [][]string{
		{"netns", "add", name},
		{"-n", n.switchName(), "link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", name},
		{"-n", n.switchName(), "link", "set", device, "master", bridge, "up"},
		{"-n", name, "addr", "add", h.Address + "/24", "dev", "eth0"},
		{"-n", name, "link", "set", "eth0", "up"},
		{"-n", name, "link", "set", "lo", "up"},
		{"-n", name, "route", "add", "default", "via", n.gateway()},
	} {
		if err := ip(args...); err != nil {
			return fmt.Errorf("make the host %s: %w", h.Name, err)
		}
	}
	return nil
}

func (n *namespaces) cut(h *Host, way Way) error {
	if way == WayBoth {
		return ip("-n", n.switchName(), "link", "set", n.device(h), "down")
	}
	hook, match := "input", "iifname"
	if way == WayOut {
		hook, match = "output", "oifname"
	}
	return n.nft(h, "add table inet cut",
		fmt.Sprintf("add chain inet cut cut { type filter hook %s priority 0; }", hook),
		fmt.Sprintf("add rule inet cut cut %s eth0 drop", match))
}

func (n *namespaces) mend(h *Host) error {
	_ = n.nft(h, "delete table inet cut") // there is none after a cut of both ways
	return ip("-n", n.switchName(), "link", "set", n.device(h), "up")
}

func (n *namespaces) lossy(h *Host, perMille int) error {
	rules := []string{"add table inet loss"}
	for hook, match := range map[string]string{"input": "iifname", "output": "oifname"} {
		rules = append(rules,
			fmt.Sprintf("add chain inet loss %s { type filter hook %s priority 0; }", hook, hook),
			fmt.Sprintf("add rule inet loss %s %s eth0 numgen random mod 1000 < %d counter drop", hook, match, perMille))
	}
	return n.nft(h, rules...)
}

func (n *namespaces) nft(h *Host, rules ...string) error {
	for _, rule := range rules {
		if err := run(append(n.prefix(h), "nft", rule)...); err != nil {
			return err
		}
	}
	return nil
}

// close removes the namespaces, with which their links go.
func (n *namespaces) close() {
	for _, h := range n.joined {
		_ = ip("netns", "del", n.name(h))
	}
	_ = ip("link", "del", n.link())
	_ = ip("netns", "del", n.switchName())
}

func ip(args ...string) error { return run(append([]string{"ip"}, args...)...) }

// run runs a command to its end; the error has what it printed.
func run(argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:gosec,noctx // commands of this package, which take milliseconds
	cmd.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
