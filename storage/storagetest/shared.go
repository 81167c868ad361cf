// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// idleMinutes is how long the shared cluster keeps running after the last use of a
// database. It is several times the minute between two calls of markUsed.
const idleMinutes = 5

// responding is the shared cluster and when it was seen to respond.
var responding struct { //nolint:gochecknoglobals // one for each process
	sync.Mutex
	cluster *Cluster
	at      time.Time
}

// sharedCluster returns the cluster that all test processes of this user share. It
// creates and starts a new one when none responds, and asks once a minute.
func sharedCluster(ctx context.Context) (*Cluster, error) {
	responding.Lock()
	defer responding.Unlock()
	now := time.Now() //nolint:forbidigo // the age of the last answer
	if responding.cluster != nil && now.Sub(responding.at) < time.Minute {
		return responding.cluster, nil
	}
	cluster, err := findSharedCluster(ctx)
	if err == nil {
		responding.cluster, responding.at = cluster, now
	}
	return cluster, err
}

func findSharedCluster(ctx context.Context) (*Cluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(bin.baseDir(true), fmt.Sprintf("vigil-test-postgres-%d-%d", os.Getuid(), bin.Major))
	c := &Cluster{bin: bin, dir: dir, settings: DisposableSettings()}
	if err := bin.makeOwnedDir(dir); err != nil {
		return nil, err
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := c.markUsed(); err != nil {
		return nil, err
	}
	if c.responds(ctx) {
		return c, nil
	}
	if err := c.create(); err != nil {
		return nil, err
	}
	if err := c.start(); err != nil {
		return nil, err
	}
	return c, c.startWatchdog()
}

// lock takes a file lock, which also ends with the process.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // a fixed name in our own directory
	if err != nil {
		return nil, fmt.Errorf("open the lock of the test cluster: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("lock the test cluster: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

// usedFile is the file that markUsed writes; its age says how long the cluster is idle.
func (c *Cluster) usedFile() string { return filepath.Join(c.dir, "used") }

// markUsed records that a test uses the cluster.
func (c *Cluster) markUsed() error {
	stamp := []byte(time.Now().UTC().Format(time.RFC3339) + "\n")    //nolint:forbidigo // the watchdog compares file times
	if err := os.WriteFile(c.usedFile(), stamp, 0o644); err != nil { //nolint:gosec // the server's user reads its time
		return fmt.Errorf("mark the test cluster as used: %w", err)
	}
	return nil
}

// keepAlive marks the cluster as used every minute until the end of the test.
func (c *Cluster) keepAlive(tb testing.TB) {
	tb.Helper()
	done := make(chan struct{})
	tb.Cleanup(func() { close(done) })
	go func() {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				_ = c.markUsed() // a failed call is repeated in a minute
			}
		}
	}()
}

// watchdog is a shell script that stops the server when the used file is old, and ends
// when the server has ended: another one may have begun in its directory meanwhile.
const watchdog = `first() { head -n 1 "$1/postmaster.pid" 2>/dev/null; }
server=$(first "$1")
while [ "$(first "$1")" = "$server" ] && [ -n "$(find "$2" -mmin -"$3")" ]; do sleep 15; done
[ "$(first "$1")" != "$server" ] || exec "$4" stop -m immediate -D "$1"`

// startWatchdog starts a process that outlives this one and stops the idle cluster.
func (c *Cluster) startWatchdog() error {
	cmd := c.bin.command(c.dir, "/bin/sh", "-c", watchdog, "vigil-test-postgres-watchdog",
		c.data(), c.usedFile(), fmt.Sprint(idleMinutes), c.bin.Path("pg_ctl"))
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the watchdog of the test cluster: %w", err)
	}
	return cmd.Process.Release()
}
