// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// micro rounds a time down to the microsecond, the precision of timestamptz.
func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// milliseconds converts a duration for a column in milliseconds; fromMilliseconds
// converts back.
func milliseconds(d time.Duration) int64 { return d.Milliseconds() }

func fromMilliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// idOrNew returns id, or a new random one when id is zero.
func idOrNew(id uuid.UUID) uuid.UUID {
	if id == uuid.Nil {
		return uuid.New()
	}
	return id
}

// timeOrDefault returns t as Postgres stores it, or fallback when t is zero.
func timeOrDefault(t, fallback time.Time) time.Time {
	if t.IsZero() {
		return fallback
	}
	return micro(t)
}

// zeroIfNil returns the time of a nullable column, zero for null.
func zeroIfNil(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func texts(ids []uuid.UUID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	return list
}

// at is an instant as SQL, for conditions that take one as text.
func at(t time.Time) string {
	return "'" + micro(t).Format("2006-01-02T15:04:05.000000Z07:00") + "'::timestamptz"
}

func cleanText(s string) string { return vigil.CleanText(s) }

func withoutNUL(tree any) any { return vigil.WithoutNUL(tree) }
