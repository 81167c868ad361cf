// SPDX-License-Identifier: Apache-2.0

package storagetest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// tick is the unit of /proc/<pid>/stat on Linux (USER_HZ).
const tick = time.Second / 100

// CPU is the CPU time that the processes of the server have taken which run now, and those that have ended.
func (c *Cluster) CPU(tb testing.TB) (sum time.Duration) {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		tb.Fatal(err)
	}
	server, _, _ := strings.Cut(string(text), "\n")
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // of /proc
		if err != nil {
			continue // it has ended
		}
		// After the name in parentheses: state, parent; from the twelfth on utime, stime and those of ended children.
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		self := filepath.Base(filepath.Dir(file)) == server
		if len(fields) < 15 || fields[1] != server && !self {
			continue
		}
		last := 13
		if self {
			last = 15
		}
		for _, field := range fields[11:last] {
			n, err := strconv.ParseInt(field, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
