package storagetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// idleMinutes is how long the shared cluster outlives the last test that held a
// database: several times what lies between two signs of life of a test.
const idleMinutes = 5

// sharedCluster returns the cluster that all test processes of this user share,
// and starts it when it does not answer.
func sharedCluster(ctx context.Context) (*Cluster, error) {
	bin, err := findBinaries(ctx)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(bin.baseDir(), fmt.Sprintf("vigil-test-postgres-%d-%d", os.Getuid(), bin.Major))
	c := &Cluster{bin: bin, dir: dir, settings: disposableSettings()}
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

// lock takes a lock that ends with this process at the latest.
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

// usedFile is touched by every request for a database and as long as one is held.
func (c *Cluster) usedFile() string { return filepath.Join(c.dir, "used") }

// markUsed says that somebody needs the cluster.
func (c *Cluster) markUsed() error {
	stamp := []byte(time.Now().UTC().Format(time.RFC3339) + "\n")    //nolint:forbidigo // the watchdog compares file times
	if err := os.WriteFile(c.usedFile(), stamp, 0o644); err != nil { //nolint:gosec // the server's user reads its time
		return fmt.Errorf("use the test cluster: %w", err)
	}
	return nil
}

// keepAlive uses the cluster until the end of the test, however long that takes.
func (c *Cluster) keepAlive(tb testing.TB) {
	tb.Helper()
	over := make(chan struct{})
	tb.Cleanup(func() { close(over) })
	go func() {
		tick := time.NewTicker(time.Minute)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				_ = c.markUsed() // the next minute is soon enough
			}
		}
	}()
}

// watchdog stops the server once the used file is old, and ends with it.
const watchdog = `while [ -e "$1/postmaster.pid" ] && [ -n "$(find "$2" -mmin -"$3")" ]; do sleep 15; done
exec "$4" stop -m immediate -D "$1"`

// startWatchdog leaves a process behind that stops the cluster when it is idle.
func (c *Cluster) startWatchdog() error {
	cmd := c.bin.command(c.dir, "/bin/sh", "-c", watchdog, "vigil-test-postgres-watchdog",
		c.data(), c.usedFile(), fmt.Sprint(idleMinutes), c.bin.Path("pg_ctl"))
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("watch the test cluster: %w", err)
	}
	return cmd.Process.Release()
}
