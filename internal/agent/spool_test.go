// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/agent"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

func result(n int, calm bool) agent.Item {
	return agent.Item{
		JSON: fmt.Sprintf(`{"n":%d,"fill":%q}`, n, strings.Repeat("x", 300)),
		Slot: noon.Add(time.Duration(n) * time.Second),
		Calm: calm,
	}
}

// batch returns results from one number to another.
func batch(from, to int, calm func(int) bool) (found []agent.Item) {
	for i := from; i < to; i++ {
		found = append(found, result(i, calm(i)))
	}
	return found
}

func openSpool(t *testing.T, dir string, bound int64) *agent.Spool {
	t.Helper()
	s, err := agent.OpenSpool(t.Context(), dir, bound, noon)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// numbers takes everything and returns the numbers of the results.
func numbers(t *testing.T, s *agent.Spool) (found []int) {
	t.Helper()
	for {
		items, err := s.Take(100)
		if err != nil {
			t.Fatal(err)
		}
		if len(items) == 0 {
			return found
		}
		for _, one := range items {
			var n int
			if _, err := fmt.Sscanf(one.JSON, `{"n":%d,`, &n); err != nil {
				t.Fatal(err)
			}
			found = append(found, n)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSpoolKeepsItsOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openSpool(t, dir, 64<<20)
	for i := 0; i < 10_000; i += 50 {
		must(t, s.Write(false, batch(i, i+50, func(int) bool { return true })...))
		if i == 5000 {
			must(t, s.Close())
			s = openSpool(t, dir, 64<<20)
		}
	}
	if state := s.State(); state.Results != 10_000 || state.Dropped != 0 || state.Bytes != s.Bytes() {
		t.Errorf("%+v", state)
	}
	found := numbers(t, s)
	for i, n := range found {
		if n != i {
			t.Fatalf("result %d is at %d", n, i)
		}
	}
	if len(found) != 10_000 || s.State().Results != 0 {
		t.Errorf("%d results came", len(found))
	}
	n, err := s.Resend()
	if err != nil || n != 10_000 || len(numbers(t, s)) != 10_000 {
		t.Errorf("%d results come again, %v", n, err)
	}
	s.Expire(noon.Add(5 * time.Hour))
	if n, err := s.Resend(); n != 0 || err != nil || s.Bytes() != 0 {
		t.Errorf("%d results and %d bytes are kept for hours, %v", n, s.Bytes(), err)
	}
}

// What was being written when the machine stopped is cut off, at every byte of the last record.
func TestSpoolIsCutOff(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	s := openSpool(t, whole, 64<<20)
	for i := range 3 {
		must(t, s.Write(false, result(i, false)))
	}
	must(t, s.Close())
	files, err := filepath.Glob(filepath.Join(whole, "*.unsent"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	must(t, err)
	each := len(text) / 3
	for cut := 1; cut < each; cut += 7 {
		for _, damage := range []bool{false, true} {
			dir := t.TempDir()
			torn := bytes.Clone(text[:len(text)-cut])
			if damage { // the length is right, and what follows it is not
				torn = append(torn, make([]byte, cut)...)
			}
			must(t, os.WriteFile(filepath.Join(dir, filepath.Base(files[0])), torn, 0o600))
			s := openSpool(t, dir, 64<<20)
			must(t, s.Write(false, result(7, false)))
			if got := numbers(t, s); fmt.Sprint(got) != "[0 1 7]" {
				t.Fatalf("cut by %d, damaged %v: %v", cut, damage, got)
			}
			must(t, s.Close())
		}
	}
}

// A full spool drops acknowledged results first, then calm ones, then the oldest.
func TestSpoolIsBounded(t *testing.T) {
	t.Parallel()
	const bound = 8 << 20
	s := openSpool(t, t.TempDir(), bound)
	must(t, s.Write(true, batch(0, 5000, func(int) bool { return true })...))
	for i := 0; i < 50_000; i += 500 {
		must(t, s.Write(false, batch(i, i+500, func(n int) bool { return n%10 != 0 })...))
		if s.Bytes() > bound {
			t.Fatalf("it has %d bytes", s.Bytes())
		}
	}
	state := s.State()
	if state.Dropped == 0 || state.Results+state.Dropped != 50_000 {
		t.Errorf("%+v", state)
	}
	found := map[int]bool{}
	for _, n := range numbers(t, s) {
		found[n] = true
	}
	if int64(len(found)) != state.Results {
		t.Errorf("%d results came of %d", len(found), state.Results)
	}
	for i := 0; i < 50_000; i += 10 {
		if !found[i] {
			t.Fatalf("the result %d, which is no calm one, gave way", i)
		}
	}
	if !found[49_999] || found[1] {
		t.Error("the newest calm one gave way, or the oldest did not")
	}
	for i := 0; i < 100_000; i += 500 {
		must(t, s.Write(false, batch(i, i+500, func(int) bool { return false })...))
	}
	if s.Bytes() > bound || s.State().Results == 0 {
		t.Errorf("%d bytes, %+v", s.Bytes(), s.State())
	}
}

// Only one agent may have a data directory.
func TestSpoolIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openSpool(t, dir, 8<<20)
	if _, err := agent.OpenSpool(t.Context(), dir, 8<<20, noon); err == nil || !strings.Contains(err.Error(), "give each its own") {
		t.Errorf("opened twice: %v", err)
	}
}

func TestReadEvents(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", 20_000)
	found, err := agent.ReadEvents(
		strings.NewReader(": hello\n\nid: 7\nevent: task\ndata: one\ndata:two\n\n:\n\r\nid: 8\r\ndata: " + long + "\r\n\r\ndata: cut"),
	)
	if err == nil || errors.Is(err, os.ErrClosed) || len(found) != 2 {
		t.Fatal(found, err)
	}
	if found[0] != (agent.Event{ID: "7", Name: "task", Data: "one\ntwo"}) || found[1].ID != "8" || found[1].Data != long {
		t.Errorf("%.200v", found)
	}
	if _, err := agent.ReadEvents(bytes.NewReader(append([]byte("data: "), make([]byte, 65<<20)...))); err == nil ||
		!strings.Contains(err.Error(), "larger than") {
		t.Errorf("an event without an end: %v", err)
	}
}

// The round trip that took the shortest time counts, and a difference of more than five seconds is
// corrected and said once.
func TestClock(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	own := noon
	c := agent.NewClock(func() time.Time { return own }, &log)
	c.Observe(noon, noon.Add(2*time.Second), noon.Add(11*time.Second)) // answered at the end
	c.Observe(noon, noon.Add(20*time.Millisecond), noon.Add(10*time.Second).Add(10*time.Millisecond))
	c.Observe(noon, noon.Add(time.Second), noon.Add(10*time.Second))
	if got := c.Difference(); got != -10*time.Second {
		t.Errorf("the difference is %v", got)
	}
	if got := c.Now(); !got.Equal(noon.Add(10 * time.Second)) {
		t.Errorf("it is %v", got)
	}
	own = noon.Add(time.Minute)
	for _, one := range []struct{ ahead, corrected time.Duration }{
		{4 * time.Second, 4 * time.Second},
		{1100 * time.Millisecond, 1100 * time.Millisecond},
		{900 * time.Millisecond, 900 * time.Millisecond}, // as it is corrected already
		{400 * time.Millisecond, 0},
		{900 * time.Millisecond, 0},
		{-1100 * time.Millisecond, -1100 * time.Millisecond},
	} {
		for range 8 {
			c.Observe(own, own, own.Add(-one.ahead))
		}
		if got := c.Now(); !got.Equal(own.Add(-one.corrected)) || c.Difference() != one.ahead {
			t.Errorf("%v ahead: it is %v after what the own clock says, with a difference of %v", one.ahead, got.Sub(own), c.Difference())
		}
	}
	if strings.Count(log.String(), "WARN") != 1 || !strings.Contains(log.String(), "again") {
		t.Error(log.String())
	}
}

// An answer that was under way while the clock of the machine was set says nothing about it.
func TestClockIsSet(t *testing.T) {
	t.Parallel()
	for _, readFirst := range []bool{false, true} {
		var log bytes.Buffer
		ahead := int64(-180)
		own := func() time.Time { return timingtest.Wall(time.Now(), ahead) }
		c := agent.NewClock(own, &log)
		right := func(when string) {
			t.Helper()
			if off := c.Now().Round(0).Sub(time.Now().Round(0)); off.Abs() > time.Second {
				t.Errorf("%s it is %v ahead", when, off)
			}
		}
		c.Observe(own(), own(), time.Now())
		right("three minutes behind")
		sent := own()
		ahead = 0
		if readFirst {
			right("once it is set")
		}
		c.Observe(sent, own(), time.Now())
		right("after an answer to what was asked before")
		c.Observe(own(), own(), time.Now())
		right("after another one")
		if strings.Count(log.String(), "WARN") != 1 || strings.Count(log.String(), "again") != 1 {
			t.Error(log.String())
		}
	}
}
