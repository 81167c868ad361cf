// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Observation is the outcome of a probe. A failed one always has an Error.
type Observation struct {
	Success bool
	// ResponseTime of the target, without the time that the probe waited for its
	// turn.
	ResponseTime time.Duration
	StatusCode   int    // HTTP types only, 0 otherwise
	Error        string // empty on success; never holds a secret
	Metadata     map[string]any
	// Evidence of a failure; nil for a success, and when none was kept or read.
	Evidence *Evidence `json:",omitempty"`
	// Unavailable is true when the machine cannot run this type of probe. Such an
	// observation is not about the target and is not stored.
	Unavailable bool
	// NetworkFailure is true when the probe failed before there was an answer to judge: at
	// name resolution, connecting, TLS, or a timeout. It is known to the process that
	// probed only.
	NetworkFailure bool `json:"-"`
}

// Result is the observation of a check in a region at a slot. At most one is stored
// for each (check, region, slot).
type Result struct {
	ID      uuid.UUID
	CheckID uuid.UUID
	Region  string
	// Slot is when the probe was due, Time when it began: its first attempt.
	Slot, Time time.Time
	// Manual results were requested by a user and have no slot of the schedule.
	Manual bool
	// HasEvidence: evidence is stored with the result, whether it was read or not.
	HasEvidence bool `json:",omitempty"`
	// Excluded: the slot is in maintenance, so that uptime and burn rates leave the result out.
	Excluded bool `json:",omitempty"`
	Observation
}

// ResultRow is a result to store.
type ResultRow struct {
	Result Result
	// Worker that probed, by the name of its lease.
	Worker string
	// MaxDelay is how long the row may wait for others to be stored with it; 0: at once.
	MaxDelay time.Duration
	// Deadline is the longest duration of a probe of the check, with all its attempts. A
	// slot is overdue after this time.
	Deadline time.Duration
	// Excluded results do not count for uptime: the slot is in maintenance.
	Excluded bool
	// Late: the result came long after its slot. It fills the slot, and no rule judges it.
	Late bool
	// TurnSlots is how many slots a turn of the loop covers at the moment; 0 when that is
	// not known.
	TurnSlots int
	// Turn is the turn that goes on after this result, nil for its last slot. Another worker
	// adopts it when this one dies.
	Turn *TurnActivity
	// Owned: an earlier result or an adoption has made the loop that of Worker. Otherwise the
	// result does.
	Owned bool
}

// StoredResult is the stored row of a slot. Inserted is false for a row that was stored
// before.
type StoredResult struct {
	Result   Result
	Inserted bool
	// Missed is the number of slots without a result that the insert found before
	// this one.
	Missed int64
	// Previous is the newest slot of the loop with a result when this one was
	// written, manual ones included. Zero: there is none, or it is not known.
	Previous time.Time
	// Moved: the loop was Owned, and another worker has it now.
	Moved bool
}

// MaxErrorLength is the maximum length of Result.Error, in bytes.
const MaxErrorLength = 1024

// resultSpace is the UUID namespace of results.
var resultSpace = uuid.MustParse("8f3a1c52-6f0e-4c1b-9a6e-0d6f4e1b7a31") //nolint:gochecknoglobals // a constant that Go cannot spell as one

// ResultID returns the ID of the result of a slot. It depends on the key only, so a
// repeated probe of the slot has the same ID.
func ResultID(checkID uuid.UUID, region string, slot time.Time) uuid.UUID {
	key := make([]byte, 0, 64)
	key = append(key, checkID[:]...)
	key = append(key, region...)
	key = slot.UTC().AppendFormat(key, time.RFC3339Nano)
	return uuid.NewSHA1(resultSpace, key)
}

// Uptime summarizes the results of a check in a period (spec section 2, UptimeStats).
// Response times are in milliseconds, of successful results only.
type Uptime struct {
	Total, Successful, Failed int64
	Missed                    int64 // due slots without a result
	Excluded                  int64 // results in maintenance, whether they are counted or not
	AvgMS, P50MS, P95MS       float64
	P99MS                     float64
	ByRegion                  map[string]Uptime // nil in its own entries
}

// Percentage of successful results, 0 to 100; 0 without results.
func (u Uptime) Percentage() float64 { return percentage(u.Successful, u.Total) }

// Expected returns the number of results that were due, manual ones included.
func (u Uptime) Expected() int64 { return u.Total + u.Missed }

// Coverage returns the percentage of due results that are stored, 0 to 100.
func (u Uptime) Coverage() float64 { return percentage(u.Total, u.Expected()) }

func percentage(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// BoundResult returns a result as it is stored, and as it is shown where it is not stored:
// text without NUL and invalid UTF-8, error and metadata within MaxErrorLength and MaxMetadata,
// and the metadata as JSON (nil when there is none). Evidence stays as it is.
func BoundResult(r Result) (bounded Result, metadata []byte, err error) {
	r.Error = Truncate(CleanText(r.Error), MaxErrorLength)
	metadata, err = cleanMetadata(r.Metadata)
	if err != nil {
		return Result{}, nil, err
	}
	// As it will be read back, so that the caller and later readers of the row see the same
	// values.
	if metadata == nil {
		r.Metadata = nil
	} else if !readsBack(r.Metadata) {
		r.Metadata = nil
		if err := json.Unmarshal(metadata, &r.Metadata); err != nil {
			return Result{}, nil, fmt.Errorf("decode metadata: %w", err)
		}
	}
	var cut bool
	if r.Metadata, cut = boundMetadata(r.Metadata); cut {
		if metadata, err = json.Marshal(r.Metadata); err != nil {
			return Result{}, nil, fmt.Errorf("encode metadata: %w", err)
		}
	}
	return r, metadata, nil
}

// readsBack reports whether a tree comes back from its JSON in Postgres as it is.
func readsBack(tree any) bool {
	switch node := tree.(type) {
	case nil, bool, float64:
		return true
	case string:
		return utf8.ValidString(node) && !strings.Contains(node, "\x00")
	case []any:
		return node != nil && !slices.ContainsFunc(node, func(one any) bool { return !readsBack(one) })
	case map[string]any:
		for name, value := range node {
			if !readsBack(name) || !readsBack(value) {
				return false
			}
		}
		return node != nil
	}
	return false // another type, such as a struct
}

// CleanText returns a text without NUL, with U+FFFD in place of what is not UTF-8.
func CleanText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// cleanMetadata encodes metadata, which replaces invalid UTF-8, and takes out
// NULs, which JSON can spell and jsonb cannot keep.
func cleanMetadata(metadata map[string]any) ([]byte, error) {
	if len(metadata) == 0 {
		return nil, nil
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	if !bytes.Contains(raw, []byte(`\u0000`)) {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("decode metadata: %w", err)
	}
	if raw, err = json.Marshal(WithoutNUL(tree)); err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return raw, nil
}

// WithoutNUL returns a tree of decoded JSON whose texts have no NUL, which Postgres cannot keep.
func WithoutNUL(tree any) any {
	switch node := tree.(type) {
	case string:
		return strings.ReplaceAll(node, "\x00", "")
	case []any:
		for i := range node {
			node[i] = WithoutNUL(node[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(node))
		for name, value := range node {
			clean[strings.ReplaceAll(name, "\x00", "")] = WithoutNUL(value)
		}
		return clean
	}
	return tree
}

// A trace joins everything about one incident: the turn that saw the failure, the
// transactions of the incident, and the attempts to notify channels. Its ID follows from the
// result that the turn stored, so the turn knows it before the incident exists, and no
// crash, retry or replay changes it. IDs are those of W3C Trace Context, in lower-case
// hexadecimal: 32 digits for a trace, 16 for a span.

// SlotTrace returns the ID of the trace that begins with what a turn saw at a slot: the ID
// of the slot's result without dashes.
func SlotTrace(checkID uuid.UUID, region string, slot time.Time) string {
	return traceOf(ResultID(checkID, region, slot.UTC().Truncate(time.Microsecond))) // as results store it
}

func traceOf(id uuid.UUID) string { return hex.EncodeToString(id[:]) }

// TraceID returns the ID of the trace of the incident: that of the oldest vote in which one
// of its rules fires, of several at the same slot that of the first region by name.
func (o *OpenRequest) TraceID() string {
	firing := slices.DeleteFunc(slices.Clone(o.Votes), func(v Vote) bool {
		return !slices.ContainsFunc(o.Rules, func(rule uuid.UUID) bool { return slices.Contains(v.Firing, rule) })
	})
	if len(firing) == 0 {
		return traceOf(o.ID)
	}
	first := slices.MinFunc(firing, func(a, b Vote) int {
		return cmp.Or(a.Slot.Compare(b.Slot), cmp.Compare(a.Region, b.Region))
	})
	return SlotTrace(o.CheckID, first.Region, first.Slot)
}

// SpanID returns the ID of a span by what it is about. A step that is repeated after a crash
// has the same ID again.
func SpanID(about ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(about, "/")))
	sum[0] |= 1 // an ID of zeros is not valid
	return hex.EncodeToString(sum[:8])
}

// Names of spans, which are also what their IDs are made of.
const (
	SpanTurn        = "turn"
	SpanVote        = "report vote"
	SpanOpen        = "open incident"
	SpanAcknowledge = "acknowledge incident"
	SpanResolve     = "resolve incident"
	SpanAttempt     = "delivery attempt"
)

// Span is a step of a trace.
type Span struct {
	TraceID, ID string
	Parent      string // ID of a span of the same trace; empty: the span begins the trace
	Name        string
	// Start and End of the step. A zero End is the time of recording.
	Start, End time.Time
	// Attributes are words, numbers and ids: no name, no address and no secret.
	Attributes map[string]string
	// Error is the code of a failure; empty for a success.
	Error string
	// LinkTrace and LinkSpan are a span of another trace that led to this one; empty: none.
	LinkTrace, LinkSpan string
}

// Traceparent returns the header of W3C Trace Context that continues a trace after a span.
func Traceparent(traceID, spanID string) string { return "00-" + traceID + "-" + spanID + "-01" }
