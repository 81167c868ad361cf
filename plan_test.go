// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

func TestPlanOf(t *testing.T) {
	t.Parallel()
	tests := []struct {
		tier vigil.Tier
		want vigil.Plan
	}{
		{vigil.TierFree, vigil.Plan{
			Tier: vigil.TierFree, RegionsPerCheck: 1, PrimaryOnly: true, MinInterval: time.Minute,
			ExecutionsPerHour: 50_000, CreationsPerHour: 30, CreationsPerHourVerified: 90,
			TestsInFlight: 5, ThroughputBytesPerHour: 100 << 30,
		}},
		{vigil.TierPaid, vigil.Plan{
			Tier: vigil.TierPaid, RegionsPerCheck: 33, MinInterval: 30 * time.Second,
			ExecutionsPerHour: 500_000, CreationsPerHour: 1000, CreationsPerHourVerified: 1000,
			TestsInFlight: 20, ThroughputBytesPerHour: 1 << 40,
		}},
		{vigil.TierEnterprise, vigil.Plan{
			Tier: vigil.TierEnterprise, RegionsPerCheck: 33, MinInterval: 2 * time.Second, TestsInFlight: 50,
		}},
	}
	for _, tt := range tests {
		if got := vigil.PlanOf(tt.tier, 2*time.Second); got != tt.want {
			t.Errorf("plan of %s is %+v, want %+v", tt.tier, got, tt.want)
		}
	}
	if got := vigil.PlanOf("platinum", time.Second); got.Tier != vigil.TierFree {
		t.Errorf("an unknown tier gets the plan of %s", got.Tier)
	}
}
