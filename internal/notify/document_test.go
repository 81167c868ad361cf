// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

var update = flag.Bool("update", false, "renew the bodies in docs/channels.md") //nolint:gochecknoglobals // a flag

// documentPath is the page that has the bodies between two marks.
const (
	documentPath  = "../../docs/channels.md"
	documentBegin = "<!-- What follows is written by go test ./internal/notify -run TestChannelsDocument -update -->\n"
	documentEnd   = "<!-- What was written ends here -->\n"
)

// TestChannelsDocument holds that docs/channels.md has the requests that each format makes.
func TestChannelsDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(documentPath)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), documentBegin)
	_, after, ends := strings.Cut(rest, documentEnd)
	if !begins || !ends {
		t.Fatalf("%s lacks the marks of what is written here", documentPath)
	}
	var out strings.Builder
	for _, row := range notify.FormatRows() {
		describe(t, &out, row)
	}
	want := before + documentBegin + out.String() + documentEnd + after
	if *update {
		if err := os.WriteFile(documentPath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(page) {
		t.Errorf("%s is old: go test ./internal/notify -run TestChannelsDocument -update", documentPath)
	}
}

func describe(t *testing.T, out *strings.Builder, row notify.FormatRow) {
	t.Helper()
	kind := form(string(row.Kind) + "/" + row.Name)
	r := receive(t, nil)
	sender := parse(t, registry(), row.Kind, httpConfigs(r.url)[kind])
	opening, end := message(), message()
	end.Type, end.Title, end.Body = vigil.EventResolved, "Resolved: Checkout API is failing", "The check is healthy again."
	// Details that have no use here: the page shows a few.
	for _, m := range []*notify.Message{&opening, &end} {
		maps.DeleteFunc(m.Variables, func(name, _ string) bool {
			return !slices.Contains([]string{"check_name", "check_target", "incident_url", "started_at", "severity", "status_code"}, name)
		})
	}
	sender.Send(t.Context(), opening)
	sender.Send(t.Context(), end)
	fmt.Fprintf(out, "\n### %s\n\nA format of the type `%s`. It requires %s", row.Name, row.Kind, quoted(row.Requires))
	if len(row.Takes) > 0 {
		fmt.Fprintf(out, ", and takes %s", quoted(row.Takes))
	}
	if len(row.Hosts) > 0 {
		fmt.Fprintf(out, ". The host of its address is %s", strings.ReplaceAll(quoted(row.Hosts), " and ", " or "))
	}
	out.WriteString(".\n")
	for i, what := range []string{"The beginning", "The end"} {
		fmt.Fprintf(out, "\n%s:\n\n%s", what, shownRequest(t, r.requests()[i]))
	}
}

// quoted lists names as a sentence does.
func quoted(names []string) string {
	text := "`" + strings.Join(names, "`, `") + "`"
	if i := strings.LastIndex(text, ", "); i >= 0 {
		text = text[:i] + " and " + text[i+2:]
	}
	return text
}

// shownRequest is a request with its JSON in lines and without its secrets.
func shownRequest(t *testing.T, p posted) string {
	t.Helper()
	path := p.path
	if p.query != "" {
		path += "?" + p.query
	}
	lines := []string{p.method + " " + path}
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		if !slices.Contains([]string{"Accept-Encoding", "Connection", "Content-Length", "User-Agent"}, name) {
			lines = append(lines, name+": "+p.header.Get(name))
		}
	}
	var body bytes.Buffer
	switch {
	case json.Indent(&body, p.body, "", "  ") == nil:
	case p.header.Get("Content-Type") == "application/x-www-form-urlencoded":
		body.Reset()
		values, err := url.ParseQuery(string(p.body))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&body, "%s = %s\n", name, strings.ReplaceAll(values.Get(name), "\n", "\n  "))
		}
	default:
		body.Reset()
		body.Write(p.body)
	}
	text := strings.Join(lines, "\n") + "\n\n" + strings.TrimRight(body.String(), "\n") + "\n"
	for _, secret := range []string{
		encoded("vigil-bot@zulip.example.com:" + secretText), encoded("ada:" + secretText), pathToken + "-user", pathToken + "-route", pathToken,
		secretText, `s3cr3t-\"r\u003co\u003eu\u0026t/e\"`,
	} {
		text = strings.ReplaceAll(text, secret, "TOKEN")
	}
	if strings.Contains(text, "s3cr3t") {
		t.Fatalf("a secret of the test is shown in %s", text)
	}
	return "```text\n" + text + "```\n"
}
