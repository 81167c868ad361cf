// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// kumaType is what becomes of a monitor of a type.
type kumaType struct {
	columns map[string]any
	// kind is the type of the check; empty: there is none. config is part of its config, as JSON.
	kind, config string
	disabled     bool
	lost         string // what the report names; empty: nothing is lost
}

// kumaTypes has a line for each type of Uptime Kuma 2.5 (server/uptime-kuma-server.js and
// server/model/monitor.js).
func kumaTypes() map[string]kumaType {
	type columns = map[string]any
	const noType = "Vigil has no check of this type"
	database := columns{"database_connection_string": "x://probe@db.shop.example/orders"}
	return map[string]kumaType{
		"http": {columns{"url": "https://shop.example/"}, "https", `"url":"https://shop.example/"`, false, ""},
		"keyword": {
			columns{"url": "https://shop.example/", "keyword": "Pay"}, "https", `{"operator":"contains","source":"body","target":"Pay"}`, false, "",
		},
		"json-query": {
			columns{"url": "https://shop.example/", "json_path": "a", "expected_value": "b"},
			"https", `{"operator":"eq","property":"$.a","source":"json","target":"b"}`, false, "",
		},
		"websocket-upgrade": {
			columns{"url": "wss://shop.example/", "accepted_statuscodes_json": `["1000"]`}, "websocket", `"url":"wss://shop.example/"`, false, "",
		},
		"real-browser": {
			columns{"url": "https://shop.example/"},
			"https", `"expected_status_codes":["2xx","3xx"],"url":"https://shop.example/"`, false, "does not open it in a browser",
		},
		"port": {columns{"hostname": "db.shop.example", "port": 5432}, "tcp", `{"host":"db.shop.example","port":5432}`, false, ""},
		"ping": {columns{"hostname": "shop.example"}, "ping", `"host":"shop.example"`, false, ""},
		"tailscale-ping": {
			columns{"hostname": "nas.tail.example"}, "ping", `{"host":"nas.tail.example","packet_count":1}`, true, "not through Tailscale",
		},
		"dns": {
			columns{"hostname": "shop.example", "dns_resolve_type": "A", "dns_resolve_server": "1.1.1.1"},
			"dns", `{"host":"shop.example","record_type":"A","resolvers":["1.1.1.1"]}`, false, "",
		},
		"smtp": {
			columns{"hostname": "mail.shop.example", "smtp_security": "starttls"},
			"smtp-imap", `{"smtp":{"host":"mail.shop.example","port":25,"security":"starttls"}}`, false, "",
		},
		"grpc-keyword": {
			columns{"grpc_url": "shop.example:50051", "grpc_service_name": "Orders", "grpc_method": "list", "grpc_protobuf": "package shop;"},
			"grpc", `{"host":"shop.example","port":50051,"security":"none"}`, true, "grpc_method: Orders/list",
		},
		"globalping": {
			columns{"subtype": "ping", "hostname": "shop.example", "protocol": "ICMP", "location": "Germany"},
			"ping", `"host":"shop.example"`, true, "location: Germany",
		},
		"group":          {nil, "", "", false, ""},
		"push":           {nil, "heartbeat", `{"grace_seconds":1,"schedule":{"every_seconds":60}}`, false, "another address"},
		"manual":         {nil, "", "", false, "somebody sets its state by hand"},
		"docker":         {columns{"docker_container": "shop"}, "", "", false, noType},
		"pm2":            {columns{"system_service_name": "shop"}, "", "", false, noType},
		"system-service": {columns{"system_service_name": "shop"}, "", "", false, noType},
		"steam":          {columns{"hostname": "shop.example", "port": 27015}, "", "", false, noType},
		"gamedig":        {columns{"hostname": "shop.example", "port": 25565, "game": "minecraft"}, "", "", false, noType},
		"ntp":            {columns{"hostname": "shop.example"}, "", "", false, noType},
		"sip-options":    {columns{"hostname": "shop.example", "port": 5060}, "", "", false, noType},
		"snmp":           {columns{"hostname": "shop.example", "port": 161, "snmp_oid": "1.3"}, "", "", false, noType},
		"radius":         {columns{"hostname": "shop.example", "port": 1812}, "", "", false, noType},
		"mqtt":           {columns{"hostname": "shop.example", "port": 1883}, "", "", false, "shop.example:1883 accepts connections"},
		"kafka-producer": {columns{"kafka_producer_brokers": `["shop.example:9092"]`}, "", "", false, "shop.example:9092 accepts connections"},
		"rabbitmq":       {columns{"rabbitmq_nodes": `["https://shop.example:15671/"]`}, "", "", false, "shop.example:15671 accepts connections"},
		"sqlserver": {
			columns{"database_connection_string": "Server=db.example,1433;User Id=sa"}, "", "", false, "db.example:1433 accepts connections",
		},
		"postgres": {database, "", "", false, "db.shop.example:5432 accepts connections"},
		"mysql":    {database, "", "", false, "db.shop.example:3306 accepts connections"},
		"mongodb":  {database, "", "", false, "db.shop.example:27017 accepts connections"},
		"oracledb": {columns{"database_connection_string": "db.example:1521/orders"}, "", "", false, "db.example:1521 accepts connections"},
		"redis":    {columns{"database_connection_string": "redis://db.shop.example"}, "", "", false, "db.shop.example:6379 accepts connections"},
	}
}

// TestKumaTypes holds what becomes of a monitor of each type, with Kuma's own defaults for the rest.
func TestKumaTypes(t *testing.T) {
	t.Parallel()
	for kind, test := range kumaTypes() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			row := kumaDefaults()
			row["type"] = kind
			maps.Copy(row, test.columns)
			got := monitor(t, row)
			mentioned(t, got)
			if test.kind == "" && at(t, got.document, "checks") != "null" {
				t.Fatalf("there is a check:\n%s", files(t, got.dir))
			}
			if test.kind != "" {
				disabled := "null"
				if test.disabled {
					disabled = "false"
				}
				want(t, got, map[string]string{"checks/it/type": `"` + test.kind + `"`, "checks/it/enabled": disabled})
				if config := at(t, got.document, "checks", "it", "config"); !strings.Contains(config, test.config) {
					t.Errorf("the config is %s, expected %s", config, test.config)
				}
			}
			if !strings.Contains(unescaped(got.report), test.lost) || (test.lost == "") == got.result.Lossy() {
				t.Errorf("IMPORT.md does not name %q, or something else:\n%s", test.lost, got.report)
			}
		})
	}
}

// TestKumaRecords holds that the types of records of a DNS monitor are those of a dns check.
func TestKumaRecords(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			row := kumaDefaults()
			maps.Copy(row, map[string]any{"type": "dns", "hostname": "shop.example", "dns_resolve_type": kind, "dns_resolve_server": "1.1.1.1"})
			got := monitor(t, row)
			want(t, got, map[string]string{"checks/it/config": `{"host":"shop.example","record_type":"` + kind + `","resolvers":["1.1.1.1"]}`})
			row["conditions"] = `[{"variable": "record", "operator": "equals", "value": "192.0.2.1"}]`
			named := strings.Contains(monitor(t, row).report, "conditions:")
			if whole := slices.Contains([]string{"A", "CNAME", "NS", "PTR", "TXT"}, kind); whole == named || got.result.Lossy() {
				t.Errorf("the conditions are carried over: %t", !named)
			}
		})
	}
	row := kumaDefaults()
	maps.Copy(row, map[string]any{"type": "globalping", "subtype": "dns", "hostname": "shop.example", "dns_resolve_type": "ANY"})
	if got := monitor(t, row); !strings.Contains(unescaped(got.report), `dns_resolve_type "ANY" is not a type of records`) {
		t.Errorf("ANY is not named:\n%s", got.report)
	}
}
