package vigil

import "time"

// Tier is what an organization pays for.
type Tier string

// The tiers (spec section 8).
const (
	TierFree       Tier = "free"
	TierPaid       Tier = "paid"
	TierEnterprise Tier = "enterprise"
)

// Unlimited is the value of a limit that does not bind.
const Unlimited = 0

// Plan is what a tier allows.
type Plan struct {
	Tier            Tier
	RegionsPerCheck int
	PrimaryOnly     bool // only the six primary regions
	MinInterval     time.Duration
	// ExecutionsPerHour bounds the summed HourlyCost of the enabled checks.
	ExecutionsPerHour int64
	// CreationsPerHour bounds new checks, before and after the account's
	// address is verified.
	CreationsPerHour         int64
	CreationsPerHourVerified int64
}

// PlanOf returns the plan of a tier. minEnterprise is the setting for the
// smallest interval of the enterprise tier. An unknown tier gets the free plan.
func PlanOf(tier Tier, minEnterprise time.Duration) Plan {
	switch tier {
	case TierEnterprise:
		return Plan{
			Tier: tier, RegionsPerCheck: 33, MinInterval: minEnterprise,
			ExecutionsPerHour: Unlimited, CreationsPerHour: Unlimited, CreationsPerHourVerified: Unlimited,
		}
	case TierPaid:
		return Plan{
			Tier: tier, RegionsPerCheck: 33, MinInterval: 30 * time.Second,
			ExecutionsPerHour: 500_000, CreationsPerHour: 1000, CreationsPerHourVerified: 1000,
		}
	case TierFree:
	}
	return Plan{
		Tier: TierFree, RegionsPerCheck: 1, PrimaryOnly: true, MinInterval: time.Minute,
		ExecutionsPerHour: 50_000, CreationsPerHour: 30, CreationsPerHourVerified: 90,
	}
}
