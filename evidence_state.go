// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// When a failed result keeps its evidence. See docs/adr/0036.
const (
	// evidenceFirst is how many failures at the beginning of an episode keep evidence.
	evidenceFirst = 3
	// evidenceEvery is the time after which a failure keeps evidence with any error.
	evidenceEvery = time.Hour
	// evidenceErrors is how many errors of an episode a loop remembers: one of these is not a
	// changed error.
	evidenceErrors = 4
	// evidenceBurst results can keep evidence one after the other; then one more every
	// evidenceRefill. This bounds what a target writes whose errors or health change with
	// every result.
	evidenceBurst  = 12
	evidenceRefill = 30 * time.Minute
)

// maxEvidencePerDay is how many results of a loop keep evidence on one day at most.
const maxEvidencePerDay = evidenceBurst + int(24*time.Hour/evidenceRefill)

// evidenceState is what a loop remembers of the evidence that its results kept. It enters
// workflow histories: instants and hashes only.
type evidenceState struct {
	// Slot of the newest result with evidence.
	Slot time.Time `json:"slot"`
	// Errors are hashes of the errors that have evidence in this episode, the newest last.
	Errors []uint32 `json:"errors,omitempty"`
	// Spent is when the allowance of the loop is complete again.
	Spent time.Time `json:"spent,omitzero"`
}

// WantsEvidence reports whether a result that comes after the state is to keep its evidence:
// the first failures of an episode, a changed error, one that changes which rules fire, and
// else one every hour, as far as the allowance of the loop permits. Only the state and the
// arguments matter.
func (s State) WantsEvidence(rules []Rule, result Result) bool {
	if result.Success || !result.Slot.After(s.Slot) {
		return false
	}
	known := s.Evidence
	if known != nil && known.Spent.Sub(result.Slot) > (evidenceBurst-1)*evidenceRefill {
		return false
	}
	if s.Failures < evidenceFirst || known == nil || result.Slot.Sub(known.Slot) >= evidenceEvery {
		return true
	}
	if !slices.Contains(known.Errors, errorHash(result)) {
		return true
	}
	next, _ := Evaluate(rules, s, result)
	return !next.SameFiring(s)
}

// foldEvidence returns what a loop remembers after a result. Results by hand have no part in
// the allowance.
func foldEvidence(known *evidenceState, result Result) *evidenceState {
	if result.Success {
		if known == nil || !known.Spent.After(result.Slot) {
			return nil
		}
		return &evidenceState{Slot: known.Slot, Spent: known.Spent}
	}
	if !result.HasEvidence || result.Manual {
		return known
	}
	next := evidenceState{Slot: result.Slot, Spent: result.Slot}
	if known != nil {
		next.Errors = slices.Clone(known.Errors)
		if known.Spent.After(next.Spent) {
			next.Spent = known.Spent
		}
	}
	next.Spent = next.Spent.Add(evidenceRefill)
	hash := errorHash(result)
	next.Errors = append(slices.DeleteFunc(next.Errors, func(one uint32) bool { return one == hash }), hash)
	next.Errors = next.Errors[max(0, len(next.Errors)-evidenceErrors):]
	return &next
}

// errorHash is the same for errors that differ in numbers only. The status of the answer
// counts.
func errorHash(result Result) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strconv.Itoa(result.StatusCode) + " " + plainError(result.Error))) // it never fails
	return h.Sum32()
}

// plainError replaces the words of an error that have digits, such as numbers, addresses with
// their ports, durations, times and IDs.
func plainError(text string) string {
	var out strings.Builder
	for start := 0; start < len(text); {
		end := start
		for end < len(text) && isWord(text[end]) {
			end++
		}
		if word := text[start:end]; strings.ContainsAny(word, "0123456789") {
			out.WriteByte('#')
		} else {
			out.WriteString(word)
		}
		if end < len(text) {
			out.WriteByte(text[end])
		}
		start = end + 1
	}
	return out.String()
}

// isWord reports whether a byte is part of a number, an address, a time or an ID.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.IndexByte(".:-_+%[]", c) >= 0
}
