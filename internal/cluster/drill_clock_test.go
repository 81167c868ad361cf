// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// clockProgram prints its time, and how long it takes to wait for 50 ms by each clock.
const clockProgram = `package main

import (
	"fmt"
	"time"
)

func main() {
	began := time.Now()
	time.Sleep(50 * time.Millisecond)
	fmt.Println(time.Now().UnixMilli(), time.Since(began).Milliseconds(), time.Since(began.Round(0)).Milliseconds(),
		-time.Until(began).Milliseconds())
}
`

// TestClockPrograms builds a program with the overlay and without: the one has the clock of the variable, with durations that
// are right, and the other has that of the machine.
func TestClockPrograms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles the standard library")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(clockProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(env string, argv ...string) string {
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	path := func(name string) string { return filepath.Join(dir, name) }
	do("", "../../.ci/clock-overlay", dir)
	do("", "go", "build", "-overlay", path("overlay.json"), "-o", path("set"), path("main.go"))
	do("", "go", "build", "-o", path("plain"), path("main.go"))
	for _, test := range []struct {
		program, env string
		off          time.Duration
	}{
		{"set", clockVariable + "=90s", 90 * time.Second},
		{"set", clockVariable + "=-3s", -3 * time.Second},
		{"set", clockVariable + "=1.75s", 1750 * time.Millisecond},
		{"set", clockVariable + "=-1ms", -time.Millisecond},
		{"set", "ANOTHER=1", 0},
		{"plain", clockVariable + "=90s", 0},
	} {
		before := time.Now().Truncate(time.Millisecond)
		fields := strings.Fields(do(test.env, path(test.program)))
		after := time.Now()
		numbers := make([]int64, 4)
		for i := range numbers {
			numbers[i], _ = strconv.ParseInt(fields[i], 10, 64)
		}
		if at := time.UnixMilli(numbers[0]).Add(-test.off); at.Before(before) || at.After(after) {
			t.Errorf("%s with %s: its clock is at %v, want %v to %v", test.program, test.env, at, before, after)
		}
		for _, took := range numbers[1:] {
			if took < 49 || took > after.Sub(before).Milliseconds() {
				t.Errorf("%s with %s: 50 ms take %d ms", test.program, test.env, took)
			}
		}
	}
}

// TestSetClock runs a host with a clock that is off, and then with the right one, also where the drills end meanwhile.
func TestSetClock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, said := filepath.Join(dir, "clock"), filepath.Join(dir, "said")
	if err := os.Symlink("/bin/bash", link); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{options: Options{ClockPrograms: ClockPrograms{Vigil: link}}, network: loopback{}}
	h := &Host{Kind: KindWorker, Name: "one", network: c.network, logs: dir}
	script := fmt.Sprintf(`echo "${BASH##*/} ${%s:-right} $MINE" >> %s; sleep 600 & wait`, clockVariable, said)
	h.add(program{name: "vigil", argv: []string{"/bin/bash", "-c", script}, env: []string{"MINE=1"}})
	t.Cleanup(func() { _ = h.Kill(context.WithoutCancel(t.Context())) })
	if err := h.Start(); err != nil {
		t.Fatal(err)
	}
	has := func(what string, want ...string) {
		t.Helper()
		timingtest.Eventually(t, waitLimit, what, func() bool {
			text, _ := os.ReadFile(said)
			return strings.TrimSpace(string(text)) == strings.Join(want, "\n")
		})
	}
	has("the host runs", "bash right 1")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	d := &Drills{c: c, options: DrillOptions{Away: time.Hour}}
	go func() { ended <- d.setClock(ctx, h, clockOffset(TakeFarBehind)) }()
	has("its clock is set", "bash right 1", "clock -1m30s 1")
	stop()
	has("its clock is right again", "bash right 1", "clock -1m30s 1", "bash right 1")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

// TestClockDrills holds that a drill of clocks says so when its programs are missing.
func TestClockDrills(t *testing.T) {
	t.Parallel()
	missing := ClockPrograms{"/bin/true", "/none"}
	if err := missing.Check(AllDrills(1, false)); err == nil || !strings.Contains(err.Error(), "make clock-programs") {
		t.Errorf("with drills of clocks: %v", err)
	}
	if err := missing.Check(ShortDrills()); err != nil {
		t.Errorf("without: %v", err)
	}
	if err := (ClockPrograms{"/bin/true", "/bin/true"}).Check(AllDrills(1, false)); err != nil {
		t.Errorf("with both programs: %v", err)
	}
}
