// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// namespace is a host of the test's own: a network namespace with one link to this
// machine. When its link is down, the host is lost: its connections are neither closed
// nor refused.
type namespace struct {
	t       *testing.T
	name    string
	device  string // this machine's end of the link
	address string // of this machine on the link
	subnet  string
}

// newNamespace makes a network namespace, or skips the test where it must not.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	id := rand.IntN(200) + 1
	n := &namespace{
		t: t, name: fmt.Sprintf("vigil-e2e-%d-%d", os.Getpid(), id), device: fmt.Sprintf("vigil%d", id),
		address: fmt.Sprintf("10.231.%d.1", id), subnet: fmt.Sprintf("10.231.%d.0/24", id),
	}
	if out, err := n.ip("netns", "add", n.name); err != nil {
		t.Skipf("this machine does not let the test make a network namespace: %v: %s", err, out)
	}
	t.Cleanup(func() { _, _ = n.ip("netns", "del", n.name) })
	inner := n.device + "n"
	for _, args := range [][]string{
		{"link", "add", n.device, "type", "veth", "peer", "name", inner},
		{"link", "set", inner, "netns", n.name},
		{"addr", "add", n.address + "/24", "dev", n.device},
		{"link", "set", n.device, "up"},
		{"-n", n.name, "addr", "add", strings.TrimSuffix(n.address, "1") + "2/24", "dev", inner},
		{"-n", n.name, "link", "set", inner, "up"},
		{"-n", n.name, "link", "set", "lo", "up"},
	} {
		if out, err := n.ip(args...); err != nil {
			t.Skipf("this machine does not let the test make a link to a network namespace: ip %s: %v: %s", strings.Join(args, " "), err, out)
		}
		if args[1] == "add" && args[0] == "link" {
			t.Cleanup(func() { _, _ = n.ip("link", "del", n.device) })
		}
	}
	return n
}

func (n *namespace) ip(args ...string) (string, error) {
	out, err := exec.Command("ip", args...).CombinedOutput() //nolint:noctx // it also runs in cleanups
	return strings.TrimSpace(string(out)), err
}

// launch runs a part of the platform on the host.
func (n *namespace) launch(env []string, args ...string) *process {
	return launchCommand(n.t, env, "ip", append([]string{"netns", "exec", n.name, binary}, args...)...)
}

// lose takes the link down.
func (n *namespace) lose() {
	n.t.Helper()
	if out, err := n.ip("link", "set", n.device, "down"); err != nil {
		n.t.Fatalf("take the link down: %v: %s", err, out)
	}
}

// allow lets the host reach the database of a cluster, which must listen on the link.
func (n *namespace) allow(s *cluster) {
	n.t.Helper()
	var file string
	if err := s.db.QueryRowContext(n.t.Context(), "SHOW hba_file").Scan(&file); err != nil {
		n.t.Fatal(err)
	}
	hba, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	_, err = fmt.Fprintf(hba, "host all all %s trust\n", n.subnet)
	if closeErr := hba.Close(); err != nil || closeErr != nil {
		n.t.Fatal(err, closeErr)
	}
	if s.number("SELECT pg_reload_conf()::int") != 1 {
		n.t.Fatal("the configuration of Postgres was not read again")
	}
}

// listenIn opens a listener in a network namespace. Its connections may be used anywhere.
func listenIn(t *testing.T, namespace, address string) net.Listener {
	t.Helper()
	var listener net.Listener
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread, which is in the namespace, ends
		space, err := os.Open("/run/netns/" + namespace)
		if err == nil {
			defer func() { _ = space.Close() }()
			err = unix.Setns(int(space.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			listener, err = net.Listen("tcp", address)
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Skipf("this machine does not let the test listen in a network namespace: %v", err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}
