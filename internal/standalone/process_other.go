// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package standalone

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// rootCanDrop is false: a child cannot open the descriptors of its parent by a path.
const rootCanDrop = false

// descriptorPath is never called: see rootCanDrop.
func descriptorPath(int) string { return "" }

// dieWithParent does nothing where the kernel has no death signal: the next
// start stops the leftover server.
func dieWithParent(*syscall.SysProcAttr, syscall.Signal) {}

// runsIn reports whether the process looks like the postmaster of the cluster,
// by its command line.
func runsIn(pid int, dir string) bool {
	line, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output() //nolint:gosec,noctx // a number; ps answers at once
	return err == nil && strings.Contains(string(line), "-D "+dir)
}
