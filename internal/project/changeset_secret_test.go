// SPDX-License-Identifier: Apache-2.0

package project_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// TestPlansHideAddresses holds that a difference between two configs shows neither side's
// secrets, also where only one side calls them so.
func TestPlansHideAddresses(t *testing.T) {
	t.Parallel()
	address := secret.Fields{
		Members: map[string]secret.Fields{
			"url": {Query: true}, "webhook_url": {Secret: true, Address: true}, "body": {If: "body_secret"}, "secret": {Secret: true},
		},
		Places: []secret.PlaceMember{{Name: "url", URL: true}, {Name: "webhook_url", URL: true}},
	}
	steps := secret.Fields{Members: map[string]secret.Fields{"steps": {Members: map[string]secret.Fields{
		"config": {ByType: map[vigil.CheckType]secret.Fields{"https": address, "tcp": {}}},
	}}}}
	for name, tt := range map[string]struct {
		fields         secret.Fields
		stored, wanted string
		reader         bool   // who may not compare secrets
		changes        string // paths, with ! for a secret and ? for one that is not compared
	}{
		"another token":      {address, `{"url":"https://a/?token=s1"}`, `{"url":"https://a/?token=s2"}`, false, "config.url!"},
		"the same token":     {address, `{"url":"https://a/?token=s1"}`, `{"url":"https://a/?token=s1"}`, false, ""},
		"a guessed token":    {address, `{"url":"https://a/?token=s1"}`, `{"url":"https://a/?token=s1"}`, true, "config.url!?"},
		"another host":       {address, `{"url":"https://a/?token=s1"}`, `{"url":"https://b/?token=s2"}`, false, "config.url"},
		"another webhook":    {address, `{"webhook_url":"https://a/s1"}`, `{"webhook_url":"https://b/s2"}`, false, "config.webhook_url!"},
		"no secret any more": {address, `{"body":"s1","body_secret":true}`, `{"body":"shown"}`, false, "config.body! config.body_secret"},
		"a step of another type": {
			steps, `{"steps":[{"type":"https","config":{"webhook_url":"https://a/s1","url":"https://a/?token=s2"}}]}`,
			`{"steps":[{"type":"tcp","config":{"host":"a"}}]}`, false,
			"config.steps[0].config.host config.steps[0].config.url config.steps[0].config.webhook_url config.steps[0].type",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := func(i *project.Item) { i.Secrets = tt.fields }
			pair := project.Pair{
				Stored: item("a", `{"config":`+tt.stored+`}`, storedAt(1, 1), of), Wanted: item("a", `{"config":`+tt.wanted+`}`, of),
			}
			found := setOf(project.Missing("keep"), tt.reader, pair).Actions[0].Members
			var paths []string
			for _, change := range found {
				path := change.Path
				if change.Secret {
					path += "!"
				}
				if change.Unknown {
					path += "?"
				}
				paths = append(paths, path)
			}
			slices.Sort(paths)
			if got := strings.Join(paths, " "); got != tt.changes {
				t.Errorf("got %s, want %s", got, tt.changes)
			}
			if text, err := json.Marshal(found); err != nil || strings.Contains(string(text), "s1") || strings.Contains(string(text), "s2") {
				t.Errorf("a secret is shown: %s, %v", text, err)
			}
		})
	}
}
