// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // time zones do not depend on the files of the machine
)

// noZones are files beside the time zones of a machine that are none: its own zone, a place
// holder, and copies.
//
//nolint:gochecknoglobals // a constant that Go cannot spell as one
var noZones = []string{"", "local", "localtime", "factory", "posixrules"}

// zones has the zones that were loaded: to read one from its file takes longer than what is asked
// of it. Only names that exist are kept, so that there are some hundreds.
//
//nolint:gochecknoglobals // a cache of constants
var zones sync.Map

// LoadZone returns a time zone by its name in the IANA database; ok is false for a name that
// means another zone on another machine, or none.
func LoadZone(name string) (zone *time.Location, ok bool) {
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), true //nolint:forcetypeassert // nothing else is stored
	}
	lower := strings.ToLower(name)
	if slices.Contains(noZones, lower) || strings.HasPrefix(lower, "posix/") || strings.HasPrefix(lower, "right/") {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err == nil
}

// WallTime returns the wall time of an instant in a zone; its location is UTC.
func WallTime(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// InstantOf returns the instant of a wall time: the earlier one when clocks show it twice,
// and the first one after the gap, with shifted, when they never do. It does not use
// time.Time.ZoneBounds, which is wrong at the end of leap years from 2040 on.
func InstantOf(wall time.Time, zone *time.Location) (at time.Time, shifted bool) {
	const day = 24 * time.Hour
	for _, near := range [...]time.Duration{-2 * day, -day, 0, day, 2 * day} {
		_, offset := wall.Add(near).In(zone).Zone()
		candidate := wall.Add(-time.Duration(offset) * time.Second)
		if (at.IsZero() || candidate.Before(at)) && WallTime(candidate, zone).Equal(wall) {
			at = candidate
		}
	}
	if !at.IsZero() {
		return at, false
	}
	const span = int(4 * day / time.Second)
	first := wall.Add(-2 * day)
	after := sort.Search(span, func(seconds int) bool {
		return !WallTime(first.Add(time.Duration(seconds)*time.Second), zone).Before(wall)
	})
	return first.Add(time.Duration(after) * time.Second), true
}
