// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var update = flag.Bool("update", false, "renew testdata/tools.json") //nolint:gochecknoglobals // a flag

// readers are the tools of a key that may only read.
func readers() []string {
	return []string{
		"backtest_rules", "describe", "get_check", "get_incident", "get_overview", "get_results", "get_uptime", "list_changes",
		"list_channels", "list_checks", "list_deliveries", "list_drills", "list_incidents", "plan_changes",
	}
}

// changers are the tools that change something or reach somebody.
func changers() []string {
	return []string{
		"delete_object", "run_drill", "save_channel", "save_check", "save_drill_schedule", "save_rule", "save_subscription", "send_message",
		"set_checks_enabled", "try_check", "update_incident",
	}
}

func (s *session) tools() []*sdk.Tool {
	s.t.Helper()
	listed, err := s.ListTools(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return listed.Tools
}

func names(tools []*sdk.Tool) []string {
	out := make([]string, 0, len(tools))
	for _, tool := range tools {
		out = append(out, tool.Name)
	}
	slices.Sort(out)
	return out
}

func TestToolsAreWhatTheGoldenFileShows(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	tools := s.connect(t, "", &sender{key: a.key}).tools()
	got, err := json.MarshalIndent(tools, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	golden := filepath.Join("testdata", "tools.json")
	if *update {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the tools are not those of %s; look at the difference, and renew it with -update", golden)
	}
}

func TestToolsAreFewSmallAndAnnotated(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a, log := s.signUp(t), &transcript{}
	c := s.connect(t, "", &sender{key: a.key, log: log})
	before := len(log.String())
	tools := c.tools()
	if size := len(log.String()) - before; size > 28_000 {
		t.Errorf("tools/list answers with %d bytes", size)
	}
	if len(tools) > 25 {
		t.Errorf("there are %d tools", len(tools))
	}
	if got, want := names(tools), sorted(readers(), changers()); !slices.Equal(got, want) {
		t.Errorf("the tools are %v, want %v", got, want)
	}
	for _, tool := range tools {
		if n := utf8.RuneCountInString(tool.Description); n > 400 || n < 40 {
			t.Errorf("%s: the description has %d characters", tool.Name, n)
		}
		hints := tool.Annotations
		if hints == nil || hints.DestructiveHint == nil || hints.OpenWorldHint == nil {
			t.Errorf("%s lacks a hint", tool.Name)
			continue
		}
		reads := slices.Contains(readers(), tool.Name)
		if hints.ReadOnlyHint != reads || reads && (*hints.DestructiveHint || *hints.OpenWorldHint || !hints.IdempotentHint) {
			t.Errorf("%s has the hints of another tool: %+v", tool.Name, hints)
		}
		if *hints.DestructiveHint != (tool.Name == "delete_object") {
			t.Errorf("%s: destructive is %t", tool.Name, *hints.DestructiveHint)
		}
	}
}

func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}

func TestAKeyOpensTheToolsOfItsScopes(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	w := s.world(t)
	for _, tt := range []struct {
		scopes []string
		want   []string
	}{
		{[]string{"read"}, readers()},
		{[]string{"read", "respond"}, sorted(readers(), []string{"send_message", "try_check", "update_incident"})},
		{[]string{"write"}, []string{
			"delete_object", "run_drill", "save_channel", "save_check", "save_drill_schedule", "save_rule", "save_subscription",
			"set_checks_enabled", "try_check",
		}},
		{[]string{"admin"}, nil},
	} {
		c := s.connect(t, "", &sender{key: w.newKey(t, tt.scopes...)})
		if got := names(c.tools()); !slices.Equal(got, tt.want) {
			t.Errorf("a key with %v sees %v, want %v", tt.scopes, got, tt.want)
		}
		for _, tool := range sorted(readers(), changers()) {
			if slices.Contains(tt.want, tool) {
				continue
			}
			refusal := c.refused(tool, args{})
			details, _ := refusal["details"].(map[string]any)
			if refusal["code"] != "forbidden" || details["required"] == nil || details["required"] == "" {
				t.Errorf("a key with %v calls %s: %v", tt.scopes, tool, refusal)
			}
		}
	}
}
