// SPDX-License-Identifier: Apache-2.0

package events

import (
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// The marks around the name of a variable in a template.
const (
	TemplateOpen  = "{{"
	TemplateClose = "}}"
)

// Variable is a name that message templates may hold, as {{name}}. Its value
// is a text, empty where an event has none.
type Variable struct {
	Name string
	// Type is what the text can be read as: string, integer, number, uuid,
	// date-time (RFC 3339) or uri.
	Type        string
	Description string
	Example     string
}

// Placeholder is the variable as a template holds it.
func (v Variable) Placeholder() string { return TemplateOpen + v.Name + TemplateClose }

// labelVariable begins the names of the variables that are labels of the check, such as
// label.team.
const labelVariable = "label."

// Variables returns all template variables in the order in which people are
// shown them. The slice belongs to the caller.
func Variables() []Variable {
	return []Variable{
		{"check_id", "uuid", "Id of the check.", "5f0c3a52-9d1e-4c55-8a3b-0a6f5f1f9b11"},
		{"check_name", "string", "Name of the check.", "Checkout API"},
		{"check_type", "string", "Type of the check.", "https"},
		{"check_target", "string", "Host that the check looks at, with a port where there is one.", "shop.example.com"},
		{
			labelVariable + "team", "string",
			"Value of the label team of the check; any other label is read by its key in place of team. Empty where the check has no such label.",
			"payments",
		},
		{"region", "string", "Region whose result decided the event.", "eu-central-fra"},
		{
			"regions_down",
			"string",
			"All regions in which a rule fires, or which have no results, separated by commas.",
			"eu-central-fra, na-east-ewr",
		},
		{"status_code", "integer", "HTTP status of the result; empty where there is none.", "503"},
		{"response_time_ms", "integer", "Response time of the result in milliseconds.", "842"},
		{"error_message", "string", "What the result says went wrong; empty for a success.", "expected status 200, got 503"},
		{
			"evidence", "string",
			"What the failed probe saw of the target, at most 1 KiB: status line, addresses, certificates, headers, the beginning of the body. " +
				"Text of the target with the secrets of the check replaced; empty where none is kept, and for a recovery.",
			"HTTP/1.1 503 Service Unavailable\nAddress: 203.0.113.7:443\nBody (19 bytes):\nupstream timed out",
		},
		{"failure_count", "integer", "Failed results in a row, in that region.", "3"},
		{"incident_id", "uuid", "Id of the incident, or of the time in which the check is not probed.", "c1b0a0de-64e3-5a0c-9a35-7a6a0f0f6f52"},
		{"incident_title", "string", "Title of the incident, or of the message about a check that is not probed.", "Checkout API is failing"},
		{
			"incident_status",
			"string",
			"Status of the incident: active, acknowledged or resolved. Of a check that is not probed: active, and resolved at the end.",
			"active",
		},
		{"severity", "string", "Severity of the incident: critical, warning or info.", "critical"},
		{"worst_severity", "string", "The most severe one of the rules that fired in the incident so far.", "critical"},
		{"rules_firing", "string", "The rules that fire now with their severities, separated by commas.", "Three failures in a row (critical)"},
		{
			"started_at",
			"date-time",
			"When the incident began, or the newest result of a check that is not probed, in UTC.",
			"2026-03-01T09:30:00Z",
		},
		{"resolved_at", "date-time", "When the incident ended, in UTC; empty while it is open.", "2026-03-01T09:42:30Z"},
		{"duration", "string", "How long the incident has lasted.", "12m30s"},
		{"rule_id", "uuid", "Id of the alert rule that fired.", "0d7c9c3e-3c69-4f0c-bd8e-3d9a4a7f2c10"},
		{"rule_name", "string", "Name of the alert rule that fired.", "Three failures in a row"},
		{"ssl_days_remaining", "integer", "Days until the certificate expires; empty for other checks.", "12"},
		{"dns_previous", "string", "DNS records before the change; empty where nothing changed.", "192.0.2.10"},
		{"dns_current", "string", "DNS records after the change; empty where nothing changed.", "192.0.2.20"},
		{"organization_name", "string", "Name of the organization.", "Example Shop"},
		{
			"event_type",
			"string",
			"What happened: incident.triggered, incident.resolved, check.unobserved, check.observed, the type of a system event, or channel.test.",
			"incident.triggered",
		},
		{
			"incident_url", "uri", "Page of the incident in the dashboard, or of the check that is not probed.",
			"https://vigil.example.com/app/incidents/c1b0a0de-64e3-5a0c-9a35-7a6a0f0f6f52",
		},
		{
			VariableDrill, "uuid", "Id of the drill that sends the message; empty for what really happened.",
			"8a1d7f0c-2f7b-4d0e-9c3a-6b5e4d3c2b1a",
		},
	}
}

// VariableNames returns the names of all template variables, in their order.
func VariableNames() []string {
	all := Variables()
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = v.Name
	}
	return names
}

// ExampleVariables returns a value for every template variable, by name: what a
// test message is made of.
func ExampleVariables() map[string]string {
	values := make(map[string]string)
	for _, v := range Variables() {
		values[v.Name] = v.Example
	}
	return values
}

// maxShownName bounds an unknown name in an error, in bytes.
const maxShownName = 40

// ParseTemplate returns the names of the variables in a template, in order of
// their first use. Spaces around a name are ignored; everything outside of the marks
// is text. Besides the variables, label.<key> is known for every key that a label may
// have. The error has CodeInvalid, names member (such as "config.title_template") and lists the known variables.
func ParseTemplate(member, text string) ([]string, error) {
	known := VariableNames()
	var names []string
	for {
		_, rest, found := strings.Cut(text, TemplateOpen)
		if !found {
			return names, nil
		}
		inside, after, closed := strings.Cut(rest, TemplateClose)
		name := strings.Trim(inside, " \t")
		switch {
		case !closed:
			return nil, templateError(member, known, "has a "+TemplateOpen+" that no "+TemplateClose+" follows")
		case strings.HasPrefix(name, labelVariable) && vigil.Labels{name[len(labelVariable):]: ""}.Validate() != nil:
			return nil, templateError(member, known, "has a placeholder of a label whose key is not 1 to 63 characters of "+
				"a-z, 0-9, '.', '_', '/' and '-', as in {{label.team}}")
		case !strings.HasPrefix(name, labelVariable) && !slices.Contains(known, name):
			return nil, templateError(member, known, "has "+shownPlaceholder(name)+", which is not a template variable")
		case !slices.Contains(names, name):
			names = append(names, name)
		}
		text = after
	}
}

func templateError(member string, known []string, what string) error {
	err := vigil.Invalid(member, "%s. The known variables are %s, and label.<key> for any label of a check.", what, strings.Join(known, ", "))
	err.Details["variables"] = known
	return err
}

// shownPlaceholder repeats an unknown name when it looks like one, and not a
// text that ended up between the marks.
func shownPlaceholder(name string) string {
	plain := !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
	})
	if name == "" || !plain || len(name) > maxShownName {
		return "a placeholder"
	}
	return TemplateOpen + name + TemplateClose
}

// The mark of everything that a drill sends.
const (
	// DrillMark stands before the title of each message, with any template.
	DrillMark = "[DRILL] "
	// VariableDrill is the template variable with the ID of the drill; empty elsewhere.
	VariableDrill = "drill"
)
