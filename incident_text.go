package vigil

import (
	"fmt"
	"slices"
	"strings"
)

// Describe returns the title and the description of an incident with this trigger.
func (t *Trigger) Describe(check string) (title, description string) {
	return t.title(check), t.description()
}

func (t *Trigger) title(check string) string {
	matched := func(key string) bool { return slices.Contains(t.Matched, key) }
	switch failing := !t.Result.Success; {
	case failing && (matched(KeyHealthStatus) || matched(KeyFailureThreshold)), len(t.Matched) == 0:
		return check + " is failing"
	case matched(KeySSLDaysRemaining) && t.Days != nil:
		return check + ": " + certificate(*t.Days)
	case matched(KeyDNSChanged):
		return check + ": the DNS records changed"
	case matched(KeyStatusCode):
		return fmt.Sprintf("%s answers with status %d", check, t.Result.StatusCode)
	case matched(KeyResponseTime):
		return check + " is slow"
	case matched(KeyHealthStatus):
		return check + " is up"
	}
	return check + " is failing"
}

func certificate(days int) string {
	switch {
	case days < 0:
		return "the certificate has expired"
	case days == 1:
		return "the certificate expires in 1 day"
	}
	return fmt.Sprintf("the certificate expires in %d days", days)
}

func (t *Trigger) description() string {
	var parts []string
	if t.Result.Error != "" {
		parts = append(parts, strings.TrimRight(t.Result.Error, "."))
	}
	if slices.Contains(t.Matched, KeyResponseTime) {
		parts = append(parts, fmt.Sprintf("The response took %d ms", t.Result.ResponseTime.Milliseconds()))
	}
	if t.DNSCurrent != "" {
		parts = append(parts, fmt.Sprintf("The records were %s and are %s", orNone(t.DNSPrevious), t.DNSCurrent))
	}
	if len(t.Matched) > 0 {
		parts = append(parts, "Matched "+strings.Join(t.Matched, ", "))
	}
	if t.FailureCount == 1 {
		parts = append(parts, "1 failure")
	} else if t.FailureCount > 1 {
		parts = append(parts, fmt.Sprintf("%d failures in a row", t.FailureCount))
	}
	if t.Result.Region != "" {
		parts = append(parts, "Seen from "+t.Result.Region)
	}
	if len(parts) == 0 {
		return "A rule fired."
	}
	return strings.Join(parts, ". ") + "."
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
