// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"maps"
	"math"
	"strconv"
	"time"
)

// RetryOn says which failures of a probe are retried.
type RetryOn string

// What is retried.
const (
	// RetryAny retries every failure.
	RetryAny RetryOn = "any"
	// RetryNetwork retries failures of the network only: name resolution, connecting, TLS
	// and timeouts. An answer that is wrong is not retried.
	RetryNetwork RetryOn = "network"
)

// Limits of a Retry.
const (
	maxRetryAttempts = 3
	maxRetryDelay    = 30 * time.Second
)

// LongestProbe is the longest duration of all attempts for a slot: each makes up to ten steps of
// a minute.
const LongestProbe = 10*time.Minute + maxRetryAttempts*(10*time.Minute+maxRetryDelay)

// MetadataAttempts is the member of the metadata of a result that lists the failed attempts
// before the one that the result shows.
const MetadataAttempts = "attempts"

// Retry says how often a failing probe is repeated, in the same region, before its failure
// is stored. The zero value repeats nothing.
type Retry struct {
	// Attempts after the first one, 0 to maxRetryAttempts.
	Attempts int
	// Delay between two attempts, whole seconds from 0 to maxRetryDelay.
	Delay time.Duration
	// On is which failures are retried; empty: RetryAny.
	On RetryOn
	// Unsafe permits to repeat probes that may change something at their target.
	Unsafe bool
}

// FailedAttempt is a failed attempt before the one that a result shows.
type FailedAttempt struct {
	Error        string
	ResponseTime time.Duration
}

// Which returns On, RetryAny when it is empty.
func (r Retry) Which() RetryOn {
	if r.On == "" {
		return RetryAny
	}
	return r.On
}

// Normal returns the same with On empty for RetryAny, so that equal values mean the same.
func (r Retry) Normal() Retry {
	if r.On == RetryAny {
		r.On = ""
	}
	return r
}

// Deadline returns the longest duration of all attempts together with the delays between
// them, when one attempt takes up to single.
func (r Retry) Deadline(single time.Duration) time.Duration {
	again := time.Duration(r.Attempts)
	return single + again*(single+r.Delay)
}

// Retries reports whether a failed observation is followed by another attempt, after a
// number of attempts that failed before it.
func (r Retry) Retries(seen Observation, before int) bool {
	return before < r.Attempts && !seen.Success && !seen.Unavailable && (r.Which() == RetryAny || seen.NetworkFailure)
}

// Validate returns a CodeInvalid error when a member is out of range.
func (r Retry) Validate() error {
	switch {
	case r.Attempts < 0 || r.Attempts > maxRetryAttempts:
		return Invalid("retry.attempts", "must be between 0 and %d", maxRetryAttempts)
	case r.Delay < 0 || r.Delay > maxRetryDelay || r.Delay%time.Second != 0:
		return Invalid("retry.delay_seconds", "must be between 0 and %d", int(maxRetryDelay/time.Second))
	case r.Which() != RetryAny && r.Which() != RetryNetwork:
		return Invalid("retry.on", "must be %s or %s", RetryAny, RetryNetwork)
	}
	return nil
}

// Admit returns a CodeInvalid error when the check cannot retry a probe: when all attempts
// do not fit the interval, or when repeating the probe may change something at its target.
// single is the longest duration of one attempt; changes says what makes the probe unsafe
// to repeat, and is empty for a safe one.
func (r Retry) Admit(single, interval time.Duration, changes string) error {
	if r.Attempts == 0 {
		return nil
	}
	if changes != "" && !r.Unsafe {
		return Invalid("retry.unsafe", "must be true to retry this check: %s, so repeating the probe may change something at the target", changes)
	}
	if needs := r.Deadline(single); needs > interval {
		return Invalid("retry", "needs up to %s, the interval is %s: each of the %d attempts may take %s. "+
			"Lower the timeout, attempts or delay_seconds, or choose a longer interval",
			inSeconds(needs), inSeconds(interval), r.Attempts+1, inSeconds(single))
	}
	return nil
}

// inSeconds writes a duration for people, such as "43 s" or "2.5 s".
func inSeconds(d time.Duration) string {
	return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + " s"
}

// WithAttempts returns metadata with the failed attempts before the one that it describes.
// Without any it returns the argument, which is not changed.
func WithAttempts(metadata map[string]any, failed []FailedAttempt) map[string]any {
	if len(failed) == 0 {
		return metadata
	}
	list := make([]any, len(failed))
	for i, one := range failed {
		list[i] = map[string]any{"error": one.Error, "response_time_ms": float64(one.ResponseTime.Microseconds()) / 1000}
	}
	with := make(map[string]any, len(metadata)+1)
	maps.Copy(with, metadata)
	with[MetadataAttempts] = list
	return with
}
