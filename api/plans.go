// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// requestsPerWindow is how many requests a window admits (spec section 8).
const requestsPerWindow = 1000

// plans knows what the tiers allow where this server sets it.
type plans struct {
	enterpriseMinInterval time.Duration
	enterpriseRate        int64
}

// of returns what the caller's organization may do.
func (p plans) of(caller *rest.Caller) account.Plan {
	return account.PlanOf(caller.Org.Tier, p.enterpriseMinInterval)
}

// rate returns how many requests a window admits on a tier.
func (p plans) rate(tier account.Tier) int64 {
	if tier == account.TierEnterprise {
		return p.enterpriseRate
	}
	return requestsPerWindow
}

// unverifiedDays is how long checks of an unverified account live.
const unverifiedDays = 14
