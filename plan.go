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

// Allowance bounds how many checks an organization may create in an hour.
type Allowance struct {
	CreationsPerHour int64 // Unlimited: not enforced
}

// Usage is what an organization uses of its plan.
type Usage struct {
	Checks            int64
	ExecutionsPerHour float64
}

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
