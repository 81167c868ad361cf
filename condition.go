// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// ConditionType is a condition of the reference form, with one number as its
// threshold (spec section 2, AlertRule).
type ConditionType string

// Condition types.
const (
	ConsecutiveFailures ConditionType = "consecutive_failures"
	ResponseTime        ConditionType = "response_time"
	StatusCode          ConditionType = "status_code"
	SSLExpiry           ConditionType = "ssl_expiry"
)

// Keys of the keyed form, in the order of matches.
const (
	KeyHealthStatus     = "health_status"
	KeyFailureThreshold = "failure_threshold"
	KeyResponseTime     = "response_time_ms"
	KeyStatusCode       = "status_code"
	KeyDNSChanged       = "dns_changed"
	KeySSLDaysRemaining = "ssl_days_remaining"
)

// Keys of the keyed form that never make a rule fire.
const (
	KeyRecoveryThreshold = "recovery_threshold"
	keySeverity          = "severity"
)

// Bounds of the numbers in a condition, inclusive. A rule beyond them could never
// fire, or would need more results than a state is rebuilt from.
const (
	MaxFailureThreshold  = 1000
	MaxRecoveryThreshold = 100
	maxResponseTimeMS    = 24 * 60 * 60 * 1000
	minStatusCode        = 100
	maxStatusCode        = 999
	MaxSSLDays           = 36500
)

// Condition fires when any of its keys matches (spec section 2, Alert conditions).
// Its JSON is the keyed form. The tags document the members in the API; setMember enforces their
// bounds, which are the constants above.
type Condition struct {
	// Empty, 0 or nil: the key is not present.

	HealthStatus      string    `json:"health_status,omitempty" enum:"down,unhealthy,up,healthy" doc:"Fires on a failing result (down, unhealthy) or on a succeeding one (up, healthy)."`
	FailureThreshold  int       `json:"failure_threshold,omitempty" minimum:"1" maximum:"1000" doc:"Fires after so many failures in a row."`
	ResponseTimeMS    *int      `json:"response_time_ms,omitempty" minimum:"0" maximum:"86400000" doc:"Fires on a response that takes longer, in milliseconds."`
	StatusCode        int       `json:"status_code,omitempty" minimum:"100" maximum:"999" doc:"Fires on this status code and higher ones."`
	DNSChanged        bool      `json:"dns_changed,omitempty" doc:"Fires for the result whose DNS records differ from the ones before."`
	BurnRate          *burnRate `json:"burn_rate,omitempty" doc:"Fires while failures use the error budget of a target faster than factor times, in a long and a short window."`
	SSLDaysRemaining  *int      `json:"ssl_days_remaining,omitempty" minimum:"0" maximum:"36500" doc:"Fires while the certificate expires within so many days."`
	RecoveryThreshold int       `json:"recovery_threshold,omitempty" minimum:"1" maximum:"100" doc:"A rule that fires goes on until so many results in a row do not match; 1 when it is left out. It never makes the rule fire."`
	Severity          Severity  `json:"severity,omitempty" enum:"critical,warning,info" doc:"Severity of the incidents; critical when it is left out. It never makes the rule fire."`
}

// acceptedForms are listed at the end of every error about a condition.
func acceptedForms() []string {
	return []string{
		`condition {health_status: "down"|"up", failure_threshold: N, response_time_ms: N, ` +
			`status_code: N, dns_changed: true, ssl_days_remaining: N, burn_rate: {target_percentage: N, factor: N, ` +
			`window_seconds: N, short_window_seconds: N}, recovery_threshold: N, ` +
			`severity: "critical"|"warning"|"info"} with at least one key besides recovery_threshold and severity`,
		`condition {type: "consecutive_failures"|"response_time"|"ssl_expiry", threshold: N, operator: "gte" (optional)}`,
		`condition_type "consecutive_failures"|"response_time"|"status_code"|"ssl_expiry" with threshold: N`,
	}
}

// malformed returns the error about a condition. Its message and its details list the
// accepted forms.
func malformed(member, format string, args ...any) *Error {
	forms := acceptedForms()
	err := Invalid(member, format, args...)
	err.Message += ". Accepted forms: " + strings.Join(forms, "; or ")
	err.Details["accepted_forms"] = forms
	return err
}

// parseCondition parses a condition object in keyed form, or in the legacy form with
// type and threshold. It rejects a condition that could never fire. The error has
// CodeInvalid and lists the accepted forms.
func parseCondition(data json.RawMessage) (Condition, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return Condition{}, malformed("condition", "must be an object")
	}
	if _, legacy := members["type"]; legacy {
		return parseLegacy(members)
	}
	var c Condition
	for key, value := range members {
		if err := c.setMember(key, value); err != nil {
			return Condition{}, err
		}
	}
	if c.empty() {
		return Condition{}, malformed("condition", "has no key that could make the rule fire")
	}
	return c, nil
}

// referenceCondition returns the condition of a condition_type and its threshold.
func referenceCondition(kind ConditionType, threshold float64) (Condition, error) {
	return pairCondition("condition_type", "threshold", kind, threshold)
}

func pairCondition(kindMember, numberMember string, kind ConditionType, threshold float64) (Condition, error) {
	var c Condition
	var err error
	switch kind {
	case ConsecutiveFailures:
		c.FailureThreshold, err = boundedInt(numberMember, threshold, 1, MaxFailureThreshold)
	case ResponseTime:
		c.ResponseTimeMS, err = pointer(boundedInt(numberMember, threshold, 0, maxResponseTimeMS))
	case StatusCode:
		c.StatusCode, err = boundedInt(numberMember, threshold, minStatusCode, maxStatusCode)
	case SSLExpiry:
		c.SSLDaysRemaining, err = pointer(boundedInt(numberMember, threshold, 0, MaxSSLDays))
	default:
		err = malformed(kindMember, "is not a known type")
	}
	if err != nil {
		return Condition{}, err
	}
	return c, nil
}

// Reference returns the equivalent condition_type and threshold, or false when there
// is no such pair. It ignores the recovery threshold and the severity, which do not make a
// rule fire.
func (c Condition) Reference() (ConditionType, float64, bool) {
	bare := c.like(Condition{})
	switch {
	case bare.equal(Condition{FailureThreshold: c.FailureThreshold}) && c.FailureThreshold > 0:
		return ConsecutiveFailures, float64(c.FailureThreshold), true
	case c.ResponseTimeMS != nil && bare.equal(Condition{ResponseTimeMS: c.ResponseTimeMS}):
		return ResponseTime, float64(*c.ResponseTimeMS), true
	case bare.equal(Condition{StatusCode: c.StatusCode}) && c.StatusCode > 0:
		return StatusCode, float64(c.StatusCode), true
	case c.SSLDaysRemaining != nil && bare.equal(Condition{SSLDaysRemaining: c.SSLDaysRemaining}):
		return SSLExpiry, float64(*c.SSLDaysRemaining), true
	}
	return "", 0, false
}

// ConditionInput is the condition of a request: an object in either form, the
// reference pair, or both.
type ConditionInput struct {
	Condition json.RawMessage // nil or null: not given
	Type      *ConditionType
	Threshold *float64
}

// Given reports whether the request has any of these members.
func (in ConditionInput) Given() bool { return in.object() || in.Type != nil || in.Threshold != nil }

func (in ConditionInput) object() bool {
	return len(in.Condition) > 0 && string(in.Condition) != "null"
}

// Resolve returns the condition of the request. stored is the condition of the rule,
// nil for a new one. When both forms are given and only one differs from stored,
// that one is meant: clients read a rule, change one form and write both back.
// Two different forms that both differ from stored are an error.
func (in ConditionInput) Resolve(stored *Condition) (Condition, error) {
	object, pair := in.object(), in.Type != nil || in.Threshold != nil
	var fromObject, fromPair Condition
	var err error
	if object {
		if fromObject, err = parseCondition(in.Condition); err != nil {
			return Condition{}, err
		}
	}
	if pair {
		if fromPair, err = in.pair(stored); err != nil {
			return Condition{}, err
		}
	}
	switch {
	case object && !pair:
		return fromObject, nil
	case pair && !object:
		return fromPair, nil
	case !object && stored != nil:
		return *stored, nil
	case !object:
		return Condition{}, malformed("condition", "is missing")
	}
	fromPair = fromPair.like(fromObject)
	switch {
	case fromObject.equal(fromPair), stored != nil && fromPair.equal(stored.like(fromObject)):
		return fromObject, nil
	case stored != nil && fromObject.equal(stored.like(fromObject)):
		return fromPair, nil
	}
	return Condition{}, malformed("condition", "says something else than condition_type and threshold")
}

// pair returns the condition of the reference pair; a missing half comes from stored.
func (in ConditionInput) pair(stored *Condition) (Condition, error) {
	kind, threshold := in.Type, in.Threshold
	if stored != nil {
		if storedKind, storedThreshold, ok := stored.Reference(); ok {
			if kind == nil {
				kind = &storedKind
			}
			if threshold == nil && *kind == storedKind {
				threshold = &storedThreshold
			}
		}
	}
	switch {
	case kind == nil:
		return Condition{}, malformed("condition_type", "is missing")
	case threshold == nil:
		return Condition{}, malformed("threshold", "is missing")
	}
	c, err := referenceCondition(*kind, *threshold)
	if err == nil && stored != nil {
		c = c.like(*stored)
	}
	return c, err
}

// parseLegacy parses {type, threshold, operator}.
func parseLegacy(members map[string]json.RawMessage) (Condition, error) {
	var kind ConditionType
	var threshold *float64
	for key, value := range members {
		var ok bool
		switch key {
		case "type":
			ok = json.Unmarshal(value, &kind) == nil
		case "threshold":
			ok = json.Unmarshal(value, &threshold) == nil && threshold != nil
		case "operator":
			var operator string
			ok = json.Unmarshal(value, &operator) == nil && operator == "gte"
		default:
			return Condition{}, unknownKey(key)
		}
		if !ok {
			return Condition{}, malformed("condition."+key, "is not an accepted value")
		}
	}
	if threshold == nil {
		return Condition{}, malformed("condition.threshold", "is missing")
	}
	if kind == StatusCode {
		return Condition{}, malformed("condition.type", "is not a known type of this form")
	}
	return pairCondition("condition.type", "condition.threshold", kind, *threshold)
}

// setMember sets one member of the keyed form.
func (c *Condition) setMember(key string, value json.RawMessage) (err error) {
	member := "condition." + key
	switch key {
	case KeyHealthStatus:
		return parseChoice(member, value, &c.HealthStatus, "down", "unhealthy", "up", "healthy")
	case keySeverity:
		return parseChoice(member, value, &c.Severity, Critical, Warning, Info)
	case KeyFailureThreshold:
		c.FailureThreshold, err = parseWholeNumber(member, value, 1, MaxFailureThreshold)
	case KeyResponseTime:
		c.ResponseTimeMS, err = pointer(parseWholeNumber(member, value, 0, maxResponseTimeMS))
	case KeyStatusCode:
		c.StatusCode, err = parseWholeNumber(member, value, minStatusCode, maxStatusCode)
	case KeyRecoveryThreshold:
		c.RecoveryThreshold, err = parseWholeNumber(member, value, 1, MaxRecoveryThreshold)
	case keyBurnRate:
		c.BurnRate, err = parseBurnRate(value)
	case KeySSLDaysRemaining:
		c.SSLDaysRemaining, err = pointer(parseWholeNumber(member, value, 0, MaxSSLDays))
	case KeyDNSChanged:
		var changed *bool
		if json.Unmarshal(value, &changed) != nil || changed == nil {
			return malformed(member, "must be true or false")
		}
		c.DNSChanged = *changed
	default:
		return unknownKey(key)
	}
	return err
}

// maxShownKey is the longest unknown key that an error repeats, in bytes.
const maxShownKey = 64

// recoverySeconds is not a key: results are counted, so that a state is a fold over them.
const recoverySeconds = "recovery_seconds"

func unknownKey(key string) error {
	if key == recoverySeconds {
		return malformed("condition."+key, "is not a key of a condition; use %s, which counts results in a row", KeyRecoveryThreshold)
	}
	if len(key) > maxShownKey {
		return malformed("condition", "has an unknown key")
	}
	return malformed("condition", "has the unknown key %q", key)
}

// parseChoice parses a string that must be one of accepted.
func parseChoice[T ~string](member string, value json.RawMessage, into *T, accepted ...T) error {
	var text *T
	if json.Unmarshal(value, &text) == nil && text != nil {
		for _, one := range accepted {
			if *text == one {
				*into = one
				return nil
			}
		}
	}
	return malformed(member, "must be one of %v", accepted)
}

func parseWholeNumber(member string, value json.RawMessage, low, high int) (int, error) {
	var n *float64
	if json.Unmarshal(value, &n) != nil || n == nil {
		return 0, malformed(member, "must be a number")
	}
	return boundedInt(member, *n, low, high)
}

func boundedInt(member string, n float64, low, high int) (int, error) {
	if n != math.Trunc(n) || n < float64(low) || n > float64(high) { // NaN != NaN
		return 0, malformed(member, "must be a whole number from %d to %d", low, high)
	}
	return int(n), nil
}

func pointer(n int, err error) (*int, error) {
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// empty reports whether the condition has no key that could make the rule fire.
func (c Condition) empty() bool { return c.like(Condition{}).equal(Condition{}) }

// like returns c with the keys of other that do not make a rule fire.
func (c Condition) like(other Condition) Condition {
	c.RecoveryThreshold, c.Severity = other.RecoveryThreshold, other.Severity
	return c
}

func (c Condition) equal(other Condition) bool {
	return c.HealthStatus == other.HealthStatus && c.FailureThreshold == other.FailureThreshold &&
		same(c.ResponseTimeMS, other.ResponseTimeMS) && c.StatusCode == other.StatusCode &&
		c.DNSChanged == other.DNSChanged && same(c.SSLDaysRemaining, other.SSLDaysRemaining) &&
		c.BurnRate.equal(other.BurnRate) && c.RecoveryThreshold == other.RecoveryThreshold && c.Severity == other.Severity
}

func same(a, b *int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// String returns the keyed form, for logs.
func (c Condition) String() string {
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Sprintf("condition: %v", err)
	}
	return string(text)
}
