// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/importer"
)

func healthchecksText(tb testing.TB, text string) (*importer.Result, error) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "checks.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return source(tb, "healthchecks").Read(path, options())
}

// TestHealthchecks imports a project in the form of version 3 of the API.
func TestHealthchecks(t *testing.T) {
	t.Parallel()
	result, err := source(t, "healthchecks").Read(filepath.Join("testdata", "healthchecks", "v3.json"), options())
	if err != nil {
		t.Fatal(err)
	}
	got := write(t, result)
	mentioned(t, got)
	want(t, got, map[string]string{
		"checks/nightly-backup": `{"config":{"grace_seconds":900,"schedule":{"cron":"0 3 * * *","timezone":"Europe/Berlin"}},` +
			`"labels":{"db":"","prod":""},"name":"Nightly backup","type":"heartbeat"}`,
		"checks/sync": `{"config":{"grace_seconds":3600,"schedule":{"every_seconds":86400}},"enabled":false,"name":"Sync","type":"heartbeat"}`,
		"checks/report": `{"config":{"grace_seconds":2592000,"schedule":{"every_seconds":2592000}},` +
			`"enabled":false,"name":"Report","type":"heartbeat"}`,
		"checks/weekly": "null",
	})
	report := unescaped(got.report)
	for _, lost := range []string{
		"Read 4 checks of Healthchecks.",
		"| Weekly | check | schedule: Mon *-*-* 04:00: is no cron expression of five fields",
		"| integration c0000000-0000-4000-8000-000000000001 | channel |", "alerts to integration c0000000",
		"`vigil check get shop/KEY --jq .ping_url` shows it", "| status: new |", "| status: paused |", "| methods: POST |", "| desc |",
		"| grace: 8760h0m0s |", "| interval: 8760h0m0s |", "| filter_subject: true |", "| filter_http_body: true |", "| pings |",
	} {
		if !strings.Contains(report, lost) {
			t.Errorf("IMPORT.md lacks %q:\n%s", lost, report)
		}
	}
	if text := files(t, got.dir) + got.report; strings.Contains(text, "5a1c9d2e") || strings.Contains(text, "hc-ping") {
		t.Errorf("the files have the address of a ping:\n%s", text)
	}
}

// healthchecksMember is a member of a check, which has a name, a timeout and a grace besides.
type healthchecksMember struct{ json, kept, lost string }

func healthchecksMembers() []healthchecksMember {
	return []healthchecksMember{
		{json: `"slug": "y"`},
		{json: `"status": "up"`},
		{json: `"status": "grace"`},
		{json: `"status": "new"`, kept: `"enabled":false`, lost: "status: new"},
		{json: `"status": "paused"`, kept: `"enabled":false`, lost: "status: paused"},
		{json: `"status": "paused", "manual_resume": true`, kept: `"enabled":false`},
		{json: `"status": "odd"`, lost: "status: odd"},
		{json: `"status": []`, lost: "status is no text"},
		{json: `"tags": "a b"`, kept: `"labels":{"a":"","b":""}`},
		{json: `"tags": ["a"]`, lost: "tags is no text"},
		{json: `"desc": "a"`, lost: "desc"},
		{json: `"methods": "POST"`, lost: "methods: POST"},
		{json: `"filter_body": true`, lost: "no pings by email"},
		{json: `"filter_body": 3`, lost: "filter_body: 3 is neither"},
		{json: `"filter_default_fail": true`, lost: "filter_default_fail"},
		{json: `"success_kw": "ok"`},
		{json: `"unique_key": "a"`, lost: "read-only"},
		{json: `"channels": "a,a"`, lost: "alerts to integration a "},
		{json: `"schedule": "*/5 * * * *", "tz": "UTC"`, kept: `"schedule":{"cron":"*/5 * * * *"}`},
		{json: `"future": 1`, lost: "future"},
		{json: `"name": "${HOME} \uE000A\uE001"`, kept: `"name":"${HOME} �A�"`},
	}
}

// TestHealthchecksMembers holds for each member of a check that it is carried over, changes nothing, or
// is named as lost.
func TestHealthchecksMembers(t *testing.T) {
	t.Parallel()
	for _, one := range healthchecksMembers() {
		t.Run(one.json, func(t *testing.T) {
			t.Parallel()
			result, err := healthchecksText(t, `{"checks": [{"name": "x", "timeout": 60, "grace": 60, `+one.json+`}]}`)
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, result)
			mentioned(t, got)
			if len(result.Checks) != 1 {
				t.Fatal(got.report)
			}
			usual := func(one importer.Loss) bool { return one.What == "ping_url" || one.What == "pings" }
			losses := strings.Trim(fmt.Sprint(slices.DeleteFunc(slices.Concat(result.Checks[0].Losses, result.Settings), usual)), "[]")
			if one.lost == "" && losses != "" || !strings.Contains(losses, one.lost) {
				t.Errorf("lost %s, expected %q", losses, one.lost)
			}
			if written := at(t, got.document, "checks", result.Checks[0].Key); !strings.Contains(written, one.kept) {
				t.Errorf("the check is\n%s\nwithout %s", written, one.kept)
			}
		})
	}
}

// TestHealthchecksMisses holds that what cannot be a heartbeat is named with its reason, and the rest carried over.
func TestHealthchecksMisses(t *testing.T) {
	t.Parallel()
	for check, reason := range map[string]string{
		`{"name": "x", "grace": 60}`:                                                 "timeout: : must be a number of seconds",
		`{"name": "x", "grace": "", "timeout": 60}`:                                  "grace: : must be",
		`{"name": "x", "grace": 60, "timeout": 1e99}`:                                "timeout: 1e99: must be",
		`{"name": "x", "grace": -1, "timeout": 60}`:                                  "grace: -1: must be",
		`{"name": "x", "grace": 60, "timeout": [60]}`:                                "timeout: : must be",
		`{"name": "x", "grace": 60, "schedule": "daily", "tz": "UTC"}`:               "no cron expression of five fields",
		`{"name": "x", "grace": 60, "schedule": "Mon *-*-* 04:00\nTue *-*-* 05:00"}`: "OnCalendar",
		`{"name": "x", "grace": 60, "schedule": "61 * * * *", "tz": "UTC"}`:          "schedule: 61 * * * *",
		`{"name": "x", "grace": 60, "schedule": "0 3 L * *", "tz": "UTC"}`:           "schedule: 0 3 L * *",
		`{"name": "x", "grace": 60, "schedule": "0 3 * * *", "tz": "Mars/Olympus"}`:  "time zone",
		`{"name": "x", "grace": 60, "schedule": "0 0 30 2 *", "tz": "UTC"}`:          "has no time",
		`"x"`:  "it is no object",
		`null`: "it is no object",
	} {
		result, err := healthchecksText(t, `{"checks": [`+check+`, {"name": "b", "timeout": 60, "grace": 60}]}`)
		if err != nil {
			t.Errorf("%s: %v", check, err)
			continue
		}
		mentioned(t, write(t, result))
		if len(result.Missing) != 1 || !strings.Contains(result.Missing[0].Reason, reason) || len(result.Checks) != 1 {
			t.Errorf("%s is missing as %v, expected %q", check, result.Missing, reason)
		}
	}
}

// TestHealthchecksMinInterval holds that --min-interval raises a time between pings, and no cron expression.
func TestHealthchecksMinInterval(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "checks.json")
	if err := os.WriteFile(path, []byte(`{"checks": [{"name": "a", "timeout": 60, "grace": 60},
		{"name": "b", "schedule": "* * * * *", "tz": "UTC", "grace": 60}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.MinInterval = 5 * time.Minute
	result, err := source(t, "healthchecks").Read(path, o)
	if err != nil {
		t.Fatal(err)
	}
	got := write(t, result)
	mentioned(t, got)
	want(t, got, map[string]string{"checks/a/config/schedule": `{"every_seconds":300}`, "checks/b": "null"})
	if !strings.Contains(got.report, "its runs follow each other within 1m, and checks have at least 5m") {
		t.Error(got.report)
	}
}

// TestHealthchecksChannels holds that integrations have names where the file has their list.
func TestHealthchecksChannels(t *testing.T) {
	t.Parallel()
	result, err := healthchecksText(t, `{"checks": [{"name": "a", "timeout": 60, "grace": 60, "channels": "c1"}],
		"channels": [{"id": "c1", "kind": "slack", "name": "#ops"}, {"id": "c2", "kind": "email", "name": ""}, 3]}`)
	if err != nil {
		t.Fatal(err)
	}
	mentioned(t, write(t, result))
	if len(result.Missing) != 2 || result.Missing[0].Origin != "slack #ops" || result.Missing[1].Origin != "email" {
		t.Errorf("missing are %v", result.Missing)
	}
}

// TestHealthchecksRefusesWhatIsNone holds the errors of files of another kind, and of hostile ones.
func TestHealthchecksRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	for reason, text := range map[string]string{
		"is no JSON of Healthchecks: byte 1":  "checks: []\n",
		"is no JSON of Healthchecks":          `{"checks": [{"name": "x"`,
		"is no answer of GET /api/v3/checks/": `{"monitors": []}`,
		`an object with a list "checks"`:      `[{"name": "x"}]`,
		`which is an object with`:             `{"checks": {}}`,
		`its list "checks" is empty`:          `{"checks": []}`,
		"is an error of Healthchecks":         `{"error": "wrong api key"}`,
		"nests too deep":                      `{"checks": ` + strings.Repeat("[", 1<<20),
		"holds more than 2000000 values":      `{"checks": [` + strings.Repeat("1,", 2_000_001) + "1]}",
		"something stands behind":             `{"checks": []} {}`,
		"is larger than 8 MiB":                strings.Repeat("x", 9<<20),
	} {
		if _, err := healthchecksText(t, text); err == nil || !strings.Contains(err.Error(), reason) || len(err.Error()) > 500 {
			t.Errorf("the error is %.200v, expected %q", err, reason)
		}
	}
	if _, err := source(t, "healthchecks").Read(t.TempDir(), options()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
}

// FuzzHealthchecks holds that no text makes the import panic, and that what it writes is always valid.
func FuzzHealthchecks(f *testing.F) {
	for _, one := range healthchecksMembers() {
		f.Add(`{"checks": [{"name": "x", "timeout": 60, "grace": 60, ` + one.json + `}]}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if result, err := healthchecksText(t, text); err == nil {
			write(t, result)
		}
	})
}
