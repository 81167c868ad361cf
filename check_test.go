// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

func TestCheckOffset(t *testing.T) {
	t.Parallel()
	check := vigil.Check{Interval: 10 * time.Second, Regions: []string{"a", "b", "c"}, Simultaneous: true}
	staggered := check
	staggered.Simultaneous = false

	tests := []struct {
		fact   string
		check  vigil.Check
		region string
		want   time.Duration
	}{
		{"SimultaneousRegionsHaveNone", check, "c", 0},
		{"FirstStaggeredRegionHasNone", staggered, "a", 0},
		{"SecondOfThreeLiesAThirdBehind", staggered, "b", 3333 * time.Millisecond},
		{"ThirdOfThreeLiesTwoThirdsBehind", staggered, "c", 6666 * time.Millisecond},
		{"RegionThatTheCheckDoesNotHaveGetsNone", staggered, "d", 0},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			if got := tt.check.Offset(tt.region); got != tt.want {
				t.Errorf("offset is %v, want %v", got, tt.want)
			}
		})
	}
}

// Staggered regions must divide the interval evenly, so that never more than
// one of them probes within interval/n.
func TestCheckScheduleStaggersEvenly(t *testing.T) {
	t.Parallel()
	keys := vigil.RegionKeys()
	check := vigil.Check{Interval: time.Minute, Regions: keys, Anchor: epoch()}
	after := epoch().Add(time.Hour).Add(-1)
	for i, key := range keys {
		slot := check.Schedule(key, epoch()).Next(after)
		want := epoch().Add(time.Hour).Add(time.Minute * time.Duration(i) / time.Duration(len(keys)))
		if d := want.Sub(slot); d < 0 || d > time.Millisecond {
			t.Errorf("region %d probes at %v, want %v", i, slot, want)
		}
	}
}

func TestCheckHourlyCost(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact  string
		check vigil.Check
		want  float64
	}{
		{"EveryMinuteFromOneRegion", vigil.Check{Enabled: true, Interval: time.Minute, Regions: []string{"a"}}, 60},
		{"EveryHalfMinuteFromThree", vigil.Check{Enabled: true, Interval: 30 * time.Second, Regions: []string{"a", "b", "c"}}, 360},
		{"LessThanOnceAnHour", vigil.Check{Enabled: true, Interval: 2 * time.Hour, Regions: []string{"a"}}, 0.5},
		{"DisabledCostsNothing", vigil.Check{Interval: time.Minute, Regions: []string{"a"}}, 0},
		{"NoIntervalCostsNothing", vigil.Check{Enabled: true, Regions: []string{"a"}}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			if got := tt.check.HourlyCost(); got != tt.want {
				t.Errorf("cost is %v, want %v", got, tt.want)
			}
		})
	}
}

func TestLoopNames(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0b9a4d2e-3f57-4c55-9f0e-6f3a2d1c7b88")
	if got := vigil.LoopID(id, "eu-west-ams"); got != "check/0b9a4d2e-3f57-4c55-9f0e-6f3a2d1c7b88/eu-west-ams" {
		t.Errorf("workflow id is %q", got)
	}
	if got := vigil.RegionQueue("eu-west-ams"); got != "region/eu-west-ams" {
		t.Errorf("task queue is %q", got)
	}
}

func TestResultID(t *testing.T) {
	t.Parallel()
	check, slot := uuid.MustParse("0b9a4d2e-3f57-4c55-9f0e-6f3a2d1c7b88"), epoch()
	first := vigil.ResultID(check, "eu-west-ams", slot)
	if again := vigil.ResultID(check, "eu-west-ams", slot.In(time.FixedZone("elsewhere", 3600))); again != first {
		t.Error("the same instant in another zone has another id")
	}
	if vigil.ResultID(check, "eu-west-lhr", slot) == first || vigil.ResultID(check, "eu-west-ams", slot.Add(time.Millisecond)) == first {
		t.Error("another region or slot has the same id")
	}
}

func TestUptime(t *testing.T) {
	t.Parallel()
	u := vigil.Uptime{Total: 8, Successful: 6, Failed: 2, Missed: 2}
	if u.Percentage() != 75 || u.Expected() != 10 || u.Coverage() != 80 {
		t.Errorf("percentage %v, expected %v, coverage %v", u.Percentage(), u.Expected(), u.Coverage())
	}
	if none := (vigil.Uptime{}); none.Percentage() != 0 || none.Coverage() != 0 {
		t.Errorf("without data: percentage %v, coverage %v", none.Percentage(), none.Coverage())
	}
}
