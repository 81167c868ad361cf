package importer

import (
	"fmt"
	"slices"
	"strings"

	"vigil"
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
		{column: "weight", standard: []string{"2000", "0"}, reason: "checks have no order of their own"},
		{column: "proxy_id", types: http, standard: []string{"0"}, reason: "add the proxy's address to the member proxy of the check"},
		{column: "cache_bust", types: http, standard: off, reason: "the address is requested as it is"},
		{column: "domain_expiry_notification", standard: off, reason: "a check of the type domain watches that"},
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
		{
			column: "dns_last_result", types: []string{"dns"},
			reason: "an earlier answer is history; the condition dns_changed begins with the first one",
		},
		{column: "smtp_security", types: []string{"port"}, standard: []string{"nostarttls"}, reason: "a tcp check does not look at certificates"},
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
		what := lost.column + ": " + value
		c.Lose(what, "%s", lost.reason)
		if lost.column == "proxy_id" {
			c.disable()
		}
	}
	interval, retry := m.whole("interval", 60), m.whole("retry_interval", 0)
	if n := m.whole("maxretries", 0); n > 0 && retry > 0 && retry != interval {
		c.Lose(fmt.Sprintf("retry_interval: %d", retry), "after a failure Kuma tries again every %ds; Vigil goes on every %ds, "+
			"so the incident opens after %d failures within %ds instead of %ds", retry, interval, n+1, n*interval, n*retry)
	}
	if m.flag("expiry_notification", false) && isHTTPMonitor(kind) && !k.options.Switches[kumaCertificates] &&
		c.Members.Get("type") == string(vigil.TypeHTTPS) {
		c.Lose("expiry_notification", "import with --%s to get a check of the certificate", kumaCertificates)
	}
}

// kumaProtocolMembers returns the names of the columns that say how a monitor of another type
// speaks with its target, and have a value.
func kumaProtocolMembers(m kumaRow) []string {
	prefixes := map[string][]string{
		"mqtt": {"mqtt_"}, "sqlserver": {"database_query"}, "postgres": {"database_query"}, "mysql": {"database_query"},
		"mongodb": {"database_query", "json_path", "expected_value"}, "redis": {"ignore_tls"}, "oracledb": {"database_query", "basic_auth_user"},
		"rabbitmq": {"rabbitmq_username"}, "kafka-producer": {"kafka_producer_topic", "kafka_producer_message", "kafka_producer_sasl"},
		"grpc-keyword": {"grpc_", "keyword"}, "real-browser": {"keyword", "remote_browser", "screenshot_delay"},
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
