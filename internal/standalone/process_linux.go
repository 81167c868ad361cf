// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"os"
	"strconv"
	"syscall"
)

// rootCanDrop reports that a child of another user can open the files of its parent.
const rootCanDrop = true

// descriptorPath is how a child opens its n-th extra file again.
func descriptorPath(n int) string { return "/proc/self/fd/" + strconv.Itoa(3+n) }

// dieWithParent makes the kernel signal the child when the thread that started
// it ends; the caller keeps that thread.
func dieWithParent(attr *syscall.SysProcAttr, death syscall.Signal) { attr.Pdeathsig = death }

// runsIn reports whether the process works in the directory: a postmaster works
// in its cluster.
func runsIn(pid int, dir string) bool {
	cwd, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	return err == nil && cwd == dir
}
