// SPDX-License-Identifier: Apache-2.0

package drills

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// Every says how often a schedule runs a drill.
type Every string

// How often a schedule runs a drill.
const (
	Monthly Every = "monthly"
	Weekly  Every = "weekly"
)

const (
	// MaxSchedules is how many schedules of drills an organization has at most.
	MaxSchedules = 20
	// MaxDelay is how late a drill of a schedule runs at most, where the platform was away or
	// another drill of a channel runs. After it that drill is skipped.
	MaxDelay = 24 * time.Hour
	// MinDefaultDelay is how long after its making the schedule by default runs its first drill at the
	// earliest.
	MinDefaultDelay = 24 * time.Hour
	// lastMonthlyDay is the last day that each month has.
	lastMonthlyDay = 28
	lastWeekday    = 7
	lastHour       = 23
)

// Recurrence is when a schedule runs a drill.
type Recurrence struct {
	Every Every
	// Day is the day of the month, 1 to 28, or the weekday, 1 (Monday) to 7.
	Day int
	// Hour of the day in Timezone, 0 to 23.
	Hour     int
	Timezone string // IANA name
}

// Validate returns a CodeInvalid error that names the member at fault. It does not know time zones.
func (r *Recurrence) Validate() error {
	switch {
	case r.Every != Monthly && r.Every != Weekly:
		return vigil.Invalid("recurrence.every", "must be monthly or weekly")
	case r.Every == Monthly && (r.Day < 1 || r.Day > lastMonthlyDay):
		return vigil.Invalid("recurrence.day", "must be a day from 1 to %d, which each month has", lastMonthlyDay)
	case r.Every == Weekly && (r.Day < 1 || r.Day > lastWeekday):
		return vigil.Invalid("recurrence.day", "must be a weekday from 1 (Monday) to %d (Sunday)", lastWeekday)
	case r.Hour < 0 || r.Hour > lastHour:
		return vigil.Invalid("recurrence.hour", "must be from 0 to %d", lastHour)
	}
	return nil
}

// Schedule runs drills by itself. Each time has one drill, also when the process is killed.
type Schedule struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	Name  string
	// Request is what each drill asks for.
	Request    Request
	Recurrence Recurrence
	Enabled    bool
	// NextAt is when the next drill runs; nil where the schedule is disabled.
	NextAt *time.Time
	// SkippedAt is the last time that was left out; nil: none was.
	SkippedAt *time.Time
	// Last is the last drill that has ended; nil: none has.
	Last *Ended
	// Version increases by one with every change that a caller makes.
	Version              int64
	CreatedAt, UpdatedAt time.Time
}

// ScheduledID is the ID of the drill of one time of a schedule, so that there is one.
func ScheduledID(schedule uuid.UUID, at time.Time) uuid.UUID {
	return uuid.NewSHA1(schedule, []byte(at.UTC().Format(time.RFC3339)))
}

// Defaults says what schedule of drills the operator's organization has by default.
type Defaults struct {
	Name       string
	Recurrence Recurrence
	// Regions in which the drills run; none: the default region.
	Regions []string
	// Except is the project whose channels are left out: its Tool and its Project.
	Except vigil.ManagedBy
}
