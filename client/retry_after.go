// SPDX-License-Identifier: Apache-2.0

package client

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter returns how long the header Retry-After of an answer asks to wait, at least 0:
// seconds, or a date in any of the three forms that recipients have to read (RFC 9110, sections
// 10.2.3 and 5.6.7). Seconds that are too many to be counted are 68 years. It returns false for
// an answer that does not ask, or in no such form.
func RetryAfter(header http.Header, now time.Time) (time.Duration, bool) {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			seconds = math.MaxInt32
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return max(0, at.Sub(now)), true
}
