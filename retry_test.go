// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

func TestRetry(t *testing.T) {
	t.Parallel()

	t.Run("DeadlineIsThatOfAllAttemptsAndTheDelays", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			retry vigil.Retry
			want  time.Duration
		}{
			{vigil.Retry{}, 10 * time.Second},
			{vigil.Retry{Delay: 30 * time.Second}, 10 * time.Second},
			{vigil.Retry{Attempts: 1}, 20 * time.Second},
			{vigil.Retry{Attempts: 2, Delay: 5 * time.Second}, 40 * time.Second},
			{vigil.Retry{Attempts: 3, Delay: 30 * time.Second}, 130 * time.Second},
		} {
			if got := c.retry.Deadline(10 * time.Second); got != c.want {
				t.Errorf("%+v: %s, want %s", c.retry, got, c.want)
			}
		}
	})

	t.Run("MustFitTheInterval", func(t *testing.T) {
		t.Parallel()
		retry := vigil.Retry{Attempts: 2, Delay: 5 * time.Second} // 3 attempts of 11 s and 2 delays: 43 s
		if err := retry.Admit(11*time.Second, 43*time.Second, ""); err != nil {
			t.Errorf("it fits exactly: %v", err)
		}
		const want = "retry: needs up to 43 s, the interval is 42 s: each of the 3 attempts may take 11 s. " +
			"Lower the timeout, attempts or delay_seconds, or choose a longer interval"
		if err := retry.Admit(11*time.Second, 42*time.Second, ""); vigil.ErrorCode(err) != vigil.CodeInvalid || err.Error() != want {
			t.Errorf("got %v", err)
		}
		if err := (vigil.Retry{Delay: 30 * time.Second}).Admit(10*time.Second, 10*time.Second, "it posts"); err != nil {
			t.Errorf("nothing is retried: %v", err)
		}
	})

	t.Run("RefusesUnsafeProbesUnlessPermitted", func(t *testing.T) {
		t.Parallel()
		retry := vigil.Retry{Attempts: 1}
		err := retry.Admit(time.Second, time.Minute, "config.method is POST")
		const want = "retry.unsafe: must be true to retry this check: config.method is POST, " +
			"so repeating the probe may change something at the target"
		if vigil.ErrorCode(err) != vigil.CodeInvalid || err.Error() != want {
			t.Errorf("got %v", err)
		}
		retry.Unsafe = true
		if err := retry.Admit(time.Second, time.Minute, "config.method is POST"); err != nil {
			t.Errorf("permitted: %v", err)
		}
	})

	t.Run("BoundsItsMembers", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			retry vigil.Retry
			want  string
		}{
			{vigil.Retry{Attempts: 3, Delay: 30 * time.Second, On: vigil.RetryNetwork}, ""},
			{vigil.Retry{Attempts: -1}, "retry.attempts: must be between 0 and 3"},
			{vigil.Retry{Attempts: 4}, "retry.attempts: must be between 0 and 3"},
			{vigil.Retry{Delay: 31 * time.Second}, "retry.delay_seconds: must be between 0 and 30"},
			{vigil.Retry{Delay: time.Millisecond}, "retry.delay_seconds: must be between 0 and 30"},
			{vigil.Retry{On: "weather"}, "retry.on: must be any or network"},
		} {
			got := ""
			if err := c.retry.Validate(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%+v: %q, want %q", c.retry, got, c.want)
			}
		}
	})

	t.Run("RetriesFailuresOfItsKind", func(t *testing.T) {
		t.Parallel()
		network, wrong := vigil.Observation{Error: "refused", NetworkFailure: true}, vigil.Observation{Error: "status 500"}
		for name, c := range map[string]struct {
			on   vigil.RetryOn
			seen vigil.Observation
			want bool
		}{
			"AnySuccess":     {vigil.RetryAny, vigil.Observation{Success: true}, false},
			"AnyNetwork":     {vigil.RetryAny, network, true},
			"AnyWrong":       {vigil.RetryAny, wrong, true},
			"EmptyIsAny":     {"", wrong, true},
			"Unavailable":    {vigil.RetryAny, vigil.Observation{Unavailable: true, NetworkFailure: true}, false},
			"NetworkNetwork": {vigil.RetryNetwork, network, true},
			"NetworkWrong":   {vigil.RetryNetwork, wrong, false},
		} {
			retry := vigil.Retry{Attempts: 2, On: c.on}
			if got := retry.Retries(c.seen, 1); got != c.want {
				t.Errorf("%s: %v", name, got)
			}
			if retry.Retries(c.seen, 2) {
				t.Errorf("%s: a third time", name)
			}
		}
	})

	t.Run("AttemptsAreInTheMetadata", func(t *testing.T) {
		t.Parallel()
		before := map[string]any{"ip": "192.0.2.1"}
		got := vigil.WithAttempts(before, []vigil.FailedAttempt{{Error: "refused", ResponseTime: 1500 * time.Microsecond}})
		want := map[string]any{"ip": "192.0.2.1", "attempts": []any{map[string]any{"error": "refused", "response_time_ms": 1.5}}}
		if !reflect.DeepEqual(got, want) || len(before) != 1 {
			t.Errorf("got %v", got)
		}
		if got := vigil.WithAttempts(nil, nil); got != nil {
			t.Errorf("without any: %v", got)
		}
	})

	t.Run("CountsAsMeasurements", func(t *testing.T) {
		t.Parallel()
		check := vigil.Check{
			Type: vigil.TypeThroughput, Config: []byte(`{"max_bytes":1000}`), Interval: time.Hour, Regions: []string{"a", "b"}, Enabled: true,
			Retry: vigil.Retry{Attempts: 2},
		}
		if got := check.HourlyBytes(); got != 6000 {
			t.Errorf("%v bytes an hour, want 6000", got)
		}
		if got := check.HourlyCost(); got != 2 {
			t.Errorf("%v executions an hour, want 2", got)
		}
	})
}
