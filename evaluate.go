package vigil

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// What a result's metadata says to rules. The http types report the certificate
// under a name of their own.
const (
	MetadataFingerprint = "fingerprint" // of a DNS question and the canonical record set
	MetadataDays        = "days_remaining"
	MetadataCertDays    = "cert_days_remaining"
)

// FingerprintSeparator stands in a fingerprint between the question and the
// record set.
const FingerprintSeparator = ":"

// State is what a loop remembers of the results so far. It is a fold over the
// stored results of one check in one region and nothing else, so that it can
// always be rebuilt from them. It travels through workflow histories: only ids,
// slots and small values may enter it.
type State struct {
	// Type of the check that the state is about: with another one, evaluation
	// starts anew.
	Type CheckType `json:"type,omitempty"`
	// Slot is that of the newest result folded; zero before the first.
	Slot time.Time `json:"slot,omitzero"`
	// Health is that of the newest result.
	Health Health `json:"health,omitempty"`
	// Failures counts the failed results in a row that end at Slot.
	Failures int `json:"failures,omitempty"`
	// DNS is the fingerprint of the newest successful answer, DNSSlot the slot of
	// that answer; a state that an older worker made has no slot.
	DNS     string    `json:"dns,omitempty"`
	DNSSlot time.Time `json:"dns_slot,omitzero"`
	// Days are what the certificate had left when it was last seen; nil before.
	Days *int `json:"days,omitempty"`
	// Firing are the ids of the rules that fire, sorted.
	Firing []uuid.UUID `json:"firing,omitempty"`
	// Matches say why, one for each of Firing and in that order. A state that an
	// older worker made has none.
	Matches []Match `json:"matches,omitempty"`
}

// For returns the state for a check of a type: itself, or one that remembers only
// where it stands when it was about another type.
func (s State) For(t CheckType) State {
	if s.Type == t {
		return s
	}
	if s.Type == "" {
		s.Type = t
		return s
	}
	return State{Type: t, Slot: s.Slot, Health: s.Health}
}

// SameFiring reports whether the same rules fire in both states.
func (s State) SameFiring(other State) bool { return slices.Equal(s.Firing, other.Firing) }

// Match is a rule that fires and what made it fire. It travels through workflow
// histories: only ids, slots and small values may enter it, never an answer.
type Match struct {
	Rule uuid.UUID `json:"rule"`
	// Keys of the rule's condition that match, in their fixed order.
	Keys []string `json:"keys"`
	// Days that the certificate has left, when the rule's condition has
	// ssl_days_remaining; nil otherwise, and while no certificate was seen.
	Days *int `json:"days,omitempty"`
	// PreviousAnswer is the slot of the DNS answer before the one that changed. It
	// is zero without dns_changed in Keys, and when the state did not know it.
	PreviousAnswer time.Time `json:"previous_answer,omitzero"`
}

// Evaluate folds one more result into the state and returns which of the rules
// fire on it, in the order of their ids. Disabled rules never do. A result that
// is not newer than the state changes nothing, so folding the same rows twice
// is harmless; no match is returned for it.
func Evaluate(rules []Rule, state State, result Result) (State, []Match) {
	if !result.Slot.After(state.Slot) {
		return state, nil
	}
	next, facts := fold(state, result)
	var matches []Match
	for i := range rules {
		if match, fires := rules[i].match(facts); fires {
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

// match applies the rule to the facts of one result.
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
	return match, true
}

// facts are what conditions are asked about.
type facts struct {
	result         Result
	failures       int
	days           *int
	dnsChanged     bool
	previousAnswer time.Time // slot of the newest answer before result; zero: not known
}

// fold moves everything but the firing rules.
func fold(state State, result Result) (State, facts) {
	next := state
	next.Slot = result.Slot
	next.Health = HealthOf(result.Success)
	next.Failures = 0
	if !result.Success {
		next.Failures = state.Failures + 1
	}
	// A probe that saw no certificate says nothing about it: what was last
	// seen stands, or an incident would end whenever the network does.
	if days, ok := wholeNumber(result.Metadata, MetadataDays, MetadataCertDays); ok {
		next.Days = &days
	}
	changed := false
	if answer, ok := result.Metadata[MetadataFingerprint].(string); ok && answer != "" && result.Success {
		changed = state.DNS != "" && state.DNS != answer && questionOf(state.DNS) == questionOf(answer)
		next.DNS, next.DNSSlot = answer, result.Slot
	}
	return next, facts{
		result: result, failures: next.Failures, days: next.Days,
		dnsChanged: changed, previousAnswer: state.DNSSlot,
	}
}

// questionOf is the part of a fingerprint that says what was asked: answers to
// another question, after the check was changed, are no change of records.
func questionOf(fingerprint string) string {
	question, _, found := strings.Cut(fingerprint, FingerprintSeparator)
	if !found {
		return ""
	}
	return question
}

// matchingKeys returns the keys that match, in their fixed order.
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
	add(KeySSLDaysRemaining, c.SSLDaysRemaining != nil && f.days != nil && *f.days <= *c.SSLDaysRemaining)
	return keys
}

// wholeNumber reads the first of the named members that is a number. A result
// that was just made holds Go's integers, one that was stored what JSON has.
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
