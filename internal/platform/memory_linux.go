// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// releaseProgram unmaps the pages of the program's code and constants, half of which only
// starting needs. The kernel maps those in use again, from its cache.
func releaseProgram() {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	raw, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(raw)) {
		if first, last, ok := constantPages(line, program); ok {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, first, last-first, syscall.MADV_DONTNEED) // advice only
		}
	}
}

// constantPages returns the addresses of a line of /proc/self/maps when they are pages of
// the program that nothing can have written to.
func constantPages(line, program string) (first, last uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || strings.Join(fields[5:], " ") != program || fields[1] != "r-xp" && fields[1] != "r--p" {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	a, err := strconv.ParseUint(from, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	b, err := strconv.ParseUint(to, 16, 64)
	if err != nil {
		return 0, 0, false
	}
	return uintptr(a), uintptr(b), true
}
