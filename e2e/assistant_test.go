// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// bearer sends a key with each request.
type bearer string

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(req)
}

// assistant uses the tools of a platform.
type assistant struct {
	t *testing.T
	*sdk.ClientSession
}

// assist connects an assistant by a version of the protocol.
func assist(t *testing.T, p *process, version string) *assistant {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "e2e", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: p.ready.APIURL + "/mcp", HTTPClient: &http.Client{Transport: bearer(p.ready.APIKey)}, MaxRetries: -1,
		DisableStandaloneSSE: true,
	}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &assistant{t: t, ClientSession: session}
}

// use calls a tool, which must do what is asked.
func (a *assistant) use(tool string, arguments map[string]any) map[string]any {
	a.t.Helper()
	result, err := a.CallTool(context.WithoutCancel(a.t.Context()), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	content, _ := result.StructuredContent.(map[string]any)
	if result.IsError || content == nil {
		a.t.Fatalf("%s %v: %v", tool, arguments, result.StructuredContent)
	}
	return content
}

// insist is use again while the platform, which may just have started, says that the change
// may still happen.
func (a *assistant) insist(tool string, arguments map[string]any) (content map[string]any) {
	a.t.Helper()
	eventually(a.t, tool+" is not unavailable", func() bool {
		result, err := a.CallTool(context.WithoutCancel(a.t.Context()), &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			a.t.Fatalf("%s: %v", tool, err)
		}
		content, _ = result.StructuredContent.(map[string]any)
		if result.IsError && content["code"] != "unavailable" || content == nil {
			a.t.Fatalf("%s %v: %v", tool, arguments, result.StructuredContent)
		}
		return !result.IsError
	})
	return content
}

// part returns an object of a result.
func part(t *testing.T, result map[string]any, name string) map[string]any {
	t.Helper()
	found, ok := result[name].(map[string]any)
	if !ok {
		t.Fatalf("there is no %s in %v", name, result)
	}
	return found
}

func listed(result map[string]any, name string) []map[string]any {
	list, _ := result[name].([]any)
	rows := make([]map[string]any, 0, len(list))
	for _, row := range list {
		if row, ok := row.(map[string]any); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// TestAssistantsWorkThroughAKill lets an assistant of each protocol try a target, monitor it, and
// acknowledge and resolve its incident, while the platform is killed in between: the sessions go
// on, since the server keeps none.
func TestAssistantsWorkThroughAKill(t *testing.T) {
	timingtest.Parallel(t)
	var down atomic.Bool
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(site.Close)
	hook := newReceiver(t, 0)
	dir, address := dataDir(t), freeAddress(t)
	env := []string{"VIGIL_LISTEN=" + address, "VIGIL_REGIONS=na-east-ewr", "VIGIL_SIGNUP_TIER=enterprise"}
	p := up(t, dir, env...)
	stateless, older := assist(t, p, ""), assist(t, p, "2025-06-18")

	config := map[string]any{"url": site.URL}
	tried := listed(older.use("try_check", map[string]any{"type": "http", "config": config}), "results")
	if len(tried) != 1 || tried[0]["success"] != true {
		t.Fatalf("a try answers %v", tried)
	}
	check := part(t, stateless.use("save_check", map[string]any{
		"name": "Shop", "type": "http", "interval_seconds": 1, "config": config,
	}), "check")
	channel := part(t, older.use("save_channel", map[string]any{
		"name": "Hook", "type": "webhook", "config": map[string]any{"url": hook.URL, "secret": receiverSecret},
	}), "channel")
	stateless.use("save_rule", map[string]any{
		"check": "Shop", "name": "Down", "condition": map[string]any{"failure_threshold": 2}, "notify_on": "both",
		"notification_channel_ids": []any{channel["id"]},
	})
	eventually(t, "the check has a result", func() bool {
		return len(listed(older.use("get_results", map[string]any{"check": "Shop"}), "results")) > 0
	})

	p.kill()
	down.Store(true)
	p = up(t, dir, env...)
	if !strings.HasSuffix(p.ready.APIURL, address) {
		t.Fatalf("the platform is at %s now", p.ready.APIURL)
	}

	var incident map[string]any
	eventually(t, "an incident is open", func() bool {
		open := listed(stateless.use("list_incidents", map[string]any{"check": check["id"], "status": "active"}), "incidents")
		if len(open) > 0 {
			incident = open[0]
		}
		return incident != nil
	})
	older.insist("update_incident", map[string]any{"incident": incident["id"], "action": "acknowledge"})
	p.kill()
	up(t, dir, env...)
	shown := part(t, stateless.use("get_incident", map[string]any{"incident": incident["id"]}), "incident")
	if shown["status"] != "acknowledged" || shown["run_url"] == nil {
		t.Errorf("after a kill the incident is %v", shown)
	}
	resolved := part(t, older.insist("update_incident", map[string]any{
		"incident": incident["id"], "action": "resolve", "note": "restarted",
	}), "incident")
	if resolved["status"] != "resolved" {
		t.Errorf("the incident is %v", resolved)
	}
	if sent := part(t, stateless.use("send_message", map[string]any{"channel": "Hook"}), "attempt"); sent["delivered"] != true {
		t.Errorf("the test message is %v", sent)
	}
	agents := make(map[any]bool)
	for _, change := range listed(stateless.use("list_changes", nil), "changes") {
		agents[change["untrusted_user_agent"]] = true
	}
	if !agents["mcp/e2e"] {
		t.Errorf("the changes were made by %v", agents)
	}
}
