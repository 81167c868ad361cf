// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// mounted is a cluster whose hosts have disks, which the test removes.
func mounted(t *testing.T) *Cluster {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounts need root")
	}
	c := &Cluster{options: Options{Dir: t.TempDir(), Sizes: SmallSizes(), Disks: true}, network: loopback{}}
	c.setHosts(plan(c.options.Sizes, c.network.base().Addr()))
	t.Cleanup(c.unmountDisks)
	if err := c.mountDisks(); errors.Is(err, unix.EPERM) {
		t.Skip("this machine mounts nothing: " + err.Error())
	} else if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestDiskIsFull holds that a disk has no space for a time, also where others free some, and that no mount is left.
func TestDiskIsFull(t *testing.T) {
	t.Parallel()
	c := mounted(t)
	hosts := c.Hosts(KindWorker)
	if len(c.disks) != 4 { // of one etcd, two Postgres and one worker
		t.Fatalf("there are disks at %v", c.disks)
	}
	dir := c.hostDir(hosts[0])
	written := 0
	write := func() error { // a file of its own: one that is written again has the space that it had
		written++
		err := os.WriteFile(filepath.Join(dir, strconv.Itoa(written)), make([]byte, 100<<10), 0o600)
		if err != nil && !errors.Is(err, unix.ENOSPC) {
			t.Error(err)
		}
		return err
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	ctx, free := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- keepFull(ctx, dir, time.Hour) }()
	timingtest.Eventually(t, waitLimit, "there is no space", func() bool { return write() != nil })
	if err := os.Remove(filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	timingtest.Eventually(t, waitLimit, "what was freed is full again", func() bool { return write() != nil })
	free()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if err := write(); err != nil {
		t.Errorf("there is no space afterwards: %v", err)
	}
	if err := keepFull(t.Context(), dir, time.Millisecond); err != nil {
		t.Error(err)
	}
	c.Stop()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil || strings.Contains(string(mounts), c.options.Dir) {
		t.Errorf("a mount is left, %v:\n%s", err, mounts)
	}
}

// TestNoDisk holds that without the option no host has a disk, and that only such drills need them.
func TestNoDisk(t *testing.T) {
	t.Parallel()
	c := &Cluster{options: Options{Dir: t.TempDir(), Sizes: SmallSizes()}, network: loopback{}}
	c.setHosts(plan(c.options.Sizes, c.network.base().Addr()))
	if err := c.mountDisks(); err != nil || len(c.disks) > 0 {
		t.Errorf("disks are %v, %v", c.disks, err)
	}
	d := &Drills{c: c}
	if err := d.fillDisk(t.Context(), c.Hosts(KindEtcd)[0]); err == nil || !strings.Contains(err.Error(), "no disk of its own") {
		t.Errorf("a host without a disk: %v", err)
	}
	if NeedDisks(AllDrills(1, false)) || !NeedDisks(AllDrills(1, true)) {
		t.Error("disks are needed without drills of them, or not with them")
	}
}
