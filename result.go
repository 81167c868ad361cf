package vigil

import (
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Observation is what one probe saw. A failed one always has a reason.
type Observation struct {
	Success bool
	// ResponseTime is that of the target alone: waiting for a probe's turn
	// is lateness and is not part of it.
	ResponseTime time.Duration
	StatusCode   int    // HTTP types only, 0 otherwise
	Error        string // empty on success; never holds a secret
	Metadata     map[string]any
	// Unavailable: the machine cannot make this kind of probe. Nothing is
	// said about the target, so such an observation is not a result.
	Unavailable bool
}

// Result is an observation of one check in one region at one slot. At most one
// is stored for each (check, region, slot).
type Result struct {
	ID      uuid.UUID
	CheckID uuid.UUID
	Region  string
	// Slot is the instant the probe was due, Time the instant it began.
	Slot, Time time.Time
	// Manual results were asked for and belong to no slot of the schedule.
	Manual bool
	Observation
}

// ResultRow is a result on its way into storage.
type ResultRow struct {
	Result Result
	// Worker that probed, as it is known to the leases.
	Worker string
	// Deadline is the longest that a probe of the check may take; a slot is
	// overdue when this much time has passed since it.
	Deadline time.Duration
}

// StoredResult is the row that storage holds for a slot: the caller's own, or the
// one that was there before.
type StoredResult struct {
	Result   Result
	Inserted bool
	// Missed is how many slots before this one the insert found without a
	// result.
	Missed int64
}

// MaxErrorLength bounds Result.Error, in bytes.
const MaxErrorLength = 1024

// Truncate cuts a text to at most limit bytes, at the border of a character.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:max(0, limit)]
}

// resultSpace is the namespace of result ids.
var resultSpace = uuid.MustParse("8f3a1c52-6f0e-4c1b-9a6e-0d6f4e1b7a31") //nolint:gochecknoglobals // a constant that Go cannot spell as one

// ResultID is the id of the result of a slot. It follows from its key, so that
// a repeated probe of the same slot has the same id.
func ResultID(checkID uuid.UUID, region string, slot time.Time) uuid.UUID {
	key := make([]byte, 0, 64)
	key = append(key, checkID[:]...)
	key = append(key, region...)
	key = slot.UTC().AppendFormat(key, time.RFC3339Nano)
	return uuid.NewSHA1(resultSpace, key)
}

// Uptime summarizes the results of a check over a period (spec section 2,
// UptimeStats). Response times are in milliseconds, over successes only.
type Uptime struct {
	Total, Successful, Failed int64
	Missed                    int64 // due slots without a result
	AvgMS, P50MS, P95MS       float64
	P99MS                     float64
	ByRegion                  map[string]Uptime // nil in the entries themselves
}

// Percentage of the results that succeeded, 0 to 100; 0 without any.
func (u Uptime) Percentage() float64 { return percentage(u.Successful, u.Total) }

// Expected is the number of results that were due: those of the schedule, and
// those that were asked for, which are due at that instant.
func (u Uptime) Expected() int64 { return u.Total + u.Missed }

// Coverage is the percentage of due results that are there, 0 to 100.
func (u Uptime) Coverage() float64 { return percentage(u.Total, u.Expected()) }

func percentage(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// Page is a window of a list, newest first.
type Page struct {
	Limit  int // rows at most
	Offset int // rows passed over
}

// ResultFilter selects results of a check. Nil and empty members do not bind.
type ResultFilter struct {
	From, To *time.Time // of Result.Time; From is included, To is not
	Region   string
	Success  *bool
	Page
}
