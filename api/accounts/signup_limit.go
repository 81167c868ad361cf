// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// signupLimits cap the organizations that are not verified.
type signupLimits struct {
	perAddress, total int
	targets           rest.PrivateTargets // nil: the limits always apply
}

// limits returns the limits of a sign-up: none while only this machine's users can reach
// the API.
func (a *accounts) limits(ctx context.Context) account.SignupLimits {
	if a.signups.targets != nil && a.signups.targets.Open() {
		return account.SignupLimits{}
	}
	return account.SignupLimits{
		Network: rest.Network(rest.RequestOf(ctx).Address), PerNetwork: a.signups.perAddress, Total: a.signups.total,
	}
}
