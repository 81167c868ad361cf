// SPDX-License-Identifier: Apache-2.0

package importer

import "strings"

// kumaTables are the tables of Uptime Kuma that are read, with their columns in all versions
// from 1.18 to 2.5.
func kumaTables() map[string][]string {
	return map[string][]string{
		"monitor":              kumaMonitorColumns(),
		"notification":         {"id", "name", "active", "is_default", "config"},
		"monitor_notification": {"id", "monitor_id", "notification_id"},
		"tag":                  {"id", "name", "color"},
		"monitor_tag":          {"id", "monitor_id", "tag_id", "value"},
		"maintenance": {
			"id", "title", "description", "active", "strategy", "start_date", "end_date", "start_time", "end_time", "weekdays",
			"days_of_month", "interval_day", "cron", "timezone", "duration", "last_start_date",
		},
		"monitor_maintenance":     {"id", "monitor_id", "maintenance_id"},
		"maintenance_status_page": {"id", "status_page_id", "maintenance_id"},
		"status_page": {
			"id", "slug", "title", "description", "icon", "theme", "published", "search_engine_index", "show_tags", "password",
			"footer_text", "custom_css", "show_powered_by", "google_analytics_tag_id", "analytics_id", "analytics_type",
			"analytics_script_url", "show_certificate_expiry", "auto_refresh_interval", "show_only_last_heartbeat", "rss_title",
		},
		"status_page_cname": {"id", "status_page_id", "domain"},
		"group":             {"id", "name", "public", "active", "weight", "status_page_id"},
		"monitor_group":     {"id", "monitor_id", "group_id", "weight", "send_url", "custom_url"},
		"setting":           {"id", "key", "value"},
		"proxy":             {"id", "protocol", "host", "port", "auth", "username", "password", "active"},
	}
}

func kumaMonitorColumns() []string {
	return strings.Fields(`id name active interval url type weight hostname port keyword maxretries ignore_tls upside_down
		maxredirects accepted_statuscodes_json dns_resolve_type dns_resolve_server dns_last_result retry_interval push_token method
		body headers basic_auth_user basic_auth_pass docker_host docker_container proxy_id expiry_notification mqtt_topic
		mqtt_success_message mqtt_username mqtt_check_type mqtt_websocket_path database_connection_string database_query auth_method
		auth_domain auth_workstation grpc_url grpc_protobuf grpc_body grpc_metadata grpc_method grpc_service_name grpc_enable_tls
		radius_username radius_calling_station_id radius_called_station_id resend_interval packet_size game http_body_encoding
		description tls_ca tls_cert tls_key parent invert_keyword json_path json_path_operator expected_value kafka_producer_topic
		kafka_producer_brokers kafka_producer_sasl_options kafka_producer_message kafka_producer_ssl oauth_client_id oauth_client_secret
		oauth_token_url oauth_scopes oauth_audience oauth_auth_method timeout remote_browser snmp_oid snmp_version cache_bust
		conditions rabbitmq_nodes rabbitmq_username smtp_security ws_ignore_sec_websocket_accept_header ws_subprotocol ping_count
		ping_numeric ping_per_request_timeout ip_family manual_status domain_expiry_notification save_response
		save_error_response response_max_length system_service_name subtype location protocol expected_tls_alert
		retry_only_on_status_code_failure screenshot_delay bearer_token`)
}

// kumaOtherTables are tables whose rows are only counted: they are not carried over.
func kumaOtherTables() []string {
	return []string{
		"heartbeat", "stat_minutely", "stat_hourly", "stat_daily", "docker_host", "remote_browser", "api_key", "incident", "user",
	}
}

// join puts together what the tables say of one thing.
func (d *kumaData) join(tables map[string][]kumaRow) {
	d.monitors, d.notifications = tables["monitor"], tables["notification"]
	d.maintenance, d.pages = tables["maintenance"], tables["status_page"]
	for _, table := range []string{"monitor_notification", "tag", "monitor_tag", "monitor_maintenance", "maintenance_status_page"} {
		sortByID(tables[table])
	}
	for _, rows := range [][]kumaRow{d.monitors, d.notifications, d.maintenance, d.pages} {
		sortByID(rows)
	}
	for _, row := range d.notifications {
		row[kumaConfig] = row.object("config")
	}
	notifications := idsBy(tables["monitor_notification"], "monitor_id", "notification_id")
	tags := taggedMonitors(tables["tag"], tables["monitor_tag"])
	for _, row := range d.monitors {
		row[kumaNotifications], row[kumaTags] = notifications[row.id("id")], tags[row.id("id")]
	}
	monitors := idsBy(tables["monitor_maintenance"], "maintenance_id", "monitor_id")
	pages := idsBy(tables["maintenance_status_page"], "maintenance_id", "status_page_id")
	for _, row := range d.maintenance {
		row[kumaMonitors], row[kumaPages] = monitors[row.id("id")], pages[row.id("id")]
	}
	d.joinPages(tables)
	d.proxies = proxiesByID(tables["proxy"])
	for _, row := range tables["setting"] {
		d.settings[row.text("key")] = row.text("value")
	}
}

func (d *kumaData) joinPages(tables map[string][]kumaRow) {
	sortByWeight(tables["group"])
	sortByWeight(tables["monitor_group"])
	members := map[int64][]kumaRow{}
	for _, row := range tables["monitor_group"] {
		members[row.id("group_id")] = append(members[row.id("group_id")], row)
	}
	groups := map[int64][]kumaRow{}
	for _, row := range tables["group"] {
		row[kumaMonitors] = members[row.id("id")]
		groups[row.id("status_page_id")] = append(groups[row.id("status_page_id")], row)
	}
	domains := map[int64][]kumaRow{}
	for _, row := range tables["status_page_cname"] {
		domains[row.id("status_page_id")] = append(domains[row.id("status_page_id")], row)
	}
	for _, row := range d.pages {
		row[kumaGroups], row[kumaDomains] = groups[row.id("id")], domains[row.id("id")]
	}
}

// idsBy returns the ids in a column by those in another.
func idsBy(rows []kumaRow, by, of string) map[int64][]int64 {
	ids := map[int64][]int64{}
	for _, row := range rows {
		ids[row.id(by)] = append(ids[row.id(by)], row.id(of))
	}
	return ids
}

func taggedMonitors(tags, uses []kumaRow) map[int64][]kumaRow {
	names := map[int64]kumaRow{}
	for _, tag := range tags {
		names[tag.id("id")] = tag
	}
	tagged := map[int64][]kumaRow{}
	for _, use := range uses {
		tag := names[use.id("tag_id")]
		row := kumaRow{"tag_id": use["tag_id"], "name": tag.text("name"), "color": tag.text("color"), "value": use.text("value")}
		tagged[use.id("monitor_id")] = append(tagged[use.id("monitor_id")], row)
	}
	return tagged
}
