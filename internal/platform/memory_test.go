// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"io/fs"
	"testing"
)

// files are the files of a machine by name.
type files map[string]string

func (f files) read(name string) ([]byte, error) {
	if text, ok := f[name]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	const machine = "MemTotal:        8388608 kB\nMemFree:           65536 kB\n"
	const gib = 1 << 30
	for fact, test := range map[string]struct {
		files files
		want  int64
	}{
		"NothingIsKnown": {files{}, 0},
		"OfTheMachine":   {files{"/proc/meminfo": machine}, 8 * gib},
		"WithoutALimit": {files{
			"/proc/meminfo":             machine,
			"/proc/self/cgroup":         "0::/\n",
			"/sys/fs/cgroup/memory.max": "max\n",
		}, 8 * gib},
		"OfTheGroup": {files{
			"/proc/meminfo":                 machine,
			"/proc/self/cgroup":             "0::/a/b\n",
			"/sys/fs/cgroup/a/b/memory.max": "1073741824\n",
		}, gib},
		"OfAGroupAbove": {files{
			"/proc/meminfo":               machine,
			"/proc/self/cgroup":           "0::/a/b\n",
			"/sys/fs/cgroup/a/memory.max": "1073741824\n",
		}, gib},
		"OfTheContainer": {files{
			"/proc/meminfo":             machine,
			"/proc/self/cgroup":         "0::/a/b\n",
			"/sys/fs/cgroup/memory.max": "1073741824\n",
		}, gib},
		"OfAnOlderGroup": {files{
			"/proc/meminfo":     machine,
			"/proc/self/cgroup": "3:cpu:/x\n4:memory:/x\n",
			"/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824\n",
		}, gib},
		"LessThanTheGroup": {files{
			"/proc/meminfo":             machine,
			"/proc/self/cgroup":         "0::/\n",
			"/sys/fs/cgroup/memory.max": "9223372036854771712\n",
		}, 8 * gib},
		"UnreadableTexts": {files{"/proc/meminfo": "MemTotal:", "/proc/self/cgroup": "::\n0\n\n"}, 0},
	} {
		t.Run(fact, func(t *testing.T) {
			t.Parallel()
			if got := availableMemory(test.files.read); got != test.want {
				t.Errorf("%d bytes, want %d", got, test.want)
			}
		})
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	for kib, want := range map[string]int64{
		"8388608": 8 << 30 / 10 * 7, // 70 %
		"524288":  336 << 20,        // what the rest takes is left
		"262144":  128 << 20,        // half
	} {
		machine := files{"/proc/meminfo": "MemTotal: " + kib + " kB\n"}
		if got := memoryLimit("", availableMemory(machine.read)); got>>20 != want>>20 {
			t.Errorf("with %s KiB the limit is %d MiB, want %d", kib, got>>20, want>>20)
		}
	}
	if got := memoryLimit("100MiB", 1<<20); got != 0 {
		t.Errorf("the limit is %d bytes although GOMEMLIMIT is set", got)
	}
	if got := memoryLimit("", 0); got != 0 {
		t.Errorf("the limit is %d bytes although nothing is known of the machine", got)
	}
}
