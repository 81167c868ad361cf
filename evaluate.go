// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Members of a result's metadata that rules depend on. The HTTP types report the
// certificate as MetadataCertDays.
const (
	MetadataFingerprint = "fingerprint" // of a DNS question and the canonical record set
	MetadataDays        = "days_remaining"
	MetadataCertDays    = "cert_days_remaining"
)

// FingerprintSeparator separates the question from the record set in a fingerprint.
const FingerprintSeparator = ":"

// State is the evaluation state of a check in a region: a fold over its stored
// results and nothing else, so it can always be rebuilt from them. It enters
// workflow histories and may hold IDs, slots and small values only.
type State struct {
	// Type of the check when the state was made. A change of type resets the state.
	Type CheckType `json:"type,omitempty"`
	// Slot of the newest result; zero before the first.
	Slot time.Time `json:"slot,omitzero"`
	// Unstored: Slot has no result, because the machine could not run the check.
	Unstored bool `json:"unstored,omitempty"`
	// Health by the newest result.
	Health Health `json:"health,omitempty"`
	// Failures is the number of failed results in a row up to Slot.
	Failures int `json:"failures,omitempty"`
	// DNS is the fingerprint of the newest successful answer and DNSSlot its slot.
	DNS     string    `json:"dns,omitempty"`
	DNSSlot time.Time `json:"dns_slot,omitzero"`
	// Days that the certificate had left when it was last seen; nil before.
	Days *int `json:"days,omitempty"`
	// Burns count the results in the windows of rules on burn rates; nil without such a rule.
	Burns []burnCounts `json:"burns,omitempty"`
	// Firing are the IDs of the rules that fire, sorted.
	Firing []uuid.UUID `json:"firing,omitempty"`
	// Matches describe why they fire, in the same order.
	Matches []Match `json:"matches,omitempty"`
	// Evidence is what the loop remembers of the evidence of its results; nil while nothing
	// failed lately.
	Evidence *evidenceState `json:"evidence,omitempty"`
}

// For returns the state for a check of type t. A state of another type is reset to
// its slot, its health and the last DNS answer.
func (s State) For(t CheckType) State {
	if s.Type == t {
		return s
	}
	if s.Type == "" {
		s.Type = t
		return s
	}
	s = s.Restart()
	s.Type = t
	return s
}

// Restart returns the state before the first result that counts after the check was enabled
// again or got another type. The last DNS answer stays: it is compared with answers to the
// same question only, and records may have changed in between.
func (s State) Restart() State {
	return State{Type: s.Type, Slot: s.Slot, Unstored: s.Unstored, Health: s.Health, DNS: s.DNS, DNSSlot: s.DNSSlot}
}

// SameFiring reports whether the same rules fire in both states.
func (s State) SameFiring(other State) bool { return slices.Equal(s.Firing, other.Firing) }

// Match is a rule that fires, with the reason. It enters workflow histories and may
// hold IDs, slots and small values only: an answer is data of the target.
type Match struct {
	Rule uuid.UUID `json:"rule"`
	// Keys of the condition that match, in their fixed order.
	Keys []string `json:"keys"`
	// Days that the certificate has left; nil for a rule without
	// ssl_days_remaining and before a certificate was seen.
	Days *int `json:"days,omitempty"`
	// PreviousAnswer is the slot of the DNS answer before the change. It is zero
	// unless dns_changed is in Keys, and after a state without DNSSlot.
	PreviousAnswer time.Time `json:"previous_answer,omitzero"`
	// Slot of the newest result on which the condition matched and the failures in a row
	// up to it, for a rule with a recovery threshold. Since is how many results came after
	// it: the rule fires although the newest result does not match.
	Slot     time.Time `json:"slot,omitzero"`
	Failures int       `json:"failures,omitempty"`
	Since    int       `json:"since,omitempty"`
}

// Evaluate folds a result into the state and returns the matches of the enabled rules
// that fire, by rule ID. A rule fires when its condition matches the result, or one of the
// results before it that its recovery threshold counts. A result that is not newer than the state changes nothing
// and returns no match, so folding the same rows twice is safe.
func Evaluate(rules []Rule, state State, result Result) (State, []Match) {
	if !result.Slot.After(state.Slot) {
		return state, nil
	}
	next, facts := fold(state, result)
	next.Burns = foldBurns(rules, state.Burns, &result)
	facts.burns = next.Burns
	var matches []Match
	for i := range rules {
		match, fires := rules[i].match(facts)
		if !fires {
			match, fires = rules[i].keepFiring(state)
		}
		if fires {
			matches = append(matches, match)
		}
	}
	slices.SortFunc(matches, func(a, b Match) int { return CompareIDs(a.Rule, b.Rule) })
	next.Firing, next.Matches = nil, matches
	for _, match := range matches {
		next.Firing = append(next.Firing, match.Rule)
	}
	return next, matches
}

// match evaluates the rule's condition.
func (r *Rule) match(f facts) (match Match, fires bool) {
	keys := r.Condition.matchingKeys(f)
	if !r.Enabled || len(keys) == 0 {
		return Match{}, false
	}
	match = Match{Rule: r.ID, Keys: keys}
	if r.Condition.SSLDaysRemaining != nil {
		match.Days = f.days
	}
	if slices.Contains(keys, KeyDNSChanged) {
		match.PreviousAnswer = f.previousAnswer
	}
	if r.Condition.RecoveryThreshold > 1 {
		match.Slot, match.Failures = f.result.Slot, f.failures
	}
	return match, true
}

// keepFiring returns the match of a rule that fired in the state before and whose condition does
// not match the next result, while its recovery threshold is not reached.
func (r *Rule) keepFiring(before State) (match Match, fires bool) {
	if !r.Enabled || r.Condition.RecoveryThreshold < 2 || !slices.Contains(before.Firing, r.ID) {
		return Match{}, false
	}
	at := slices.IndexFunc(before.Matches, func(m Match) bool { return m.Rule == r.ID })
	if at < 0 { // every rule that fires has a match
		return Match{}, false
	}
	match = before.Matches[at]
	match.Since++
	return match, match.Since < r.Condition.RecoveryThreshold
}

// facts are the values that conditions compare.
type facts struct {
	result         Result
	failures       int
	days           *int
	dnsChanged     bool
	burns          []burnCounts
	previousAnswer time.Time // slot of the newest answer before result; zero when unknown
}

// fold updates the state except for the firing rules.
func fold(state State, result Result) (State, facts) {
	next := state
	next.Slot, next.Unstored = result.Slot, false
	next.Health = HealthOf(result.Success)
	next.Failures = 0
	if !result.Success {
		next.Failures = state.Failures + 1
	}
	next.Evidence = foldEvidence(state.Evidence, result)
	// A result without a certificate leaves the days unchanged; otherwise a network
	// failure would resolve the incident of a certificate.
	if days, ok := result.CertificateDays(); ok {
		next.Days = &days
	}
	changed := false
	if answer := result.DNSAnswer(); answer != "" {
		changed = state.DNS != "" && state.DNS != answer && questionOf(state.DNS) == questionOf(answer)
		next.DNS, next.DNSSlot = answer, result.Slot
	}
	return next, facts{
		result: result, failures: next.Failures, days: next.Days,
		dnsChanged: changed, previousAnswer: state.DNSSlot,
	}
}

// CertificateDays returns how many days the certificate has left that the result saw, false
// when it saw none.
func (r *Result) CertificateDays() (days int, ok bool) {
	return wholeNumber(r.Metadata, MetadataDays, MetadataCertDays)
}

// DNSAnswer returns the fingerprint of a successful DNS answer, empty for another result.
func (r *Result) DNSAnswer() string {
	answer, _ := r.Metadata[MetadataFingerprint].(string)
	if !r.Success {
		return ""
	}
	return answer
}

// PastQuery asks for what the results of a check in a region leave in the state of its loop.
type PastQuery struct {
	CheckID uuid.UUID
	Region  string
	// From is the slot from which on results count; a DNS answer counts from any time.
	From time.Time
	// Before is the slot after the last result that is asked for.
	Before time.Time
	// Burns are the counts that are asked for, without results.
	Burns []burnCounts
	// Days, DNS and Failures: the certificate, the last DNS answer and the failed results in a
	// row are asked for.
	Days, DNS, Failures bool
}

// questionOf returns the question of a fingerprint. Answers to different questions,
// after an update of the check, are not a change of records.
func questionOf(fingerprint string) string {
	question, _, found := strings.Cut(fingerprint, FingerprintSeparator)
	if !found {
		return ""
	}
	return question
}

// matchingKeys returns the keys that match, in the order of the Key constants.
func (c Condition) matchingKeys(f facts) []string {
	var keys []string
	add := func(key string, matches bool) {
		if matches {
			keys = append(keys, key)
		}
	}
	switch c.HealthStatus {
	case "down", "unhealthy":
		add(KeyHealthStatus, !f.result.Success)
	case "up", "healthy":
		add(KeyHealthStatus, f.result.Success)
	}
	add(KeyFailureThreshold, c.FailureThreshold > 0 && f.failures >= c.FailureThreshold)
	add(KeyResponseTime, c.ResponseTimeMS != nil && f.result.ResponseTime > time.Duration(*c.ResponseTimeMS)*time.Millisecond)
	add(KeyStatusCode, c.StatusCode > 0 && f.result.StatusCode >= c.StatusCode)
	add(KeyDNSChanged, c.DNSChanged && f.dnsChanged)
	add(keyBurnRate, c.BurnRate != nil && c.BurnRate.matches(f.burns))
	add(KeySSLDaysRemaining, c.SSLDaysRemaining != nil && f.days != nil && *f.days <= *c.SSLDaysRemaining)
	return keys
}

// wholeNumber returns the first of the named members that is a number. A new result
// has Go integers, a stored one JSON numbers.
func wholeNumber(metadata map[string]any, names ...string) (int, bool) {
	for _, name := range names {
		switch n := metadata[name].(type) {
		case int:
			return n, true
		case int64:
			return int(n), true
		case float64:
			return int(n), true
		case json.Number:
			if f, err := n.Float64(); err == nil {
				return int(f), true
			}
		}
	}
	return 0, false
}
