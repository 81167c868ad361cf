// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil/internal/config"
)

type described struct {
	URL     string            `json:"url" place:"url" secret:"query" example:"https://a.example/" doc:"Address"`
	Wait    float64           `json:"wait_seconds,omitempty" default:"5" minimum:"1" doc:"How long to wait"`
	Mode    string            `json:"mode,omitempty" enum:"a,b,c" words:"c=last|a=first" default:"a" title:"Mode" form:"expect,short"`
	Body    string            `json:"body,omitempty" form:"request,area,mono" secret:"if:hidden"`
	Hidden  bool              `json:"hidden,omitempty"`
	Maybe   *bool             `json:"maybe,omitempty" words:"=by itself|true=yes|false=no"`
	List    []string          `json:"list,omitempty" example:"[\"a\",\"b\"]" help:"One a line."`
	Mixed   []any             `json:"mixed,omitempty" sample:"1, 2"`
	Headers map[string]string `json:"headers,omitempty" secret:"by-name" add:"Add line"`
	Inner   *describedInner   `json:"inner,omitempty" title:"Inner"`
	Rows    []describedInner  `json:"rows,omitempty" begin:"[{\"type\":\"x\"}]"`
}

type describedInner struct {
	Password string         `json:"password,omitempty" secret:"true" example:"secret"`
	Type     string         `json:"type" form:"types"`
	Config   map[string]any `json:"config,omitempty" secret:"by-type"`
	Value    any            `json:"value,omitempty"`
}

// TestDescribe holds what a form learns of the members of a config from their tags, and what it makes of one
// that has few.
func TestDescribe(t *testing.T) {
	t.Parallel()
	all := config.Describe(described{}, []string{"x", "y"})
	find := func(name string) config.Field {
		i := slices.IndexFunc(all, func(m config.Field) bool { return m.Name == name })
		if i < 0 {
			t.Fatalf("there is no %s", name)
		}
		return all[i]
	}
	if url := find("url"); url.Title != "Address" || url.Help != "" || url.Input != config.InputText || url.Group != "address" || !url.Mono ||
		!url.URL || !url.Required || url.Secret != config.SecretQuery || url.Sample != "https://a.example/" {
		t.Errorf("a usual member is %+v", url)
	}
	if wait := find(
		"wait_seconds",
	); wait.Title != "Wait, in seconds" || wait.Help != "How long to wait." || wait.Input != config.InputNumber ||
		wait.Group != "more" || wait.Default != "5" || wait.Sample != "5" || *wait.Minimum != 1 ||
		wait.Maximum != nil {
		t.Errorf("a member without tags for forms is %+v", wait)
	}
	options := []config.Option{{Value: "c", Title: "last"}, {Value: "a", Title: "first"}, {Value: "b", Title: "b"}}
	if mode := find("mode"); mode.Input != config.InputChoice || !slices.Equal(mode.Options, options) || mode.Group != "expect" ||
		mode.Width != "short" || mode.Sample != "" {
		t.Errorf("a choice is %+v", mode)
	}
	if body := find("body"); body.Input != config.InputArea || body.Secret != "" || body.SecretWhen != "hidden" || body.Group != "request" {
		t.Errorf("a text of several lines is %+v", body)
	}
	for name, want := range map[string]string{
		"hidden": config.InputSwitch, "maybe": config.InputDecision, "list": config.InputLines, "mixed": config.InputList,
		"headers": config.InputPairs, "inner": config.InputGroup, "rows": config.InputRows,
	} {
		if got := find(name).Input; got != want {
			t.Errorf("%s is entered as %s, want %s", name, got, want)
		}
	}
	if find("maybe").Options[0] != (config.Option{Title: "by itself"}) || find("list").Sample != "a\nb" || find("mixed").Sample != "1, 2" ||
		find("headers").Secret != config.SecretNames || find("headers").Add != "Add line" || find("rows").Add != "Add" ||
		find("rows").Begin != `[{"type":"x"}]` {
		t.Errorf("the members are %+v", all)
	}
	inner := find("rows").Members
	if len(inner) != 4 || inner[0].Secret != config.SecretValue || inner[0].Sample != "" || inner[0].Title != "Password" ||
		len(
			inner[1].Options,
		) != 2 || inner[1].Options[1].Value != "y" || inner[2].Input != config.InputConfig || inner[3].Input != config.InputValue {
		t.Errorf("the members of a row are %+v", inner)
	}
}
