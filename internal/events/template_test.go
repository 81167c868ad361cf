// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

func TestVariables(t *testing.T) {
	t.Parallel()

	t.Run("AreTheDocumentedOnes", func(t *testing.T) {
		t.Parallel()
		want := strings.Fields(`check_id check_name check_type check_target label.team region regions_down status_code
			response_time_ms error_message evidence failure_count incident_id incident_title incident_status severity
			worst_severity rules_firing started_at
			resolved_at duration rule_id rule_name ssl_days_remaining dns_previous dns_current organization_name
			event_type incident_url drill`)
		if got := events.VariableNames(); !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
	})

	t.Run("AreDescribedWithAnExample", func(t *testing.T) {
		t.Parallel()
		types := []string{"string", "integer", "number", "uuid", "date-time", "uri"}
		for _, v := range events.Variables() {
			if v.Description == "" || v.Example == "" || !slices.Contains(types, v.Type) {
				t.Errorf("%s lacks something: %+v", v.Name, v)
			}
			names, err := events.ParseTemplate("template", v.Placeholder())
			if err != nil || !slices.Equal(names, []string{v.Name}) {
				t.Errorf("%s: got %q, %v", v.Placeholder(), names, err)
			}
		}
		if got := len(events.ExampleVariables()); got != len(events.Variables()) {
			t.Errorf("%d examples", got)
		}
	})
}

func TestParseTemplate(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"PlainTextHasNone", "all is well", nil},
		{"NamesInOrderOfFirstUse", "{{severity}}: {{check_name}} {{severity}}", []string{"severity", "check_name"}},
		{"SpacesAroundANameDoNotCount", "{{ check_name }}", []string{"check_name"}},
		{"LabelsOfAnyKey", "{{label.team}} {{ label.example.com/on-call_2 }}", []string{"label.team", "label.example.com/on-call_2"}},
		{"ClosingMarksAloneAreText", "a }} b {c} {{check_id}}}}", []string{"check_id"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := events.ParseTemplate("config.title_template", test.text)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}

	for _, test := range []struct{ name, text, says string }{
		{"UnknownName", "{{check_nam}}", "{{check_nam}}"},
		{"NoName", "{{}}", "a placeholder"},
		{"LabelWithoutAKey", "{{label.}}", "{{label.team}}"},
		{"LabelOfNoKey", "{{label.Team}}", "{{label.team}}"},
		{"LabelWithASpace", "{{label.on call}}", "{{label.team}}"},
		{"LabelOfALongKey", "{{label." + strings.Repeat("a", 64) + "}}", "{{label.team}}"},
		{"Label", "{{label}}", "{{label}}"},
		{"Labels", "{{labels.team}}", "{{labels.team}}"},
		{"NeverClosed", "{{check_name", "no }} follows"},
		{"TripleBraces", "{{{check_name}}}", "a placeholder"},
		{"Nested", "{{check_{{name}}}}", "a placeholder"},
		{"Section", "{{#check_name}}", "a placeholder"},
		{"File", "{{>/etc/hostname}}", "a placeholder"},
		{"TextBetweenTheMarks", "{{hunter2 is my password}}", "a placeholder"},
	} {
		t.Run(test.name+"IsRefusedAndTheKnownAreListed", func(t *testing.T) {
			t.Parallel()
			_, err := events.ParseTemplate("config.body_template", test.text)
			text := vigil.ErrorMessage(err)
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(text, "config.body_template: ") ||
				!strings.Contains(text, test.says) || !strings.Contains(text, "failure_count") {
				t.Errorf("got %v", err)
			}
			if strings.Contains(text, "hunter2") {
				t.Errorf("the submitted text is repeated: %s", text)
			}
		})
	}
}

func FuzzParseTemplate(f *testing.F) {
	for _, seed := range []string{
		"",
		"{{check_name}}",
		"{{ severity }} {{",
		"}}{{",
		"{{{check_id}}}",
		"{{\x00}}",
		"{{check_name}}{{check_id}}",
		"{{label.team}} {{label.}}",
	} {
		f.Add(seed)
	}
	placeholder := regexp.MustCompile(`\{\{[ \t]*([a-z_]+|label\.[a-z0-9._/-]+)[ \t]*\}\}`)
	f.Fuzz(func(t *testing.T, text string) {
		names, err := events.ParseTemplate("template", text)
		if err != nil {
			if vigil.ErrorCode(err) != vigil.CodeInvalid {
				t.Fatalf("not a caller's mistake: %v", err)
			}
			return
		}
		for _, name := range names {
			if !slices.Contains(events.VariableNames(), name) && !strings.HasPrefix(name, "label.") {
				t.Fatalf("%q was accepted", name)
			}
		}
		// What is left without the placeholders opens nothing.
		if left := placeholder.ReplaceAllString(text, "\x01"); strings.Contains(left, events.TemplateOpen) {
			t.Fatalf("%q was accepted, with %q left", text, left)
		}
	})
}
