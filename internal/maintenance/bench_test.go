// SPDX-License-Identifier: Apache-2.0

package maintenance_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/maintenance"
)

// BenchmarkSearchOfAnOccurrence measures the longest searches: rules that never occur, and
// the last of many occurrences.
func BenchmarkSearchOfAnOccurrence(b *testing.B) {
	for name, s := range map[string]maintenance.Schedule{
		"SecondMondayOnTheFirst": {RRule: "FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=2MO"},
		"ThirtiethOfFebruary":    {RRule: "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30"},
		"CronThatNeverOccurs":    {Cron: "0 0 31 2,4,6,9,11 *"},
	} {
		s.StartsAt, s.Timezone, s.Duration = time.Date(2026, 11, 22, 2, 30, 0, 0, time.UTC), "Europe/Berlin", time.Hour
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if s.Validate() == nil {
					b.Fatal("it occurs")
				}
			}
		})
	}
}
