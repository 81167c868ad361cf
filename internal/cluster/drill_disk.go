// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// TakeFull fills the disk of a host for a time.
const TakeFull Take = "disk full"

func fullDisks(rounds int) (all []Drill) {
	for _, what := range []string{
		string(KindVigilPostgres) + " primary", string(KindTemporalPostgres) + " primary",
		string(KindVigilPostgres) + " standby", string(KindEtcd), string(KindWorker),
	} {
		all = append(all, repeated(what, TakeFull, rounds)...)
	}
	return all
}

// NeedDisks is whether one of the drills fills a disk, see Options.Disks.
func NeedDisks(drills []Drill) bool {
	return slices.ContainsFunc(drills, func(d Drill) bool { return d.Take == TakeFull })
}

// diskSize is the size of the disk of a host in bytes; none has one of its own.
func diskSize(kind Kind) int {
	const mega = 1 << 20
	return map[Kind]int{
		KindVigilPostgres: 1024 * mega, KindTemporalPostgres: 1024 * mega, // the logs of a Postgres take up to 640 MB
		KindEtcd: 512 * mega, KindWorker: 64 * mega,
	}[kind]
}

// privateMounts says that a process mounts for itself alone.
const privateMounts = "VIGIL_CLUSTER_MOUNTS"

// WithPrivateMounts starts this process again with mounts of its own, which the kernel removes with its last process, however
// it ends. It returns where that was done, or cannot be. It needs root.
func WithPrivateMounts() error {
	if os.Getenv(privateMounts) != "" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	unshare, err := find("unshare")
	if err != nil {
		return err
	}
	argv := append([]string{unshare, "--mount", "--propagation", "private", "--", self}, os.Args[1:]...)
	return unix.Exec(unshare, argv, append(os.Environ(), privateMounts+"=1"))
}

// mountDisks gives the hosts disks of a limited size, in memory, before their files are written.
func (c *Cluster) mountDisks() error {
	if !c.options.Disks {
		return nil
	}
	for _, h := range c.All() {
		if diskSize(h.Kind) == 0 {
			continue
		}
		if err := mountDisk(c.hostDir(h), diskSize(h.Kind)); err != nil {
			return fmt.Errorf("the disk of %s: %w", h.Name, err)
		}
		c.disks = append(c.disks, c.hostDir(h))
	}
	return nil
}

func mountDisk(dir string, size int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as authority.issue makes it
		return err
	}
	return unix.Mount("vigil", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d,mode=0755", size))
}

// unmountDisks takes them away, with what they have.
func (c *Cluster) unmountDisks() {
	for _, dir := range c.disks {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	}
	c.disks = nil
}

// fillDisk fills the disk of a host for a time.
func (d *Drills) fillDisk(ctx context.Context, h *Host) error {
	dir := d.c.hostDir(h)
	if !slices.Contains(d.c.disks, dir) {
		return errors.New("the host has no disk of its own: disks need root, --network namespaces, and a kind that has one")
	}
	if err := d.replicated(ctx); err != nil {
		return err
	}
	return keepFull(ctx, dir, d.options.Away)
}

// fillAgain is how often what others have freed is filled again.
const fillAgain = 100 * time.Millisecond

// keepFull lets a file system have no space for a time.
func keepFull(ctx context.Context, dir string, during time.Duration) (err error) {
	file, err := os.Create(filepath.Join(dir, "full")) //nolint:gosec // a directory of the cluster
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	block := bytes.Repeat([]byte("full"), 64<<10)
	for until := time.Now().Add(during); time.Now().Before(until); {
		for err == nil {
			_, err = file.Write(block) // the last one in part
		}
		if !errors.Is(err, unix.ENOSPC) {
			return err
		}
		if err = timing.Sleep(ctx, fillAgain); err != nil {
			return err
		}
	}
	return nil
}
