// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// ofTypes is a session with a server that has types which no file of the commands names, and the
// channel types of this program.
func ofTypes(t *testing.T) *session {
	t.Helper()
	uri := client.ChannelMemberFormatUri
	channels := []client.ChannelType{{Type: "fax", Members: []client.ChannelMember{
		{
			Name:   "pin",
			Type:   "string",
			Secret: true,
		},
		{Name: "number", Type: "string", Required: true},
		{Name: "server", Type: "string", Format: &uri},
	}}}
	for _, info := range notify.NewRegistry(egress.New(egress.Policy{})).Describe() {
		of := client.ChannelType{Type: string(info.Type)}
		for _, f := range info.Formats {
			of.Formats = append(of.Formats, client.ChannelFormat{Format: f.Name, Requires: f.Requires, Takes: f.Takes})
		}
		for _, m := range info.Members {
			member := client.ChannelMember{Name: m.Name, Type: client.ChannelMemberType(m.Type), Secret: m.Secret, Required: m.Required}
			if m.Format != "" {
				member.Format = new(client.ChannelMemberFormat(m.Format))
			}
			of.Members = append(of.Members, member)
		}
		channels = append(channels, of)
	}
	answers := map[string]any{
		"/v1/channel-types": client.ChannelTypeList{Data: channels},
		"/v1/check-types": client.CheckTypeInfoList{Data: []client.CheckTypeInfo{
			{Type: "gopher", Target: new("host")},
			{Type: "gemini", Target: new("url"), Schemes: []string{"gemini", "titan"}},
			{Type: "spartan", Target: new("address"), Schemes: []string{"gemini"}},
			{Type: "steps"},
		}},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answers[r.URL.Path]); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	con := &console.Console{Out: io.Discard, Err: io.Discard, In: strings.NewReader("hush\n"), Now: time.Now}
	a := &app{flags: globalFlags{timeout: time.Minute}}
	s, err := a.connect(con, target{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTypeOfAnAddress holds that what an address says of a check comes from the types of the server.
func TestTypeOfAnAddress(t *testing.T) {
	t.Parallel()
	s := ofTypes(t)
	for _, test := range []struct{ address, kind, want string }{
		{"gopher://hole.example:71/", "", "gopher map[host:hole.example port:71]"},
		{"gemini://capsule.example/a", "", "gemini map[url:gemini://capsule.example/a]"},
		{"TITAN://capsule.example/a", "", "gemini map[url:TITAN://capsule.example/a]"},
		{"spartan://capsule.example/a", "", "spartan map[address:gemini://capsule.example/a]"},
		{"https://hole.example/", "gopher", "gopher map[host:hole.example]"},
		{"https://capsule.example/", "gemini", "gemini map[url:https://capsule.example/]"},
	} {
		config := map[string]any{}
		kind, name, err := s.fromTarget(t.Context(), test.address, test.kind, config)
		if got := fmt.Sprint(kind, " ", config); err != nil || got != test.want || !strings.HasSuffix(name, ".example") {
			t.Errorf("%s as %q is %s named %q, %v; want %s", test.address, test.kind, got, name, err, test.want)
		}
	}
	for _, test := range [][2]string{{"https://hole.example/", ""}, {"steps://hole.example/", ""}, {"https://hole.example/", "steps"}} {
		_, _, err := s.fromTarget(t.Context(), test[0], test[1], nil)
		if err == nil || !strings.Contains(err.Error(), "must be one of gopher, gemini, titan, spartan, or give --type") {
			t.Errorf("%s as %q: %v", test[0], test[1], err)
		}
	}
}

// TestMembersOfAChannel holds which members of a config the word and the secret of a command fill, by what
// the server says of the type and the format.
func TestMembersOfAChannel(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"fax +49":              "number=+49 pin=hush",
		"webhook x":            "secret=hush url=x",
		"email a@x.example":    "to=[a@x.example]",
		"chat":                 "webhook_url=hush",
		"chat x telegram":      "chat_id=x token=hush",
		"chat x matrix":        "room_id=x token=hush",
		"chat x zulip":         "stream=x token=hush",
		"push x":               "password=hush topic=x",
		"push x gotify":        "server=x token=hush",
		"pager":                "routing_key=hush",
		"pager http://x":       "routing_key=hush url=http://x",
		"pager http://x jsm":   "api_key=hush url=http://x",
		"pager x incident_io":  "api_key=hush url=x",
		"pager x alertmanager": "api_key=hush url=x",
	} {
		s := ofTypes(t)
		words := strings.Fields(given)
		n := newChannel{secretFile: "-"}
		if strings.HasPrefix(given, "email") {
			n.secretFile = ""
		}
		if len(words) == 3 {
			n.config = []string{"format=" + words[2]}
		}
		body, err := s.channelBody(t.Context(), &n, words[:min(2, len(words))])
		var made struct{ Config map[string]any }
		if err != nil || json.Unmarshal(body, &made) != nil {
			t.Errorf("%s: %v", given, err)
			continue
		}
		delete(made.Config, "format")
		var got []string
		for _, name := range slices.Sorted(maps.Keys(made.Config)) {
			got = append(got, fmt.Sprint(name, "=", made.Config[name]))
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s sets %s, want %s", given, text, want)
		}
	}
	for given, want := range map[string]string{
		"pager somewhere":       "takes no address",
		"telex x":               `no channel of the type "telex"; the types are fax, webhook, email, push, chat, pager`,
		"pager x splunk_oncall": "takes no address",
	} {
		words := strings.Fields(given)
		n := newChannel{}
		if len(words) == 3 {
			n.config = []string{"format=" + words[2]}
		}
		if _, err := ofTypes(t).channelBody(t.Context(), &n, words[:2]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", given, err)
		}
	}
}
