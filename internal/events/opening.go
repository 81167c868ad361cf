// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// Fault is the failed result of a region in which a rule fires.
type Fault struct {
	Region     string
	StatusCode int // HTTP types only, 0 otherwise
	Error      string
}

// Seen is what the regions of a check see when a rule begins to fire.
type Seen struct {
	Faults  []Fault
	Regions int // of the check
}

// Describe returns the title and the description of an incident with a trigger: what was seen and from where,
// such as "503 from 3 of 3 regions: Frankfurt, Newark, Singapore".
func Describe(t *vigil.Trigger, check string, seen Seen) (title, description string) {
	return titleOf(t, check), descriptionOf(t, seen)
}

func titleOf(t *vigil.Trigger, check string) string {
	matched := func(key string) bool { return slices.Contains(t.Matched, key) }
	switch failing := !t.Result.Success; {
	case failing && (matched(vigil.KeyHealthStatus) || matched(vigil.KeyFailureThreshold)), len(t.Matched) == 0:
		return check + " is failing"
	case matched(vigil.KeySSLDaysRemaining) && t.Days != nil:
		return check + ": " + certificate(*t.Days)
	case matched(vigil.KeyDNSChanged):
		return check + ": the DNS records changed"
	case matched(vigil.KeyStatusCode):
		return fmt.Sprintf("%s answers with status %d", check, t.Result.StatusCode)
	case matched(vigil.KeyResponseTime):
		return check + " is slow"
	case matched(keyBurnRate):
		return check + " burns its error budget"
	case matched(vigil.KeyHealthStatus):
		return check + " is up"
	}
	return check + " is failing"
}

// keyBurnRate is the key of a condition on the error budget.
const keyBurnRate = "burn_rate"

func certificate(days int) string {
	switch {
	case days < 0:
		return "the certificate has expired"
	case days == 1:
		return "the certificate expires in 1 day"
	}
	return fmt.Sprintf("the certificate expires in %d days", days)
}

func descriptionOf(t *vigil.Trigger, seen Seen) string {
	var parts []string
	r, from := &t.Result, ""
	if r.Region != "" && r.Region != vigil.HeartbeatRegion {
		from = ", seen from " + City(r.Region)
	}
	if !r.Success {
		if what := faultsText(r, seen); what != "" {
			parts, from = append(parts, what), ""
		}
		if r.StatusCode >= minErrorStatus && r.Error != "" {
			parts = append(parts, capital(strings.TrimRight(r.Error, ".")))
		}
	}
	if slices.Contains(t.Matched, vigil.KeyResponseTime) {
		parts, from = append(parts, fmt.Sprintf("The response took %d ms%s", r.ResponseTime.Milliseconds(), from)), ""
	}
	if t.DNSCurrent != "" {
		parts, from = append(parts, fmt.Sprintf("The records were %s and are %s%s", orNone(t.DNSPrevious), t.DNSCurrent, from)), ""
	}
	if slices.Contains(t.Matched, vigil.KeySSLDaysRemaining) && t.Days != nil {
		parts, from = append(parts, capital(certificate(*t.Days))+from), ""
	}
	if slices.Contains(t.Matched, vigil.KeyStatusCode) && r.Success {
		parts, from = append(parts, fmt.Sprintf("The status is %d%s", r.StatusCode, from)), ""
	}
	switch {
	case !r.Success:
	case slices.Contains(t.Matched, keyBurnRate):
		parts, from = append(parts, "Failures use up the error budget faster than the rule allows"+from), ""
	case slices.Contains(t.Matched, vigil.KeyHealthStatus):
		parts, from = append(parts, "The check passes"+from), ""
	}
	if t.FailureCount > 1 {
		parts = append(parts, fmt.Sprintf("%d failures in a row", t.FailureCount))
	}
	if len(parts) == 0 {
		return "A rule fired" + from + "."
	}
	return strings.Join(parts, ". ") + "."
}

// minErrorStatus is the lowest status of HTTP that names a fault by itself (RFC 9110, section 15).
const minErrorStatus = 400

// maxFault bounds what names a fault among others, in bytes.
const maxFault = 200

// faultsText says which faults are seen from where, the most frequent first. Without faults it is that of the result.
func faultsText(r *vigil.Result, seen Seen) string {
	faults := seen.Faults
	if len(faults) == 0 {
		faults = []Fault{{Region: r.Region, StatusCode: r.StatusCode, Error: r.Error}}
	}
	places := make(map[string][]string)
	var kinds []string
	for _, f := range faults {
		kind := f.kind()
		if places[kind] == nil {
			kinds = append(kinds, kind)
		}
		places[kind] = append(places[kind], f.Region)
	}
	slices.SortStableFunc(kinds, func(a, b string) int { return len(places[b]) - len(places[a]) })
	texts := make([]string, 0, len(kinds))
	for _, kind := range kinds[:min(len(kinds), maxFaults)] {
		texts = append(texts, kind+fromText(places[kind], seen.Regions))
	}
	if more := len(kinds) - maxFaults; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d other faults", more))
	}
	return capital(strings.Join(texts, "; "))
}

// maxFaults is how many kinds of faults a description names.
const maxFaults = 3

// kind is the name of a fault: its status, or its error.
func (f *Fault) kind() string {
	if f.StatusCode >= minErrorStatus {
		return strconv.Itoa(f.StatusCode)
	}
	if f.Error == "" {
		return "failing"
	}
	return vigil.Shorten(strings.TrimRight(f.Error, "."), maxFault)
}

// maxCities is how many places a description names.
const maxCities = 5

// fromText names the places of a fault among the regions of a check.
func fromText(regions []string, of int) string {
	if slices.Contains(regions, vigil.HeartbeatRegion) || slices.Contains(regions, "") {
		return "" // pings come from no place
	}
	cities := Cities(regions)
	if of <= 1 {
		return " from " + cities
	}
	text := fmt.Sprintf(" from %d of %d regions", len(regions), of)
	if len(regions) == of && of > maxCities {
		return text
	}
	return text + ": " + cities
}

// City returns the name of the place of a region for people: its city, or the key of a location.
func City(region string) string {
	if known, ok := vigil.RegionByKey(region); ok {
		return known.City
	}
	return region
}

// Cities names places for people, the first ones of many.
func Cities(regions []string) string {
	names := make([]string, 0, maxCities)
	for _, region := range regions[:min(len(regions), maxCities)] {
		names = append(names, City(region))
	}
	text := strings.Join(names, ", ")
	if more := len(regions) - maxCities; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// capital begins a sentence with a capital letter, unless its first word is a name such as example.com.
func capital(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLower(r) }) {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
