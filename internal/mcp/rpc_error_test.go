// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// goWords are what only a reader of the program's code understands.
var goWords = regexp.MustCompile(
	`2006-01-02|Go struct|Go value|json:|unmarshal|validating|parsing time|time\.Time|map\[|interface \{\}|\bnil\b`,
)

// Errors of the protocol have a code of JSON-RPC and one that the API uses, and no words of
// the program's language.
func TestErrorsOfTheProtocolHaveCodes(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	bearer := "Bearer " + s.signUp(t).key
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + params + `}`
	}
	for name, tt := range map[string]struct {
		body     string
		code     int64
		name     string
		answered bool // with the id of the request
	}{
		"NoJSON":          {`{"jsonrpc":`, -32700, "invalid_request", false},
		"Empty":           {``, -32700, "invalid_request", false},
		"NoRequest":       {`{"hello":"world"}`, -32600, "invalid_request", false},
		"UnknownMethod":   {`{"jsonrpc":"2.0","id":7,"method":"tools/delete","params":{}}`, -32601, "not_found", true},
		"UnknownTool":     {call(`{"name":"create_api_key","arguments":{}}`), -32602, "invalid_request", true},
		"ParamsOfAString": {call(`"x"`), -32602, "invalid_request", true},
		"NameOfANumber":   {call(`{"name":5}`), -32602, "invalid_request", true},
		"NoParams":        {`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, -32600, "invalid_request", true},
		"UnknownResource": {`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"vigil://x"}}`, -32602, "invalid_request", true},
		"UnknownPrompt":   {`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"x"}}`, -32602, "invalid_request", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, text := s.post(t, http.MethodPost, tt.body, "Authorization", bearer)
			var answer struct {
				JSONRPC string
				ID      any
				Error   struct {
					Code    int64
					Message string
					Data    struct{ Code string }
				}
			}
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				t.Fatalf("%d %s: %v", res.StatusCode, text, err)
			}
			if answer.JSONRPC != "2.0" || answer.Error.Code != tt.code || answer.Error.Data.Code != tt.name || answer.Error.Message == "" {
				t.Errorf("%d %s", res.StatusCode, text)
			}
			if tt.answered != (answer.ID != nil) {
				t.Errorf("the id is %v in %s", answer.ID, text)
			}
			if goWords.MatchString(text) {
				t.Errorf("%s has %q", text, goWords.FindString(text))
			}
		})
	}
}

// Wrong arguments are an error that the model can read, as all others are: it names the
// argument, in words of the interface.
func TestWrongArgumentsAreExplained(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	c := s.connect(t, "", &sender{key: s.signUp(t).key})
	for _, use := range []struct {
		tool      string
		arguments args
		names     string
	}{
		{"list_incidents", args{"since": "yesterday"}, "RFC 3339"},
		{"list_incidents", args{"since": "2026-13-45T00:00:00Z"}, "RFC 3339"},
		{"list_incidents", args{"since": 5}, "since"},
		{"list_checks", args{"limit": "ten"}, "limit"},
		{"list_checks", args{"limit": 1.5}, "limit"},
		{"list_checks", args{"limit": 51}, "limit"},
		{"get_check", args{"check": []string{"x"}}, "check"},
		{"get_check", args{}, "check"},
		{"get_check", args{"check": "x", "more": 1}, "more"},
		{"get_incident", args{"incident": "the last one"}, "incident"},
		{"get_uptime", args{}, "check"},
		{"describe", args{"topic": "check_type:carrier-pigeon"}, "topic"},
		{"save_check", args{"name": "x", "type": "https", "interval_seconds": 60, "config": args{"uri": "https://shop.example/"}}, "config.url"},
		{"try_check", args{"check": "x", "type": "http"}, "type"},
		{"update_incident", args{"incident": "x", "action": "ignore"}, "action"},
	} {
		refusal := c.refused(use.tool, use.arguments)
		text, _ := refusal["error"].(string)
		t.Log(text)
		if refusal["code"] != "invalid_request" || !strings.Contains(text, use.names) || goWords.MatchString(text) {
			t.Errorf("%s %v: %v", use.tool, use.arguments, refusal)
		}
	}
	if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "create_api_key"}); err == nil {
		t.Error("a tool that does not exist answers")
	}
	// What the API refuses says what it refuses, and in which request.
	refusal := c.refused("save_check", args{"name": "x", "type": "https", "interval_seconds": 60, "config": args{"url": 7}})
	if refusal["request_id"] == nil || refusal["details"] == nil {
		t.Errorf("the API's refusal is shown as %v", refusal)
	}
}
