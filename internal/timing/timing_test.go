// SPDX-License-Identifier: Apache-2.0

package timing_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		d, deadline, want time.Duration
		err               error
	}{
		"ForItsTime":         {d: time.Minute, deadline: time.Hour, want: time.Minute},
		"UntilItsContextEnd": {d: time.Hour, deadline: time.Minute, want: time.Minute, err: context.DeadlineExceeded},
		"NotAtAll":           {d: 0, deadline: time.Minute},
		"NotWithEndedContext": {
			d: time.Hour, deadline: -time.Second, err: context.DeadlineExceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				began := time.Now()
				if err := timing.Sleep(ctx, test.d); !errors.Is(err, test.err) {
					t.Errorf("%v, want %v", err, test.err)
				}
				if took := time.Since(began); took != test.want {
					t.Errorf("slept %v, want %v", took, test.want)
				}
			})
		})
	}
}

// TestRepeat calls until it works, or until the context ends.
func TestRepeat(t *testing.T) {
	t.Parallel()
	calls := 0
	err := timing.Repeat(t.Context(), time.Millisecond, func(context.Context) error {
		if calls++; calls < 3 {
			return context.DeadlineExceeded
		}
		return nil
	})
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	failure := errors.New("away")
	calls = 0
	err = timing.Repeat(ctx, time.Hour, func(context.Context) error {
		calls++
		cancel()
		return failure
	})
	if !errors.Is(err, failure) || calls != 1 {
		t.Errorf("once the context ended: %d calls, %v", calls, err)
	}
}
