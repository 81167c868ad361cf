// SPDX-License-Identifier: Apache-2.0

package fleet

// Work is what the sweep may have to do. Each member says whether there are rows of one kind, in any shard: where there are
// none, nothing of that kind is due.
type Work struct {
	Lagging           bool // loops whose revision, or whose generation, Temporal has not accepted
	Late              bool // loops without the result of a slot that was 2 s ago
	NotBegun          bool // loops of which no worker has begun a turn
	Tombstones        bool // loops that must end
	Blind             bool // regions that are blind, or whose beginning or end is not published to all
	Locations         bool // locations that have had an agent
	Incidents         bool // incidents that are open or latched
	Votes             bool // votes with a rule that fires
	Deliveries        bool // deliveries that are pending or requested again
	Places            bool // deliveries with a place, or that wait for one
	Recoveries        bool // recoveries that run
	LateResults       bool // results that arrived late, and were not looked through
	Unobserved        bool // checks that are known to be unobserved, or channels that were notified of it
	Holds             bool // checks whose incident workflow knows that they are in maintenance
	Reclassifications bool // results that must be marked again
	Drills            bool // drills that have not ended
	DrillSchedules    bool // schedules of drills whose time has come
	ReportSchedules   bool // schedules of reports whose time has come
	Notices           bool // mails to owners that are or will be due
	Deleted           bool // organizations that were deleted
}
