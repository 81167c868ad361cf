// SPDX-License-Identifier: Apache-2.0

package egress

import "fmt"

// Setting is the name of the setting that permits private targets.
const Setting = "VIGIL_ALLOWED_PRIVATE_CIDRS"

// Refusal is the error for an address that the policy does not let through.
// Its text is a whole sentence that may be shown to a user.
type Refusal struct {
	// Target is the address that was refused, as an IP or IP:port.
	Target string
	// Never is true for addresses that no setting permits.
	Never bool

	kind string
	only string // what may reach it; empty: nothing
}

// Error says what was refused, and which setting changes it when one does.
func (r *Refusal) Error() string {
	if r.only != "" {
		return fmt.Sprintf("%s is %s, which only %s reach", r.Target, r.kind, r.only)
	}
	if r.Never {
		return fmt.Sprintf("%s is %s, which is never reached", r.Target, r.kind)
	}
	return fmt.Sprintf("%s is %s, and this instance reaches public addresses only; its operator can permit it with %s",
		r.Target, r.kind, Setting)
}
