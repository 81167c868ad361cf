package vigil

import "time"

// RateWindow is how long a window of the rate limit is (spec section 8).
const RateWindow = time.Minute

// RateLease is a share of an organization's requests that one process may admit
// by itself until the window ends.
type RateLease struct {
	// Granted requests; 0 when the window has none left.
	Granted int64
	// Left in the window, for any process, after this lease.
	Left int64
	// Ends is how long the window still lasts.
	Ends time.Duration
}
