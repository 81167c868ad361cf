// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// waitLimit is for what takes a moment, on a busy machine too.
const waitLimit = 30 * time.Second

// TestHost kills and freezes what a host runs: a program, its children, and what left it for a directory.
func TestHost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	h := &Host{Name: "one", network: loopback{}, logs: dir, works: []string{work}}
	// The first sleep is a child, the second one has another parent once setsid has ended.
	h.add(program{name: "sh", argv: []string{"sh", "-c", "sleep 600 & (cd work && setsid -f sleep 601); wait"}, dir: dir})
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	names := func() string { // of the processes, without those on the way to them
		var all []string
		for _, pid := range h.Pids() {
			name, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm")
			all = append(all, strings.TrimSpace(string(name)))
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	timingtest.Eventually(t, waitLimit, "three processes run", func() bool { return names() == "sh sleep sleep" })
	pids := h.Pids()
	states := func() (all string) {
		for _, pid := range pids {
			raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			if err != nil {
				all += "-"
				continue
			}
			all += strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))[0]
		}
		return all
	}
	h.Signal(syscall.SIGSTOP)
	timingtest.Eventually(t, waitLimit, "all are stopped", func() bool { return states() == "TTT" })
	h.Signal(syscall.SIGCONT)
	timingtest.Eventually(t, waitLimit, "all go on", func() bool { return !strings.Contains(states(), "T") })
	if err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	timingtest.Eventually(t, waitLimit, "all are gone", func() bool { return strings.Trim(states(), "-Z") == "" })
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	timingtest.Eventually(t, waitLimit, "they run again", func() bool { return names() == "sh sleep sleep" })
	if err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestRelay sends bytes there and back.
func TestRelay(t *testing.T) {
	t.Parallel()
	behind, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = behind.Close() })
	go func() {
		for {
			conn, err := behind.Accept()
			if err != nil {
				return
			}
			go func() {
				buffer := make([]byte, 5)
				for {
					n, err := conn.Read(buffer)
					if err != nil {
						_ = conn.Close()
						return
					}
					_, _ = conn.Write(buffer[:n])
				}
			}()
		}
	}()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	_ = free.Close()
	const late = 50 * time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- Relay(t.Context(), late, []string{at + "=" + behind.Addr().String()}) }()
	var conn net.Conn
	timingtest.Eventually(t, waitLimit, "the relay listens", func() bool {
		conn, err = new(net.Dialer).DialContext(t.Context(), "tcp", at)
		return err == nil
	})
	defer func() { _ = conn.Close() }()
	for range 3 {
		began := time.Now()
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, 5)
		if n, err := conn.Read(answer); err != nil || string(answer[:n]) != "hello" {
			t.Fatalf("%q, %v", answer[:n], err)
		}
		if took := time.Since(began); took < 2*late {
			t.Errorf("there and back took %v, want %v at least", took, 2*late)
		}
	}
}
