// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"math"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil"
)

// Bounds of a check's timeout, which is also at most its interval.
const (
	maxTimeout     = 60 * time.Second
	defaultTimeout = 10 * time.Second
)

// maxConfigBytes bounds a config as text.
const maxConfigBytes = 256 << 10

// timeout is the deadline of a run of a config whose timeout_seconds is given,
// or 0 where it is not.
func timeout(seconds int, interval time.Duration) (time.Duration, error) {
	if seconds == 0 {
		return min(defaultTimeout, interval), nil
	}
	given := time.Duration(seconds) * time.Second
	if given > interval {
		return 0, vigil.Invalid("config.timeout_seconds", "must not exceed the check's interval, which is %s", humanDuration(interval))
	}
	return given, nil
}

// humanDuration writes a duration in seconds, or milliseconds below one.
func humanDuration(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	return strconv.FormatFloat(math.Round(d.Seconds()*10)/10, 'f', -1, 64) + "s"
}
