// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// staticMonitors writes a directory of AutoKuma.
func staticMonitors(tb testing.TB, texts map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return dir
}

// TestAutoKuma imports a directory of static monitors, with each of the ways in which its files name
// others.
func TestAutoKuma(t *testing.T) {
	t.Parallel()
	dir := staticMonitors(t, map[string]string{
		"home.json": `{"name": "Home page", "type": "http", "url": "https://shop.example/", "interval": 30, "max_retries": 2,
			"parent_name": "teams/web", "notification_name_list": ["phone", "desk"], "accepted_statuscodes": "200-299",
			"tag_names": [{"name": "tier", "value": "one"}, {"name": "plain"}], "max_redirects": 0}`,
		"teams/web.toml": "type = \"group\"\nname = \"Web\"\n",
		"api.toml": `type = "json-query"
name = "API"
url = "https://api.shop.example/health"
json_path = "status"
expected_value = "ok"
accepted_statuscodes = ["200-299", "401"]
authMethod = "basic"
basic_auth_user = "probe"
basic_auth_pass = "hunter2"
headers = '{"X-Api-Key": "k-123"}'
create_paused = true
[[tag_names]]
name = "tier"
value = "two"
`,
		"phone.json": `{"type": "notification", "name": "Phone", "active": true,
			"config": {"type": "ntfy", "ntfyserverurl": "https://ntfy.shop.example", "ntfytopic": "shop"}}`,
		"tier.json":   `{"type": "tag", "name": "Tier", "color": "#FF00FF"}`,
		"docker.json": `{"type": "docker_host", "name": "local", "connection_type": "socket", "path": "/var/run/docker.sock"}`,
		"page.json":   `{"type": "status_page", "slug": "shop", "title": "Shop"}`,
		"many.json": `[{"type": "group", "name": "All"},
			{"type": "port", "name": "Database", "hostname": "db.shop.example", "port": 5432, "parent_name": "many[0]"},
			{"type": "smtp", "name": "Mail {{ file_index }}", "hostname": "mail.shop.example", "security": "starttls", "upside_down": true}]`,
		".hidden.json":        "no JSON",
		".git/config.json":    "no JSON",
		"README.md":           "# Monitors",
		"teams/notes.ignored": "no JSON",
	})
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	got := kuma(t, dir)
	mentioned(t, got)
	want(t, got, map[string]string{
		"checks/home-page": `{"config":{"expected_status_codes":["2xx"],"follow_redirects":false,"timeout_seconds":24,` +
			`"url":"https://shop.example/"},"interval":"30s","labels":{"group":"Web","plain":"","tier":"one"},"name":"Home page",` +
			`"rules":{"down-phone":{"channels":["phone"],"condition":{"failure_threshold":3},"name":"Down: Phone",` +
			`"notify_on":"both"}},"type":"https"}`,
		"checks/api/enabled": "false",
		"checks/api/config": `{"assertions":[{"operator":"eq","property":"$.status","source":"json","target":"ok"}],` +
			`"basic_auth":{"password":"$CHECK_API_PASSWORD","username":"probe"},"expected_status_codes":["2xx",401],` +
			`"headers":{"X-Api-Key":"$CHECK_API_X_API_KEY"},"timeout_seconds":48,"url":"https://api.shop.example/health"}`,
		"checks/api/labels":      `{"tier":"two"}`,
		"checks/database/labels": `{"group":"All"}`,
		"channels/phone/type":    `"push"`,
	})
	report := unescaped(got.report)
	for _, lost := range []string{
		"notification_name_list: desk | monitors name it", "name | AutoKuma fills its template in", "upside_down: true",
		"| docker_host | 1 Docker host", "| status_page | 1 status page",
	} {
		if !strings.Contains(report, lost) {
			t.Errorf("IMPORT.md does not name %q:\n%s", lost, report)
		}
	}
	for _, secret := range []string{"hunter2", "k-123"} {
		if strings.Contains(files(t, got.dir)+report, secret) {
			t.Errorf("%s stands outside of .env", secret)
		}
	}
	if strings.Contains(report, "heartbeats") {
		t.Error("files of AutoKuma have no history that could be lost")
	}
}

// TestKumaLists imports monitors as the interface of Kuma gives them: a list, or an object by their ids.
func TestKumaLists(t *testing.T) {
	t.Parallel()
	monitors := `{"id": 3, "name": "Shop", "type": "group", "childrenIDs": [7], "path": ["Shop"], "pathName": "Shop"}, ` +
		`{"id": 7, "name": "Home", "type": "keyword", "parent": 3, "url": "https://shop.example/", "keyword": "Pay", "interval": 60,
		"retryInterval": 60, "resendInterval": 0, "maxretries": 1, "active": true, "forceInactive": false, "timeout": 48,
		"accepted_statuscodes": ["200-299"], "notificationIDList": {"1": true}, "tags": [{"tag_id": 1, "name": "team", "value": "web"}],
		"includeSensitiveData": true, "saveErrorResponse": true, "responseMaxLength": 1024, "dns_resolve_server": "1.1.1.1",
		"proxyId": null, "kafkaProducerSaslOptions": {"mechanism": "None"}, "conditions": [], "future": "SECRET"}`
	byID := `{"3": ` + strings.Replace(monitors, `, {"id": 7`, `, "7": {"id": 7`, 1) + `}`
	notification := `{"id": 1, "name": "Phone", "active": true, "isDefault": false, "userId": 1, "type": "ntfy",
		"ntfyserverurl": "https://ntfy.shop.example", "ntfytopic": "shop"}`
	encoded := `{"id": 1, "name": "Phone", "active": true, "userId": 1,
		"config": "{\"type\": \"ntfy\", \"ntfyserverurl\": \"https://ntfy.shop.example\", \"ntfytopic\": \"shop\"}"}`
	for name, tt := range map[string]struct{ text, rules, lost string }{
		"List":          {"[" + monitors + "]", "null", "notification 1"},
		"ByID":          {byID, "null", "notification 1"},
		"Notifications": {"[" + monitors + ", " + notification + "]", `["phone"]`, ""},
		"Encoded":       {"[" + encoded + ", " + monitors + "]", `["phone"]`, ""},
		"Backup":        {`{"monitorList": [` + monitors + `], "notificationList": [` + encoded + `]}`, `["phone"]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(staticMonitors(t, map[string]string{"list.json": tt.text}), "list.json")
			got := kuma(t, path)
			mentioned(t, got)
			want(t, got, map[string]string{
				"checks/home/labels": `{"group":"Shop","team":"web"}`, "checks/home/rules/down-phone/channels": tt.rules,
				"checks/home/config/assertions": `[{"operator":"contains","source":"body","target":"Pay"}]`,
			})
			report := unescaped(got.report)
			if !strings.Contains(report, tt.lost) || !strings.Contains(report, "future | Vigil does not know this member") ||
				!strings.Contains(report, "| heartbeats |") || strings.Contains(report, "SECRET") {
				t.Errorf("IMPORT.md lacks a loss, or shows a value:\n%s", report)
			}
			if n := len(got.result.Checks[0].Losses); n > 2 {
				t.Errorf("%d losses: %v", n, got.result.Checks[0].Losses)
			}
		})
	}
}

// TestAutoKumaRefuses holds the errors of files that are none, and of hostile ones. No error shows a line
// of the file.
func TestAutoKumaRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, text, says string }{
		"TOML":      {"a.toml", "type = \"http\"\nbasic_auth_pass = hunter2 x\n", "a.toml:2: is not TOML"},
		"JSON":      {"a.json", `{"basic_auth_pass": "hunter2", `, "is not JSON"},
		"Behind":    {"a.json", `{"type": "http"} {"type": "http"}`, "stands behind"},
		"NoType":    {"a.toml", "name = \"hunter2\"\n", "has no monitor"},
		"Items":     {"a.json", `["hunter2"]`, "item 1 of the list is no object"},
		"Empty":     {"a.json", ``, "is not JSON"},
		"NoFiles":   {"a.yaml", "type: http", "no files of AutoKuma"},
		"Large":     {"a.toml", "type = \"" + strings.Repeat("x", 1<<20) + "\"\n", "larger than 128 KiB"},
		"Nested":    {"a.toml", "type = " + strings.Repeat("[", 5000), "nests too deep"},
		"DeepJSON":  {"a.json", strings.Repeat("[", 1<<20), "is not JSON"},
		"Twice":     {"a.toml", "type = \"http\"\ntype = \"port\"\n", "is not TOML"},
		"NotFinite": {"a.toml", "type = \"http\"\ninterval = inf\n", "not finite"},
		"Dotted":    {"a.toml", strings.Repeat("a.", 60_000) + "a = 1\n", "nests too deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := staticMonitors(t, map[string]string{tt.file: tt.text})
			_, err := source(t, "kuma").Read(dir, options())
			if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error of a directory is %.300v, expected %q", err, tt.says)
			}
			if filepath.Ext(tt.file) != ".toml" {
				return
			}
			if _, err := source(t, "kuma").Read(filepath.Join(dir, tt.file), options()); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error of the file is %.300v, expected %q", err, tt.says)
			}
		})
	}
	many := map[string]string{}
	for i := range 10_001 {
		many[fmt.Sprintf("%d.json", i)] = `{"type": "group"}`
	}
	if _, err := source(
		t,
		"kuma",
	).Read(staticMonitors(t, many), options()); err == nil ||
		!strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("the error of many files is %v", err)
	}
}

// FuzzAutoKuma holds that no text of TOML makes the import panic or write files that are not valid.
func FuzzAutoKuma(f *testing.F) {
	f.Add("type = \"http\"\nurl = \"https://a.example\"\n[[tag_names]]\nname = \"a\"\n")
	f.Add("type = \"dns\"\nhostname = \"a.example\"\nconditions = [{variable = \"record\", operator = \"equals\", value = 1979-05-27}]\n")
	f.Add("type = \"notification\"\n[config]\ntype = \"slack\"\nslackwebhookURL = \"http://[::1\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(staticMonitors(t, map[string]string{"a.toml": text}), "a.toml")
		result, err := source(t, "kuma").Read(path, options())
		if err != nil {
			return
		}
		mentioned(t, write(t, result))
	})
}
