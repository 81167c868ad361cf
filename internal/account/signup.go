// SPDX-License-Identifier: Apache-2.0

package account

import "time"

// SignupWindow is how long a sign-up counts against SignupLimits, unless its address is
// verified before. Checks of an unverified organization are deleted after as long.
const SignupWindow = 14 * 24 * time.Hour

// SignupLimits bound the organizations whose address is not verified; 0 for any number.
type SignupLimits struct {
	// Network is where the sign-up comes from: an IPv4 address or an IPv6 /64.
	Network    string
	PerNetwork int // from the same network
	Total      int // of the instance
}

// SignupRequest asks for an account, which is made when the link in a mail is used.
type SignupRequest struct {
	Email        string
	Name         string // of the user
	Organization string
	ExpiresAt    time.Time
}
