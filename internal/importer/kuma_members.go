// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// kumaLost is a column of monitors that a check does not have.
type kumaLost struct {
	column string
	// types of monitors for which the column means something; none: all.
	types []string
	// standard are the values that change nothing, besides the empty one.
	standard []string
	reason   string
}

func kumaLostColumns() []kumaLost {
	http := []string{"http", "keyword", "json-query"}
	off := []string{"0", "false"}
	return []kumaLost{
		{
			column: "upside_down", standard: off,
			reason: "Vigil has no inverted checks; this one is disabled, since it would fail while all is well",
		},
		{column: "resend_interval", standard: []string{"0"}, reason: "a message is sent when an incident opens and when it ends"},
		{column: "description", reason: "a check has no description"},
		{column: "cache_bust", types: http, standard: off, reason: "the address is requested as it is"},
		{column: "save_response", types: http, standard: off, reason: "bodies of successful answers are not kept"},
		{
			column: "retry_only_on_status_code_failure", types: []string{"json-query"}, standard: off,
			reason: "every failure counts alike",
		},
		{column: "save_error_response", types: http, standard: []string{"1", "true"}, reason: "Vigil keeps evidence of each failure"},
		{column: "response_max_length", types: http, standard: []string{"0", "1024"}, reason: "Vigil bounds the evidence of a failure itself"},
		{column: "packet_size", types: []string{"ping"}, standard: []string{"56", "0"}, reason: "Vigil chooses the size of its packets"},
		{
			column: "ping_per_request_timeout", types: []string{"ping"}, standard: []string{"2", "0"},
			reason: "the timeout is that of all packets together",
		},
		{column: "expected_tls_alert", types: []string{"port"}, standard: []string{"none"}, reason: "a tcp check only connects"},
	}
}

// loseMembers notes what the monitor has and the check does not.
func (k *kumaImport) loseMembers(c *Resource, m kumaRow) {
	kind := m.line("type")
	for _, lost := range kumaLostColumns() {
		value := strings.TrimSpace(m.shown(lost.column))
		if value == "" || slices.Contains(lost.standard, value) || len(lost.types) > 0 && !slices.Contains(lost.types, kind) {
			continue
		}
		c.Lose(lost.column+": "+value, "%s", lost.reason)
	}
	if security := m.line("smtp_security"); kind == "port" && m.flag("expiry_notification", false) &&
		(security == "secure" || security == "starttls") { // otherwise Kuma does not use it
		c.Lose("smtp_security: "+security, "a tcp check does not look at certificates; add a check of the type ssl or smtp-imap")
	}
	k.loseUnknown(c, m)
	interval, retry := m.whole("interval", 60), m.whole("retry_interval", 0)
	if n := m.whole("maxretries", 0); n > 0 && retry > 0 && retry != interval && kind != kumaPushed {
		c.Lose(fmt.Sprintf("retry_interval: %d", retry), "after a failure Kuma tries again every %ds; Vigil goes on every %ds, "+
			"so the incident opens after %d failures within %ds instead of %ds", retry, interval, n+1, n*interval, n*retry)
	}
	if warnsOfCertificate(m) && !k.options.Switches[kumaCertificates] &&
		c.Members.Get("type") == string(vigil.TypeHTTPS) {
		c.Lose("expiry_notification", "import with --%s to get a check of the certificate", kumaCertificates)
	}
}

// kumaSilentMembers are members of monitors in JSON that are no columns, or say nothing about a check.
func kumaSilentMembers() []string {
	return strings.Fields(`user_id created_date path path_name children_i_ds force_inactive maintenance screenshot include_sensitive_data tags
		notification_i_d_list accepted_statuscodes parent_name notification_name_list tag_names create_paused docker_host_name
		human_readable_interval mqtt_password radius_password radius_secret rabbitmq_password gamedig_given_port_only gamedig_token
		kafka_producer_allow_auto_topic_creation snmp_v3_username ntp_stratum_threshold ntp_time_offset_threshold
		ntp_root_dispersion_threshold remote_browsers_toggle cert_expiry_days_remaining valid_cert dns_resolve_server
		accepted_statuscodes_json send_url`)
}

// loseUnknown notes members that Kuma may have one day. Values are not shown: some may be secrets.
func (k *kumaImport) loseUnknown(c *Resource, m kumaRow) {
	lost, _ := m[kumaLostMembers].([]Loss)
	for _, one := range lost {
		c.Lose(one.What, "%s", one.Reason)
	}
	known := append(kumaMonitorColumns(), kumaSilentMembers()...)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if strings.HasPrefix(name, "+") || slices.Contains(known, name) ||
			slices.Contains([]string{"", "0", "false", "null", "[]", "{}"}, m.shown(name)) {
			continue
		}
		c.Lose(name, "Vigil does not know this member of Kuma")
	}
}

// kumaProtocolMembers returns the names of the columns that say how a monitor of another type
// speaks with its target, and have a value.
func kumaProtocolMembers(m kumaRow) []string {
	prefixes := map[string][]string{
		"mqtt": {"mqtt_"}, "sqlserver": {"database_query"}, "postgres": {"database_query"}, "mysql": {"database_query"},
		"mongodb": {"database_query", "json_path", "expected_value"}, "redis": {"ignore_tls"}, "oracledb": {"database_query", "basic_auth_user"},
		"rabbitmq": {"rabbitmq_username"}, "kafka-producer": {"kafka_producer_topic", "kafka_producer_message", "kafka_producer_sasl"},
		"grpc-keyword": {"grpc_", "keyword"},
	}[m.line("type")]
	var names []string
	for _, column := range kumaMonitorColumns() {
		used := slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(column, prefix) })
		if value := m.shown(column); used && !slices.Contains([]string{"", "0", "false", "null"}, value) {
			names = append(names, column)
		}
	}
	return names
}
