//go:build !linux

package standalone

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// rootCanDrop is false where a child cannot open our descriptors by a path.
const rootCanDrop = false

// descriptorPath is never asked for: see rootCanDrop.
func descriptorPath(int) string { return "" }

// dieWithParent does nothing where the kernel has no death signal: the next
// start stops what was left behind.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// runsIn reports whether the process looks like the postmaster of the cluster,
// by the command line that we gave it.
func runsIn(pid int, dir string) bool {
	line, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec,noctx // a number; ps answers at once
	return err == nil && strings.Contains(string(line), "-D "+dir)
}
