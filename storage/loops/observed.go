// SPDX-License-Identifier: Apache-2.0

package loops

import (
	"fmt"

	"github.com/vigil-monitor/vigil"
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

// DueBefore is what indexes have of the condition that an active loop, alias r, was due before an instant in SQL, and its
// deadline is over. It leaves out most loops that are not late, and none that is.
func DueBefore(at string) string {
	const milliseconds = "(extract(epoch FROM %s AT TIME ZONE 'UTC') * 1000)::bigint"
	return fmt.Sprintf(
		"r.active AND (r.region <> '"+vigil.HeartbeatRegion+"' AND r.next_due < %[1]s OR r.region = '"+vigil.HeartbeatRegion+"' AND "+
			fmt.Sprintf(milliseconds, "r.next_due")+" + r.deadline_ms <= "+fmt.Sprintf(milliseconds, "(%[1]s)")+")", at)
}

// ObservedHealth is SQL for the health of a loop, alias r, of the check, alias c: unknown
// when it is unobserved.
func ObservedHealth(now string) string {
	return "CASE WHEN r.health <> 'unknown' AND " + Unobserved(now) + " THEN 'unknown' ELSE r.health END"
}
