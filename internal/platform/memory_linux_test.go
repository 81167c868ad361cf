// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"os"
	"strings"
	"testing"
)

func TestConstantPages(t *testing.T) {
	t.Parallel()
	const program = "/opt/my vigil/bin"
	for line, want := range map[string]bool{
		"00400000-04cec000 r-xp 00000000 fe:00 7                          /opt/my vigil/bin\n": true,
		"04cec000-0a47a000 r--p 048ec000 fe:00 7                          /opt/my vigil/bin\n": true,
		"0a47a000-0a633000 rw-p 0a07a000 fe:00 7                          /opt/my vigil/bin\n": false,
		"7f0000000000-7f0000001000 r--p 00000000 fe:00 8                  /lib/libc.so\n":      false,
		"7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0                  [vdso]\n":            false,
		"c000000000-c000400000 rw-p 00000000 00:00 0 \n":                                       false,
		"x-y r-xp 00000000 fe:00 7                                        /opt/my vigil/bin\n": false,
	} {
		if _, _, ok := constantPages(line, program); ok != want {
			t.Errorf("%q: %v", line, ok)
		}
	}
	first, last, _ := constantPages("00400000-04cec000 r-xp 00000000 fe:00 7 "+program, program)
	if first != 0x400000 || last != 0x4cec000 {
		t.Errorf("pages from %x to %x", first, last)
	}
}

// TestReleaseProgram proves that the program runs on without its pages: the kernel reads
// them again.
func TestReleaseProgram(t *testing.T) { //nolint:paralleltest // its figure is of the whole process
	before := filePages(t)
	releaseProgram()
	if after := filePages(t); after >= before {
		t.Errorf("%d KiB of files are mapped, before %d", after, before)
	}
}

// filePages are the resident pages of files in KiB, also of those in memory, where the
// program of a test may be.
func filePages(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for line := range strings.Lines(string(raw)) {
		if name, rest, _ := strings.Cut(line, ":"); name == "RssFile" || name == "RssShmem" {
			total += firstNumber(rest)
		}
	}
	return total
}
