// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asking is a client that asks its user: what it was asked, and what the user answers.
type asking struct {
	answer sdk.ElicitResult
	asked  []string
}

// connectAsking opens a session of a client that can ask its user.
func (s *site) connectAsking(t *testing.T, version string, through *sender, user *asking) *session {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: clientName, Version: "1"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			user.asked = append(user.asked, req.Params.Message)
			answer := user.answer
			return &answer, nil
		},
	})
	transport := &sdk.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: through}, MaxRetries: -1, DisableStandaloneSSE: true,
	}
	opened, err := c.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return &session{ClientSession: opened, t: t}
}

// A client that can ask its user does so where the protocol lets a server without sessions
// ask; elsewhere the tool takes its argument confirm.
func TestToolsAskTheUser(t *testing.T) {
	t.Parallel()
	yes := sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}
	for _, version := range sdk.SupportedProtocolVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := open(t, "")
			a := s.signUp(t)
			user := &asking{}
			c := s.connectAsking(t, version, &sender{key: a.key}, user)
			const checks = 12
			var ids []string
			for n := range checks {
				ids = append(ids, a.create(t, "/v1/checks", map[string]any{
					"name": fmt.Sprintf("Check %d", n), "type": "http", "interval_seconds": 3600,
					"config": args{"url": s.url}, "labels": args{"team": "shop"},
				}))
			}
			remove, pause := args{"kind": "check", "id": ids[0]}, args{"label": "team=shop", "enabled": false}
			if version < "2026-07-28" {
				if wrong := c.refused("delete_object", remove); wrong["code"] != "invalid_request" {
					t.Errorf("without confirm: %v", wrong)
				}
				c.refused("set_checks_enabled", pause)
				c.use("delete_object", args{"kind": "check", "id": ids[0], "confirm": "Check 0"})
				c.use("set_checks_enabled", args{"label": "team=shop", "enabled": false, "confirm": checks - 1})
				if len(user.asked) > 0 {
					t.Errorf("the user was asked %q", user.asked)
				}
				return
			}
			for _, no := range []sdk.ElicitResult{
				{Action: "decline"}, {Action: "cancel"}, {Action: "accept", Content: map[string]any{"confirm": false}},
			} {
				user.answer = no
				if refused := c.refused("delete_object", remove); refused["code"] != "conflict" {
					t.Errorf("the user answered %q: %v", no.Action, refused)
				}
				c.refused("set_checks_enabled", pause)
			}
			if out := c.use("list_checks", args{"enabled": true}); len(out["checks"].([]any)) != checks {
				t.Error("a check was changed although the user did not agree")
			}
			user.asked, user.answer = nil, yes
			if wrong := c.refused("delete_object", args{"kind": "check", "id": ids[0], "confirm": "Check 1"}); len(user.asked) > 0 {
				t.Errorf("a wrong name is asked about: %v", wrong)
			}
			c.use("delete_object", remove)
			if out := c.use("set_checks_enabled", pause); out["changed"] != float64(checks-1) {
				t.Errorf("set_checks_enabled answers %v", out)
			}
			if len(user.asked) != 2 || !strings.Contains(user.asked[0], `check "Check 0"`) || user.asked[1] != "Pause 11 checks?" {
				t.Errorf("the user was asked %q", user.asked)
			}
		})
	}
}

// An answer is good for the question that was asked: what changed meanwhile is asked again.
func TestAnAnswerIsForItsQuestion(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	a := s.signUp(t)
	check := a.create(t, "/v1/checks", map[string]any{"name": "Shop", "type": "http", "interval_seconds": 3600, "config": args{"url": s.url}})
	c := s.connectAsking(t, "", &sender{key: a.key}, &asking{answer: sdk.ElicitResult{Action: "decline"}})
	result, err := c.CallTool(t.Context(), &sdk.CallToolParams{
		Name: "delete_object", Arguments: args{"kind": "check", "id": check}, RequestState: "delete check of another time",
		InputResponses: sdk.InputResponseMap{"confirm": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !result.IsError {
		t.Errorf("an answer to another question deletes: %s", textOf(result))
	}
	if out := c.use("list_checks", args{}); len(out["checks"].([]any)) != 1 {
		t.Error("the check is deleted")
	}
}
