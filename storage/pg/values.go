// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"time"

	"github.com/google/uuid"
)

// NotDrill is an SQL condition: the row, of checks or alert_rules, belongs to no drill. What lists,
// counts or sums checks and rules for people has it, with their alias and a dot before it; what
// runs them has not.
const NotDrill = "drill_id IS NULL"

// Micro rounds a time down to the microsecond, the precision of timestamptz.
func Micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// Milliseconds converts a duration for a column in milliseconds; FromMilliseconds
// converts back.
func Milliseconds(d time.Duration) int64 { return d.Milliseconds() }

// FromMilliseconds converts the milliseconds of a column into a duration.
func FromMilliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// IDOrNew returns id, or a new random one when id is zero.
func IDOrNew(id uuid.UUID) uuid.UUID {
	if id == uuid.Nil {
		return uuid.New()
	}
	return id
}

// TimeOrDefault returns t as Postgres stores it, or fallback when t is zero.
func TimeOrDefault(t, fallback time.Time) time.Time {
	if t.IsZero() {
		return fallback
	}
	return Micro(t)
}

// ZeroIfNil returns the time of a nullable column, zero for null.
func ZeroIfNil(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// UUIDTexts returns ids as texts, which Postgres reads as one array.
func UUIDTexts(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}

// SQLTime is an instant as SQL, for conditions that take one as text.
func SQLTime(t time.Time) string {
	return "'" + Micro(t).Format("2006-01-02T15:04:05.000000Z07:00") + "'::timestamptz"
}

// Map returns what each row is to callers, in the order of the rows.
func Map[R, T any](rows []R, shown func(*R) T) []T {
	list := make([]T, len(rows))
	for i := range rows {
		list[i] = shown(&rows[i])
	}
	return list
}

// TryMap is Map for rows that may not be readable; the first error ends it.
func TryMap[R, T any](rows []R, shown func(*R) (T, error)) ([]T, error) {
	list := make([]T, len(rows))
	for i := range rows {
		var err error
		if list[i], err = shown(&rows[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}
