// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// WallForm is how wall times are written; seconds are optional (WallFormSeconds).
const (
	WallForm        = "2006-01-02T15:04"
	WallFormSeconds = "2006-01-02T15:04:05"
)

// ParseWallTime reads a wall time, such as 2026-12-01T22:00. Its location is UTC. An error is
// a CodeInvalid error about the member.
func ParseWallTime(member, text string) (time.Time, error) {
	for _, form := range []string{WallForm, WallFormSeconds} {
		if at, err := time.Parse(form, text); err == nil {
			return at, nil
		}
	}
	const form = "must be a local time without an offset, such as 2026-12-01T22:00; its time zone is the member timezone"
	return time.Time{}, vigil.Invalid(member, form)
}

// FormatWallTime writes a wall time as ParseWallTime reads it.
func FormatWallTime(wall time.Time) string {
	if wall.Second() == 0 {
		return wall.Format(WallForm)
	}
	return wall.Format(WallFormSeconds)
}

// Validate returns a CodeInvalid error that names the member at fault. Whose checks the scope
// names is for the store to say.
func (w *Window) Validate() error {
	if err := w.Scope.Validate(); err != nil {
		return err
	}
	switch {
	case w.Probing != ProbingContinue && w.Probing != ProbingPause:
		return vigil.Invalid("probing", "must be continue or pause")
	case w.Uptime != UptimeExclude && w.Uptime != UptimeInclude:
		return vigil.Invalid("uptime", "must be exclude or include")
	}
	return w.Schedule.Validate()
}

// Validate returns a CodeInvalid error that names the member at fault.
func (s *Scope) Validate() error {
	if !s.All && len(s.CheckIDs) == 0 && len(s.Labels) == 0 {
		return vigil.Invalid("scope", "must name what is maintained: check_ids, labels, or all: true")
	}
	if len(s.CheckIDs) > MaxChecks {
		return vigil.Invalid("scope.check_ids", "must have at most %d items; select more checks by labels", MaxChecks)
	}
	if len(s.Labels) > MaxLabels {
		return vigil.Invalid("scope.labels", "must have at most %d items", MaxLabels)
	}
	for i, text := range s.Labels {
		member := fmt.Sprintf("scope.labels[%d]", i)
		if !strings.Contains(text, "=") {
			return vigil.Invalid(member, "must have the form key=value, such as team=payments")
		}
		if _, err := vigil.ParseLabelSelectors(member, []string{text}); err != nil {
			return err
		}
	}
	return nil
}

// CheckStart returns a CodeInvalid error when the first occurrence started too long before
// now.
func (s *Schedule) CheckStart(now time.Time) error {
	oldest := s.WallTime(now.Add(-MaxPast))
	if s.StartsAt.Before(oldest) {
		return vigil.Invalid("starts_at", "must not be more than %d days ago", int(MaxPast.Hours()/24))
	}
	return nil
}

// Normalize removes what a scope has twice, and sorts it.
func (s *Scope) Normalize() {
	slices.SortFunc(s.CheckIDs, func(a, b uuid.UUID) int { return strings.Compare(a.String(), b.String()) })
	s.CheckIDs = slices.Compact(s.CheckIDs)
	slices.Sort(s.Labels)
	s.Labels = slices.Compact(s.Labels)
}
