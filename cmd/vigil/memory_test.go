package main

import (
	"io/fs"
	"runtime"
	"testing"
	"time"
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
	machine := files{"/proc/meminfo": "MemTotal: 1024 kB\n"}
	if got := memoryLimit("", machine.read); got != 1024*1024*7/10 {
		t.Errorf("the limit is %d bytes, want 70 %% of the machine's", got)
	}
	if got := memoryLimit("100MiB", machine.read); got != 0 {
		t.Errorf("the limit is %d bytes although GOMEMLIMIT is set", got)
	}
	if got := memoryLimit("", files{}.read); got != 0 {
		t.Errorf("the limit is %d bytes although nothing is known of the machine", got)
	}
}

func TestShareOfTheCollector(t *testing.T) {
	t.Parallel()
	var since effort
	now := effort{at: since.at.Add(10 * time.Second), collector: 3, busy: 30, cpu: time.Second}
	want := 0.1 * 1 / (10 * float64(runtime.GOMAXPROCS(0))) // a tenth of a second in ten
	if got := now.share(since); got < 0.99*want || got > 1.01*want {
		t.Errorf("a share of %v, want %v", got, want)
	}
	if got := since.share(since); got != 0 {
		t.Errorf("a share of %v of no time", got)
	}
	first := readEffort()
	runtime.GC()
	if second := readEffort(); second.collector <= first.collector || second.cpu <= 0 || second.busy < second.collector {
		t.Errorf("%+v follows %+v", second, first)
	}
}

func TestNextGCPercent(t *testing.T) {
	t.Parallel()
	percent := maxGCPercent
	for _, step := range []struct {
		share float64
		want  int
	}{{0, 50}, {0.001, 25}, {0, 25}, {0.01, 25}, {0.015, 50}, {0.015, 100}, {0.5, 100}, {0.01, 100}, {0.001, 50}} {
		if percent = nextGCPercent(percent, step.share, 1<<30); percent != step.want {
			t.Fatalf("%d %% after a share of %v, want %d", percent, step.share, step.want)
		}
	}
	for _, step := range []struct {
		percent int
		share   float64
		live    uint64
		want    int
	}{{25, 0.005, 90 << 20, 50}, {25, 0.005, 100 << 20, 25}, {50, 0.002, 90 << 20, 50}, {50, 0.002, 100 << 20, 25}} {
		if got := nextGCPercent(step.percent, step.share, step.live); got != step.want {
			t.Errorf("%+v is followed by %d %%", step, got)
		}
	}
	if 2*gcCheap >= gcBudget {
		t.Error("the percentage can go up and down all the time: the collector is cheap, and then takes more than its budget")
	}
}
