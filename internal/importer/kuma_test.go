// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer"
	"github.com/vigil-monitor/vigil/internal/importer/importertest"
)

// kuma imports a file of Uptime Kuma, with switches.
func kuma(tb testing.TB, path string, switches ...string) imported {
	tb.Helper()
	o := options()
	o.Switches = map[string]bool{}
	for _, name := range switches {
		o.Switches[name] = true
	}
	result, err := source(tb, "kuma").Read(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	return write(tb, result)
}

// monitor imports one monitor as the latest version stores it.
func monitor(tb testing.TB, columns map[string]any, switches ...string) imported {
	tb.Helper()
	row := map[string]any{"id": 1, "name": "It", "interval": 60, "retry_interval": 60, "expiry_notification": 0}
	maps.Copy(row, columns)
	return kuma(tb, importertest.KumaDatabase(tb, "2.5.3", importertest.Rows{"monitor": {row}}), switches...)
}

func TestKumaSamples(t *testing.T) {
	t.Parallel()
	for _, version := range importertest.KumaVersions() {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			got := kuma(t, importertest.KumaDatabase(t, version, importertest.KumaSample()))
			mentioned(t, got)
			checks := slices.Sorted(maps.Keys(got.document["checks"].(map[string]any)))
			if want := []string{
				"api",
				"checkout",
				"database",
				"home-page",
				"mail",
				"name-servers",
				"nightly-backup",
				"router",
			}; !slices.Equal(
				checks,
				want,
			) {
				t.Errorf("the checks are %q, expected %q", checks, want)
			}
			for path, want := range map[string]string{
				"checks.home-page.type":                           `"https"`,
				"checks.home-page.labels":                         `{"group":"Shop","team":"web","tier-one":""}`,
				"checks.home-page.config.headers":                 `{"X-Api-Key":"$CHECK_HOME_PAGE_X_API_KEY","X-Team":"shop"}`,
				"checks.home-page.config.expected_status_codes":   `["2xx",301]`,
				"checks.home-page.rules.down-team-chat.condition": `{"failure_threshold":3}`,
				"checks.home-page.rules.down-mail.channels":       `["mail"]`,
				"checks.checkout.config.follow_redirects":         `false`,
				"checks.checkout.config.basic_auth":               `{"password":"$CHECK_CHECKOUT_PASSWORD","username":"probe"}`,
				"checks.checkout.rules.down-team-chat.condition":  `{"failure_threshold":1}`,
				"checks.checkout.rules.down-team-chat.notify_on":  `"both"`,
				"checks.database.enabled":                         `false`,
				"channels.team-chat.config.webhook_url":           `"$CHANNEL_TEAM_CHAT_WEBHOOK_URL"`,
				"channels.mail.config.to":                         `["ada@shop.example","grace@shop.example"]`,
				"maintenance.deploys.scope.checks":                `["home-page","checkout","api"]`,
				"maintenance.deploys.starts_at":                   `"2026-11-24T22:00"`,
				"maintenance.deploys.rrule":                       `"FREQ=WEEKLY;BYDAY=TU,TH"`,
				"maintenance.deploys.duration":                    `"150m"`,
				"status_pages.shop.title":                         `"Shop"`,
				"status_pages.shop.groups": `[{"checks":[{"check":"home-page","name":"Home page"},` +
					`{"check":"checkout","name":"Checkout"}],"name":"First"},` +
					`{"checks":[{"check":"api","name":"API"},{"check":"nightly-backup","name":"Nightly backup"}],"name":"Second"}]`,
				"checks.name-servers.config.resolvers":                `["10.0.0.53","10.0.0.54"]`,
				"checks.api.config.method":                            `"POST"`,
				"checks.api.config.body":                              `"{\"deep\": true}"`,
				"checks.api.config.assertions":                        `[{"operator":"eq","property":"$.status.code","source":"json","target":"ok"}]`,
				"checks.router.config.host":                           `"10.0.0.1"`,
				"checks.home-page.rules.down-team-chat.region_policy": `null`,
				"checks.nightly-backup": `{"config":{"grace_seconds":1,"schedule":{"every_seconds":86400}},` +
					`"name":"Nightly backup","rules":{"down-team-chat":{"channels":["team-chat"],"condition":{"failure_threshold":1},` +
					`"name":"Down: Team chat","notify_on":"both"}},"type":"heartbeat"}`,
			} {
				if value := at(t, got.document, strings.Split(path, ".")...); value != want {
					t.Errorf("%s is %s, expected %s", path, value, want)
				}
			}
			for _, lost := range []string{
				"`nightly-backup` | Nightly backup | push\\_token", "Orders | check | type mysql", "Phone | channel | type telegram",
				"description: The first page", "retry\\_interval: 20", "isDefault", "slackchannel", "smtpHost", "packet\\_size: 100",
				"domain status.shop.example", "link of Shop / Checkout", "| heartbeat |",
				"within 120s instead of 40s",
			} {
				if !strings.Contains(got.report, lost) {
					t.Errorf("IMPORT.md does not name %q", lost)
				}
			}
			env := read(t, got.dir, ".env")
			for _, line := range []string{
				`CHECK_CHECKOUT_PASSWORD='pa$$word'\''${x}'`, "CHANNEL_TEAM_CHAT_WEBHOOK_URL='https://hooks.slack.example/T0/B0/X0'",
				"CHECK_HOME_PAGE_X_API_KEY='k-123'",
			} {
				if !strings.Contains(env, line+"\n") {
					t.Errorf(".env lacks %s:\n%s", line, env)
				}
			}
			for _, secret := range []string{"pa$$word", "k-123", "t-456", "T0/B0/X0", "123:abc", "root:secret"} {
				if strings.Contains(files(t, got.dir)+got.report, secret) {
					t.Errorf("%q stands outside of .env", secret)
				}
			}
		})
	}
}

func TestKumaVersionsDiffer(t *testing.T) {
	t.Parallel()
	old := kuma(t, importertest.KumaDatabase(t, "1.23.17", importertest.KumaSample()))
	late := kuma(t, importertest.KumaDatabase(t, "2.5.3", importertest.KumaSample()))
	for path, want := range map[string][2]string{
		"checks.router.config": {
			`{"host":"10.0.0.1","packet_count":1}`, `{"host":"10.0.0.1","max_packet_loss_percent":99,"packet_count":3,"timeout_seconds":48}`,
		},
		"checks.name-servers.config.expected_values": {`null`, `["10.0.0.10"]`},
		"checks.api.config.headers": {
			`{"Content-Type":"application/json"}`, `{"Authorization":"$CHECK_API_AUTHORIZATION","Content-Type":"application/json"}`,
		},
	} {
		for i, document := range []map[string]any{old.document, late.document} {
			if value := at(t, document, strings.Split(path, ".")...); value != want[i] {
				t.Errorf("%s is %s in version %d, expected %s", path, value, i+1, want[i])
			}
		}
	}
	if !strings.Contains(old.report, `auth\_method: bearer`) {
		t.Error("a bearer token that the old version does not have is not reported")
	}
}

func TestKumaBackup(t *testing.T) {
	t.Parallel()
	got := kuma(t, "testdata/kuma/backup-1.23.16.json", "as-tcp", "certificates")
	mentioned(t, got)
	for path, want := range map[string]string{
		"checks.home-page.config.headers":                              `{"X-Api-Key":"$CHECK_HOME_PAGE_X_API_KEY"}`,
		"checks.home-page.labels":                                      `{"group":"Shop","team":"web"}`,
		"checks.home-page.rules.down-on-call.condition":                `{"failure_threshold":3}`,
		"checks.home-page-certificate.type":                            `"ssl"`,
		"checks.home-page-certificate.rules.expires-on-call.condition": `{"severity":"warning","ssl_days_remaining":21}`,
		"checks.checkout.config.assertions":                            `[{"operator":"not_contains","source":"body","target":"Sold out"}]`,
		"checks.checkout.config.verify_tls":                            `false`,
		"checks.api.type":                                              `"http"`,
		"checks.api.config.expected_status_codes":                      `["2xx",401]`,
		"checks.name-servers.config":                                   `{"host":"shop.example","record_type":"MX","resolvers":["10.0.0.53"]}`,
		"checks.queue.config":                                          `{"host":"queue.shop.example","port":1883}`,
		"channels.on-call.config":                                      `{"routing_key":"$CHANNEL_ON_CALL_ROUTING_KEY"}`,
		"checks.database.enabled":                                      `false`,
		"checks.checkout-certificate":                                  `null`,
		"channels.phone.type":                                          `"push"`,
	} {
		if value := at(t, got.document, strings.Split(path, ".")...); value != want {
			t.Errorf("%s is %s, expected %s", path, value, want)
		}
	}
	for _, lost := range []string{
		"status pages, maintenance, proxies", "resend\\_interval: 10", "type mqtt: mqtt\\_topic, mqtt\\_success\\_message",
		"Nightly backup",
		"expiry\\_notification: 7, 14 days",
	} {
		if !strings.Contains(got.report, lost) {
			t.Errorf("IMPORT.md does not name %q:\n%s", lost, got.report)
		}
	}
}

// TestKumaRunning imports a database that Uptime Kuma has open, with changes in its journal.
func TestKumaRunning(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kuma.db")
	db := importertest.OpenDatabase(t, path)
	importertest.Exec(t, db, "PRAGMA journal_mode = WAL")
	importertest.Exec(t, db, "PRAGMA wal_autocheckpoint = 0")
	importertest.CreateTables(t, db, "2.5.3")
	importertest.Exec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
	importertest.Insert(t, db, importertest.KumaSample())
	importertest.Exec(t, db, "BEGIN IMMEDIATE")
	before := map[string]string{}
	for _, suffix := range []string{"", "-wal"} {
		before[suffix] = read(t, path+suffix)
	}
	got := kuma(t, path)
	if at(t, got.document, "checks", "home-page", "type") != `"https"` {
		t.Error("what stands in the journal only is not imported")
	}
	for suffix, text := range before {
		if read(t, path+suffix) != text {
			t.Errorf("kuma.db%s has changed", suffix)
		}
	}
	importertest.Exec(t, db, "INSERT INTO tag (name, color) VALUES ('more', 'red')")
	importertest.Exec(t, db, "COMMIT")
}

func TestKumaPaths(t *testing.T) {
	t.Parallel()
	read := func(path string) error {
		_, err := source(t, "kuma").Read(path, options())
		return err
	}
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	database := importertest.KumaDatabase(t, "2.0.0", importertest.KumaSample())
	if err := read(filepath.Dir(database)); err != nil {
		t.Errorf("a data directory is refused: %v", err)
	}
	for path, want := range map[string]string{
		"mariadb://kuma@db/kuma":                                                   "mysql2sqlite",
		file("dump.sql", "-- MariaDB dump 10.19  Distrib 11.4\n"):                  "mysql2sqlite",
		filepath.Dir(file("db-config.json", `{"type":"mariadb","hostname":"db"}`)): "mysql2sqlite",
		filepath.Dir(file("other.txt", "")):                                        "has no kuma.db",
		file("empty.json", ""):                                                     "is empty",
		file("list.json", "[]"):                                                    "is no list of monitors",
		file("other.json", `{"version":"1"}`):                                      "neither monitorList nor notificationList",
		file("cut.db", "SQLite format 3\x00"):                                      "database",
		filepath.Join(t.TempDir(), "nothing"):                                      "no such file",
	} {
		if err := read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, expected to have %q", filepath.Base(path), err, want)
		}
	}
	other := filepath.Join(t.TempDir(), "other.db")
	db := importertest.OpenDatabase(t, other)
	importertest.Exec(t, db, "CREATE TABLE things (id INTEGER)")
	if err := read(other); err == nil || !strings.Contains(err.Error(), "no table monitor") {
		t.Errorf("another database: the error is %v", err)
	}
}

// TestKumaDamagedDatabase holds that a database with a damaged page is named as what it is, and not
// as one of another program.
func TestKumaDamagedDatabase(t *testing.T) {
	t.Parallel()
	database := []byte(read(t, importertest.KumaDatabase(t, "2.5.3", importertest.KumaSample())))
	const pageSize, schema = 4096, 100 // the header of the first page, in bytes
	for name, at := range map[string]int{"Schema": schema, "Table": pageSize} {
		path := filepath.Join(t.TempDir(), "kuma.db")
		damaged := bytes.Clone(database)
		for i := at; i < len(damaged); i += pageSize {
			damaged[i] = 0xff // no type of a page
			if name == "Schema" {
				break
			}
		}
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := source(t, "kuma").Read(path, options())
		if err == nil || !strings.Contains(err.Error(), "the database is damaged; take another copy") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestKumaIsStable imports twice and compares every byte.
func TestKumaIsStable(t *testing.T) {
	t.Parallel()
	path := importertest.KumaDatabase(t, "2.5.3", importertest.KumaSample())
	first, second := kuma(t, path, "as-tcp", "certificates"), kuma(t, path, "as-tcp", "certificates")
	if files(t, first.dir) != files(t, second.dir) || first.report != second.report {
		t.Error("two imports of one database differ")
	}
}

// columnsNotRead are columns of monitors that the import does not look at: what they say has
// no meaning for a check.
func columnsNotRead() []string {
	return []string{
		"user_id", "created_date", "mqtt_password", "radius_password", "radius_secret", "rabbitmq_password",
		"gamedig_given_port_only", "gamedig_token", "kafka_producer_allow_auto_topic_creation", "snmp_v3_username",
		"ntp_stratum_threshold", "ntp_time_offset_threshold", "ntp_root_dispersion_threshold",
	}
}

// TestKumaColumns notices a column of a new version that the import does not know.
func TestKumaColumns(t *testing.T) {
	t.Parallel()
	known := importer.KumaMonitorColumns()
	for _, version := range importertest.KumaVersions() {
		for line := range strings.Lines(importertest.KumaSchema(t, version)) {
			column, ok := strings.CutPrefix(line, "monitor ")
			column, _, _ = strings.Cut(column, " ")
			if ok && !slices.Contains(known, column) && !slices.Contains(columnsNotRead(), column) {
				t.Errorf("%s: nothing is said about the column %s", version, column)
			}
		}
	}
}

func asJSON(tb testing.TB, value any) string {
	tb.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
