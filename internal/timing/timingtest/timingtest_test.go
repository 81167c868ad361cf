// SPDX-License-Identifier: Apache-2.0

package timingtest_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// said keeps what a test logs and how it fails.
type said struct {
	testing.TB

	lines []string
}

func (*said) Helper() {}

func (s *said) Logf(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *said) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestEventually(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		after time.Duration
		lines []string
		fatal any
	}{
		"AtOnce":               {after: 0},
		"InLessThanASecond":    {after: 900 * time.Millisecond},
		"SaysWhatALongWaitWas": {after: 2200 * time.Millisecond, lines: []string{"waited 2.2 s until: it rains"}},
		"FailsAtItsLimit":      {after: 2 * time.Minute, fatal: "after 1m0s, this does not hold: it rains"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, s := time.Now(), &said{TB: t}
				defer func() {
					if fatal := recover(); fatal != test.fatal {
						t.Errorf("failed with %v, want %v", fatal, test.fatal)
					}
					if !slices.Equal(s.lines, test.lines) {
						t.Errorf("logged %q, want %q", s.lines, test.lines)
					}
				}()
				timingtest.Eventually(s, time.Minute, "it rains", func() bool { return time.Since(began) >= test.after })
			})
		})
	}
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &said{TB: t}
		for _, d := range []time.Duration{time.Second, 3 * time.Second} {
			ended := timingtest.Waiting(s, "it is ready")
			time.Sleep(d)
			ended()
		}
		if want := []string{"waited 3.0 s until: it is ready"}; !slices.Equal(s.lines, want) {
			t.Errorf("logged %q, want %q", s.lines, want)
		}
	})
}
