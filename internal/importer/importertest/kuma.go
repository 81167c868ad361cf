// SPDX-License-Identifier: Apache-2.0

package importertest

import (
	"database/sql"
	"embed"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver named sqlite
)

//go:embed kuma/schema-*.txt
var schemas embed.FS

// KumaVersions are the versions whose databases are tested: the last one of 1.x, the first
// one of 2.x and a late one.
func KumaVersions() []string { return []string{"1.23.17", "2.0.0", "2.5.3"} }

// Rows are the rows of tables, by their names.
type Rows map[string][]map[string]any

// KumaDatabase makes a database of a version with rows, and returns its path. The columns are
// those that the version's own migrations make: they were run with Node.js, and what SQLite
// then says of the tables is in kuma/schema-*.txt. Rows leave out what the version does not have.
func KumaDatabase(tb testing.TB, version string, rows Rows) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kuma.db")
	db := OpenDatabase(tb, path)
	CreateTables(tb, db, version)
	Insert(tb, db, rows)
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return path
}

// OpenDatabase opens a database until the end of the test. It need not outlive the machine: each statement is a
// transaction, and to have the disk confirm them took most of the time of the tests.
func OpenDatabase(tb testing.TB, path string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=synchronous(OFF)&_pragma=journal_mode(MEMORY)")
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec executes a statement.
func Exec(tb testing.TB, db *sql.DB, query string, args ...any) {
	tb.Helper()
	if _, err := db.ExecContext(tb.Context(), query, args...); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
}

// CreateTables makes the tables of a version, with the types and defaults of their columns.
func CreateTables(tb testing.TB, db *sql.DB, version string) {
	tb.Helper()
	tables := map[string][]string{}
	for line := range strings.Lines(KumaSchema(tb, version)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		parts := strings.SplitN(line, "|", 4)
		name, column, _ := strings.Cut(strings.TrimSpace(parts[0]), " ")
		definition := fmt.Sprintf("`%s` %s %s", column, strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2]))
		if standard := strings.TrimSpace(parts[3]); standard != "" {
			definition += " DEFAULT (" + standard + ")"
		}
		if column == "id" {
			definition = "`id` INTEGER PRIMARY KEY AUTOINCREMENT"
		}
		tables[name] = append(tables[name], definition)
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		Exec(tb, db, fmt.Sprintf("CREATE TABLE `%s` (%s)", name, strings.Join(tables[name], ", ")))
	}
}

// KumaSchema returns the columns of the tables of a version, a line each: the table, the
// column, its type, NOT NULL and its default.
func KumaSchema(tb testing.TB, version string) string {
	tb.Helper()
	text, err := schemas.ReadFile("kuma/schema-" + version + ".txt")
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// columnsOf returns the columns of a table, none of a table that the database lacks.
func columnsOf(tb testing.TB, db *sql.DB, table string) map[string]bool {
	tb.Helper()
	found, err := db.QueryContext(tb.Context(), "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	has := make(map[string]bool)
	for found.Next() {
		var column string
		if err := found.Scan(&column); err != nil {
			tb.Fatal(err)
		}
		has[column] = true
	}
	if err := found.Err(); err != nil {
		tb.Fatal(err)
	}
	return has
}

// Insert inserts rows, without the columns and tables that the database lacks.
func Insert(tb testing.TB, db *sql.DB, rows Rows) {
	tb.Helper()
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		has := columnsOf(tb, db, name)
		if len(has) == 0 {
			continue
		}
		for _, row := range rows[name] {
			var columns, places []string
			var values []any
			if row = maps.Clone(row); row["user_id"] == nil {
				row["user_id"] = 1
			}
			for _, column := range slices.Sorted(maps.Keys(row)) {
				if has[column] {
					columns, places, values = append(columns, "`"+column+"`"), append(places, "?"), append(values, row[column])
				}
			}
			Exec(tb, db, fmt.Sprintf("INSERT INTO `%s` (%s) VALUES (%s)", name, strings.Join(columns, ", "), strings.Join(places, ", ")), values...)
		}
	}
}

// KumaSample is a small shop.
func KumaSample() Rows {
	return Rows{
		"user": {{"id": 1, "username": "ada"}},
		"monitor": {
			{"id": 1, "name": "Shop", "type": "group", "user_id": 1, "interval": 60},
			{
				"id": 2, "name": "Home page", "type": "http", "parent": 1, "url": "https://shop.example/", "interval": 60, "maxretries": 2,
				"retry_interval": 20, "timeout": 48, "expiry_notification": 1, "description": "The first page",
				"accepted_statuscodes_json": `["200-299","301"]`, "headers": `{"X-Team": "shop", "X-Api-Key": "k-123"}`,
			},
			{
				"id": 3, "name": "Checkout", "type": "keyword", "parent": 1, "url": "https://shop.example/checkout", "interval": 30,
				"keyword": "Pay now", "maxredirects": 0, "ignore_tls": 1, "auth_method": "basic", "basic_auth_user": "probe",
				"basic_auth_pass": "pa$$word'${x}",
			},
			{
				"id": 4, "name": "API", "type": "json-query", "url": "https://api.shop.example/health", "interval": 60,
				"json_path": "status.code", "expected_value": "ok", "json_path_operator": "==", "method": "POST",
				"body": `{"deep": true}`, "http_body_encoding": "json", "auth_method": "bearer", "bearer_token": "t-456",
			},
			{"id": 5, "name": "Database", "type": "port", "hostname": "db.shop.example", "port": 5432, "interval": 60, "active": 0},
			{"id": 6, "name": "Router", "type": "ping", "hostname": "10.0.0.1", "interval": 60, "packet_size": 100, "ping_count": 3},
			{
				"id": 7, "name": "Name servers", "type": "dns", "hostname": "shop.example", "port": 53, "dns_resolve_type": "A",
				"dns_resolve_server": "10.0.0.53, 10.0.0.54", "interval": 60, "dns_last_result": "Records: 10.0.0.10",
				"conditions": `[{"type":"expression","id":"a","variable":"record","operator":"equals","value":"10.0.0.10","andOr":"and"}]`,
			},
			{"id": 8, "name": "Nightly backup", "type": "push", "push_token": "abcdefgh", "interval": 86400},
			{ //nolint:gosec // the password of no database
				"id": 9, "name": "Orders", "type": "mysql", "interval": 60, "database_query": "SELECT 1",
				"database_connection_string": "mysql://root:secret@orders.shop.example:3307/orders",
			},
			{"id": 10, "name": "Mail", "type": "smtp", "hostname": "mail.shop.example", "port": 587, "smtp_security": "starttls", "interval": 60},
		},
		"notification": {
			{"id": 1, "name": "Team chat", "is_default": 1, "config": `{"type":"slack","name":"Team chat",
				"slackwebhookURL":"https://hooks.slack.example/T0/B0/X0","slackchannel":"#ops"}`},
			{"id": 2, "name": "Mail", "config": `{"type":"smtp","name":"Mail","smtpHost":"smtp.shop.example","smtpPort":587,
				"smtpFrom":"kuma@shop.example","smtpTo":"ada@shop.example, \"Grace\" <grace@shop.example>"}`},
			{"id": 3, "name": "Phone", "config": `{"type":"telegram","name":"Phone","telegramBotToken":"123:abc"}`},
		},
		"monitor_notification": {
			{"monitor_id": 2, "notification_id": 1},
			{"monitor_id": 2, "notification_id": 2},
			{"monitor_id": 3, "notification_id": 1},
			{"monitor_id": 3, "notification_id": 3},
			{"monitor_id": 8, "notification_id": 1},
		},
		"tag":         {{"id": 1, "name": "team", "color": "#4B5563"}, {"id": 2, "name": "Tier One", "color": "#DC2626"}},
		"monitor_tag": {{"monitor_id": 2, "tag_id": 1, "value": "web"}, {"monitor_id": 2, "tag_id": 2, "value": ""}},
		"maintenance": {
			{
				"id": 1, "title": "Deploys", "description": "Every week", "strategy": "recurring-weekday", "start_date": "2026-01-01 00:00:00",
				"start_time": "22:00", "end_time": "00:30", "weekdays": "[2,4]", "cron": "0 22 * * 2,4", "duration": 9000, "timezone": "Europe/Berlin",
			},
		},
		"monitor_maintenance":     {{"monitor_id": 1, "maintenance_id": 1}, {"monitor_id": 4, "maintenance_id": 1}},
		"maintenance_status_page": {{"status_page_id": 1, "maintenance_id": 1}},
		"status_page": {
			{
				"id": 1, "slug": "shop", "title": "Shop", "description": "All about us", "icon": "/icon.svg", "theme": "auto", "published": 1,
				"custom_css": "body {\n  \n}",
			},
		},
		"status_page_cname": {{"status_page_id": 1, "domain": "status.shop.example"}},
		"group": {
			{"id": 1, "name": "Second", "public": 1, "weight": 2, "status_page_id": 1},
			{"id": 2, "name": "First", "public": 1, "weight": 1, "status_page_id": 1},
		},
		"monitor_group": {
			{"monitor_id": 4, "group_id": 1, "weight": 1},
			{"monitor_id": 8, "group_id": 1, "weight": 2},
			{"monitor_id": 3, "group_id": 2, "weight": 2, "send_url": 1},
			{"monitor_id": 2, "group_id": 2, "weight": 1},
		},
		"setting":   {{"key": "serverTimezone", "value": `"Europe/Berlin"`}, {"key": "tlsExpiryNotifyDays", "value": "[7,14,21]"}},
		"heartbeat": {{"monitor_id": 2, "status": 1, "msg": "200 - OK", "time": "2026-11-22 20:00:00.000", "important": 1}},
		"api_key":   {{"key": "x", "name": "metrics", "user_id": 1}},
	}
}
