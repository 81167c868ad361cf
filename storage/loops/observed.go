// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Unobserved is the SQL condition that a loop, alias r, of the check, alias c, is not probed
// although it should be: its newest result is older than three intervals and its deadline,
// and so is the beginning of its schedule. Maintenance that pauses probing does not count, nor
// the time that the loop then needs to go on. The first part is what an index has.
func Unobserved(now string) string {
	return fmt.Sprintf(
		`(%[2]s AND coalesce(r.last_slot + (3 * r.interval_ms + r.deadline_ms) * interval '1 millisecond' < %[1]s, true)
		AND NOT %[3]s)`,
		now,
		Overdue(now),
		pausedAt(now, "0"),
	)
}

// Overdue is the part of the condition Unobserved that the row of the loop, alias r, says: most loops that are due are left
// out by it.
func Overdue(now string) string {
	return DueBefore(now) + fmt.Sprintf(" AND r.next_due + (2 * r.interval_ms + r.deadline_ms) * interval '1 millisecond' < %s", now)
}

// The indexes of the loops that are due: those whose slots are probed or sent, by their next slot, and those of heartbeats by the
// end of their deadline in milliseconds since 1970.
const (
	ofSlots = "r.active AND r.region <> '" + vigil.HeartbeatRegion + "'"
	ofBeats = "r.active AND r.region = '" + vigil.HeartbeatRegion + "'"
	beatDue = "(extract(epoch FROM r.next_due AT TIME ZONE 'UTC') * 1000)::bigint + r.deadline_ms"
)

// slotBefore and beatBefore are the conditions that what the indexes have is before an instant.
func slotBefore(due, at string) string { return due + " < " + at }

func beatBefore(due, at string) string {
	return due + " <= (extract(epoch FROM (" + at + ") AT TIME ZONE 'UTC') * 1000)::bigint"
}

// DueBefore is what indexes have of the condition that an active loop, alias r, was due before an instant in SQL, and its
// deadline is over. It leaves out most loops that are not late, and none that is.
func DueBefore(at string) string {
	return "(" + ofSlots + " AND " + slotBefore("r.next_due", at) + " OR " + ofBeats + " AND " + beatBefore(beatDue, at) + ")"
}

// AnyDue reports whether an active loop is due as DueBefore says. Most of the time none is, and to see so costs a tenth of what
// the statements take to plan that read the loops that are late.
func AnyDue(ctx context.Context, db *pg.DB, at time.Time) (bool, error) {
	due, err := pg.Row[bool](ctx, db, "SELECT "+AnyDueBefore("@at::timestamptz"), pg.Named{"at": pg.Micro(at)})
	return due, pg.Wrap("look for loops that are due", err)
}

// AnyDueBefore is SQL for whether an active loop is due as DueBefore says: whether the first entry of either index is.
func AnyDueBefore(at string) string {
	first := func(which, due string) string {
		return "(SELECT " + due + " FROM check_regions AS r WHERE " + which + " ORDER BY " + due + " LIMIT 1)"
	}
	return "(coalesce(" + slotBefore(first(ofSlots, "r.next_due"), at) + ", false) OR coalesce(" +
		beatBefore(first(ofBeats, beatDue), at) + ", false))"
}

// ObservedHealth is SQL for the health of a loop, alias r, of the check, alias c: unknown
// when it is unobserved.
func ObservedHealth(now string) string {
	return "CASE WHEN r.health <> 'unknown' AND " + Unobserved(now) + " THEN 'unknown' ELSE r.health END"
}
