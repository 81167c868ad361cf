// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage/incidents"
	"github.com/vigil-monitor/vigil/storage/loops"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// sweepWork is one statement for all that the sweep looks for several times a second: at rest it is most of what a platform
// asks. Each part is the first entry of an index, or of a table that is small.
func sweepWork() string {
	return "SELECT " + loops.AnyLagging + ` AS lagging, ` +
		loops.AnyDueBefore("@late::timestamptz") + ` AS late,
	` + loops.AnyNotBegun + ` AS not_begun,
	` + pg.First("loop_tombstones WHERE done_at IS NULL ORDER BY created_at") + ` AS tombstones,
	` + pg.First("worker_leases WHERE blind_since IS NOT NULL") + " OR " + pg.First("blind_regions WHERE ended_at IS NULL") +
		" OR " + pg.First("blind_organizations WHERE NOT ended ORDER BY blind_id") + ` AS blind,
	` + pg.First("locations WHERE seen_at IS NOT NULL") + ` AS locations,
	` + pg.First("incidents WHERE status <> 'resolved' OR latched ORDER BY swept_at") + ` AS incidents,
	` + pg.First("region_votes WHERE firing <> '{}' ORDER BY swept_at") + ` AS votes,
	` + pg.First("deliveries WHERE status = 'pending' OR redeliver ORDER BY swept_at") + ` AS deliveries,
	` + pg.First("delivery_places") + ` AS places,
	` + pg.First("recoveries WHERE state = 'running' ORDER BY stepped_at") + ` AS recoveries,
	` + pg.First("late_spans ORDER BY changed_at") + ` AS late_results,
	` + pg.First("unobserved_checks") + " OR " + pg.First("unobserved_channels") + ` AS unobserved,
	` + pg.First("maintenance_holds") + ` AS holds,
	` + pg.First("result_reclassifications") + ` AS reclassifications,
	` + pg.First("drills WHERE state <> 'closed' ORDER BY progress_at") + ` AS drills,
	` + pg.First("drill_schedules WHERE next_at <= @now ORDER BY next_at") + ` AS drill_schedules,
	` + pg.First("report_schedules WHERE next_at <= @now ORDER BY next_at") + ` AS report_schedules,
	` + pg.First("channel_notices WHERE due_at IS NOT NULL ORDER BY due_at") +
		" OR " + pg.First("drills WHERE notice_due_at IS NOT NULL ORDER BY notice_due_at") + ` AS notices,
	` + pg.First("organizations WHERE deleted_at IS NOT NULL ORDER BY deleted_at") + ` AS deleted`
}

// SweepWork returns what the sweep may have to do at a time, of all shards.
func (s *Store) SweepWork(ctx context.Context, now time.Time) (fleet.Work, error) {
	work, err := pg.Row[struct {
		Lagging           bool `bun:"lagging"`
		Late              bool `bun:"late"`
		NotBegun          bool `bun:"not_begun"`
		Tombstones        bool `bun:"tombstones"`
		Blind             bool `bun:"blind"`
		Locations         bool `bun:"locations"`
		Incidents         bool `bun:"incidents"`
		Votes             bool `bun:"votes"`
		Deliveries        bool `bun:"deliveries"`
		Places            bool `bun:"places"`
		Recoveries        bool `bun:"recoveries"`
		LateResults       bool `bun:"late_results"`
		Unobserved        bool `bun:"unobserved"`
		Holds             bool `bun:"holds"`
		Reclassifications bool `bun:"reclassifications"`
		Drills            bool `bun:"drills"`
		DrillSchedules    bool `bun:"drill_schedules"`
		ReportSchedules   bool `bun:"report_schedules"`
		Notices           bool `bun:"notices"`
		Deleted           bool `bun:"deleted"`
	}](ctx, s.db, sweepWork(), pg.Named{"now": pg.Micro(now), "late": pg.Micro(now.Add(-incidents.Soonest))})
	return fleet.Work(work), pg.Wrap("look for work of the sweep", err)
}
