// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

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
