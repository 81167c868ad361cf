// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"time"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// requestsPerWindow is how many requests a window admits (spec section 8).
const requestsPerWindow = 1000

// Plans knows what the tiers allow where this server sets it.
type Plans struct {
	EnterpriseMinInterval time.Duration
	EnterpriseRate        int64
}

// Of returns what the caller's organization may do.
func (p Plans) Of(caller *rest.Caller) account.Plan {
	return account.PlanOf(caller.Org.Tier, p.EnterpriseMinInterval)
}

// Rate returns how many requests a window admits on a tier.
func (p Plans) Rate(tier account.Tier) int64 {
	if tier == account.TierEnterprise {
		return p.EnterpriseRate
	}
	return requestsPerWindow
}

// UnverifiedDays is how long checks of an unverified account live.
const UnverifiedDays = 14
