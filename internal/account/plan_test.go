// SPDX-License-Identifier: Apache-2.0

package account_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/account"
)

func TestPlanOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tier account.Tier
		want account.Plan
	}{
		{account.TierFree, account.Plan{
			Tier: account.TierFree, RegionsPerCheck: 1, PrimaryOnly: true, MinInterval: time.Minute,
			ExecutionsPerHour: 50_000, CreationsPerHour: 30, CreationsPerHourVerified: 90,
			TestsInFlight: 5, ThroughputBytesPerHour: 100 << 30,
		}},
		{account.TierPaid, account.Plan{
			Tier: account.TierPaid, RegionsPerCheck: 33, MinInterval: 30 * time.Second,
			ExecutionsPerHour: 500_000, CreationsPerHour: 1000, CreationsPerHourVerified: 1000,
			TestsInFlight: 20, ThroughputBytesPerHour: 1 << 40,
		}},
		{account.TierEnterprise, account.Plan{
			Tier: account.TierEnterprise, RegionsPerCheck: 33, MinInterval: 2 * time.Second, TestsInFlight: 50,
		}},
	}
	for _, tt := range tests {
		if got := account.PlanOf(tt.tier, 2*time.Second); got != tt.want {
			t.Errorf("plan of %s is %+v, want %+v", tt.tier, got, tt.want)
		}
	}
	if got := account.PlanOf("platinum", time.Second); got.Tier != account.TierFree {
		t.Errorf("an unknown tier gets the plan of %s", got.Tier)
	}
}
