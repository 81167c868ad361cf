// SPDX-License-Identifier: Apache-2.0

package web

import (
	"slices"
	"sync"
)

// entry is how a member of a config is entered.
type inputKind int

const (
	asText inputKind = iota
	asArea           // text of several lines
	asNumber
	asSecret
	asSecretArea // a secret of several lines
	asSwitch     // true or false
	asDecision   // true, false or left out
	asChoice
	asLines    // a list, one item a line
	asStatuses // a list in one line: 200, 204, 3xx
	asTarget   // what an assertion compares with
	asPairs    // an object of names and texts, as rows
	asGroup    // an object with members of its own
	asRows     // a list of objects
	asConfig   // the config of a step, by its type
)

// Places of a form that a member stands in.
const (
	placeAddress = "address" // what is probed
	placeTime    = "time"    // beside the interval
	placeRequest = "request" // what is sent along
	placeExpect  = "expect"  // what the answer must be like
	placeMore    = "more"    // what few need
)

// member is a member of a config as the form shows it. Limits and whether it is required
// are not here: the API says what is wrong.
type member struct {
	name, label, help string
	input             inputKind
	place             string
	sample            string   // shown in the empty field
	mono              bool     // what a machine reads
	width             string   // a class of the stylesheet: short, medium or empty
	standard          string   // what an absent member means, where the form shows it
	choices           []option // of asChoice
	members           []member // of asGroup and asRows
	add               string   // text of the button that adds a row
}

// formType is a tile of the form.
type formType struct {
	name, text string
	members    []member
}

// formTypes lists the types in the order of the tiles. The list is never changed.
var formTypes = sync.OnceValue(func() []formType { //nolint:gochecknoglobals // made once: every field asks for it
	return []formType{
		{name: "https", text: "Status, body, phases", members: httpMembers("https://")},
		{name: "http", text: "Plain HTTP", members: httpMembers("http://")},
		{name: "http3", text: "Over QUIC", members: httpMembers("https://")},
		{name: "tcp", text: "A port answers", members: tcpMembers()},
		{name: "websocket", text: "A message comes back", members: webSocketMembers()},
		{name: "grpc", text: "Health of a service", members: grpcMembers()},
		{name: "ping", text: "ICMP round trip", members: pingMembers()},
		{name: "dns", text: "Records", members: dnsMembers()},
		{name: "ssl", text: "Certificate and chain", members: sslMembers()},
		{name: "domain", text: "Registration of a name", members: domainMembers()},
		{name: "smtp-imap", text: "A mail arrives", members: mailMembers()},
		{name: "throughput", text: "Speed of a download", members: throughputMembers()},
		{name: "multistep", text: "Step by step", members: multistepMembers()},
	}
})

// membersOf returns the members of a type's config, none for an unknown type.
func membersOf(name string) []member {
	all := formTypes()
	if i := slices.IndexFunc(all, func(t formType) bool { return t.name == name }); i >= 0 {
		return all[i].members
	}
	return nil
}

// words makes the choices of a member, by their values with their texts in turn.
func words(pairs ...string) []option {
	list := make([]option, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, option{Value: pairs[i], Text: pairs[i+1]})
	}
	return list
}

// asThey makes choices that are shown as the API names them.
func asThey(values ...string) []option {
	list := make([]option, len(values))
	for i, value := range values {
		list[i] = option{Value: value, Text: value}
	}
	return list
}

func timeoutMember(help string) member {
	return member{
		name:   "timeout_seconds",
		label:  "Timeout, in seconds",
		help:   help,
		input:  asNumber,
		place:  placeTime,
		sample: "10",
		width:  "short",
	}
}

func hostMember(sample string) member {
	return member{name: "host", label: "Host", place: placeAddress, mono: true, sample: sample, help: "A name or an IP address."}
}

func portMember(sample, help string) member {
	return member{name: "port", label: "Port", help: help, input: asNumber, place: placeAddress, mono: true, width: "short", sample: sample}
}

func httpMembers(scheme string) []member {
	return []member{
		{
			name: "method", label: "Method", input: asChoice, place: placeAddress, width: "short", standard: "GET",
			choices: asThey("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
		},
		{name: "url", label: "Address", place: placeAddress, mono: true, sample: scheme + "www.example.com/"},
		{
			name: "headers", label: "Headers", input: asPairs, place: placeRequest, mono: true, add: "Add header",
			help: "Sent with the request, not to another host that a redirect leads to.",
		},
		{name: "body", label: "Body", input: asArea, place: placeRequest, mono: true},
		{name: "body_secret", label: "The body is a secret", input: asSwitch, place: placeRequest, standard: "false"},
		loginMember("basic_auth", "Basic authentication", placeRequest),
		oauth2Member(),
		{
			name: "assertions", label: "The answer must be like this", input: asRows, place: placeExpect, add: "Add assertion",
			members: assertionMembers(),
		},
		timeoutMember(""),
		{
			name: "expected_status_code", label: "Expected status", input: asNumber, place: placeMore, sample: "200", width: "short",
			help: "200, unless an assertion on the status says otherwise.",
		},
		{
			name: "expected_status_codes", label: "Or one of these", input: asStatuses, place: placeMore, mono: true, sample: "200, 204, 3xx",
			width: "medium",
		},
		ipVersionMember(),
		{name: "follow_redirects", label: "Follow up to 10 redirects", input: asSwitch, place: placeMore, standard: "true"},
		{
			name:     "allow_http_redirect",
			label:    "Redirects may end on plain HTTP (https only)",
			input:    asSwitch,
			place:    placeMore,
			standard: "false",
		},
		{name: "cookies", label: "Keep cookies between redirects", input: asSwitch, place: placeMore, standard: "true"},
		{name: "stream", label: "The answer does not end", input: asSwitch, place: placeMore, standard: "false"},
		{name: "max_body_bytes", label: "Bytes of the body to read", input: asNumber, place: placeMore, sample: "1048576", width: "short"},
		verifyMember(),
		tlsMembers(),
		{
			name: "proxy", label: "HTTP proxy", place: placeMore, mono: true, sample: "http://proxy.example.com:3128",
			help: "To go through. Not for http3.",
		},
		loginMember("proxy_auth", "Authentication with the proxy", placeMore),
	}
}

func ipVersionMember() member {
	return member{
		name: "ip_version", label: "IP version", input: asChoice, place: placeMore, width: "short", standard: "any",
		choices: words("any", "any", "4", "IPv4", "6", "IPv6"),
	}
}

func assertionMembers() []member {
	return []member{
		{name: "source", label: "What is looked at", input: asChoice, width: "medium", choices: words(
			"status", "Status", "json", "JSON value", "json_length", "Length of a JSON value", "body", "Body", "header", "Header",
			"url", "Final address", "protocol", "Protocol", "response_time", "Response time, ms", "cert_days", "Certificate, days",
		)},
		{
			name: "property", label: "Header or JSONPath", mono: true, width: "medium", sample: "$.status",
			help: "The name of a header, or the JSONPath of a value; only for these.",
		},
		{name: "operator", label: "How it is compared", input: asChoice, width: "medium", choices: words(
			"eq", "is", "ne", "is not", "lt", "is below", "gt", "is above", "contains", "contains", "not_contains", "does not contain",
			"matches", "matches (RE2)", "exists", "exists",
		)},
		{name: "target", label: "Value", input: asTarget, mono: true},
	}
}

func tcpMembers() []member {
	return []member{
		hostMember("db.example.com"),
		portMember("5432", ""),
		{
			name:  "send",
			label: "Send this text",
			input: asArea,
			place: placeExpect,
			mono:  true,
			help:  "Once connected. Nothing is sent when it is empty.",
		},
		{name: "expect", label: "Text that must come back", place: placeExpect, mono: true, help: "Anywhere in the first 64 KiB."},
		{
			name: "security", label: "Security", input: asChoice, place: placeMore, standard: "none", width: "medium",
			choices: words("none", "none", "tls", "TLS"),
		},
		verifyMember(),
		tlsMembers(),
		timeoutMember(""),
	}
}

func pingMembers() []member {
	return []member{
		hostMember("example.com"),
		{
			name: "max_packet_loss_percent", label: "Packets that may be lost, in percent", input: asNumber, place: placeExpect, sample: "0",
			width: "medium",
		},
		{name: "packet_count", label: "Packets", input: asNumber, place: placeMore, sample: "3", width: "short"},
		ipVersionMember(),
		timeoutMember(""),
	}
}

func dnsMembers() []member {
	return []member{
		{
			name: "record_type", label: "Records", input: asChoice, place: placeAddress, width: "short", standard: "A",
			choices: asThey("A", "AAAA", "CNAME", "MX", "NS", "TXT", "SOA", "SRV", "CAA", "PTR"),
		},
		{name: "host", label: "Name to look up", place: placeAddress, mono: true, sample: "example.com", help: "For PTR also an IP address."},
		{
			name: "expected_values", label: "Expected values", input: asLines, place: placeExpect, mono: true,
			help: "One a line, as a zone file writes them; TXT without quotes.",
		},
		{name: "match", label: "Which of them", input: asChoice, place: placeExpect, width: "medium", standard: "any", choices: words(
			"any", "at least one is there", "all", "every one is there", "exact", "they and no others are there",
		)},
		{
			name: "expected_rcode", label: "Response code", input: asChoice, place: placeExpect, width: "medium", standard: "NOERROR",
			choices: asThey(
				"NOERROR", "NODATA", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET", "NOTAUTH", "NOTZONE",
				"DSOTYPENI", "RCODE12", "RCODE13", "RCODE14", "RCODE15", "BADVERS", "BADKEY", "BADTIME", "BADMODE", "BADNAME", "BADALG", "BADTRUNC",
				"BADCOOKIE",
			),
		},
		{
			name: "resolvers", label: "Name servers", input: asLines, place: placeMore, mono: true, sample: "1.1.1.1",
			help: "One IP address or host name a line, with or without a port; the first that answers is enough. " +
				"Without one, those of the region's machine.",
		},
		{
			name: "protocol", label: "Ask over", input: asChoice, place: placeMore, width: "medium", standard: "udp",
			choices: words("udp", "UDP", "tcp", "TCP", "tls", "TLS (RFC 7858)"),
		},
		timeoutMember("For all name servers together."),
	}
}

func sslMembers() []member {
	return []member{
		hostMember("example.com"), portMember("443", ""),
		{
			name: "alert_days_before", label: "Fail this many days before the certificate expires", input: asNumber, place: placeExpect,
			sample: "14", width: "short",
		},
		{
			name: "server_name", label: "Server name", place: placeMore, mono: true,
			help: "To ask for, and to verify the certificate against. The host, when it is empty.",
		},
		tlsMembers(),
		timeoutMember(""),
		{name: "verify_tls", label: "Fail when the certificate is not valid", input: asSwitch, place: placeMore, standard: "true"},
	}
}

func throughputMembers() []member {
	return []member{
		{
			name: "direction", label: "Direction", input: asChoice, place: placeAddress, width: "medium", standard: "download",
			choices: asThey("download", "upload"),
		},
		{name: "url", label: "Address", place: placeAddress, mono: true, sample: "https://www.example.com/10MB.bin"},
		{
			name: "min_mbps", label: "Slowest rate that passes, in Mbit/s", input: asNumber, place: placeExpect, width: "short",
			help: "Every rate passes when it is empty.",
		},
		{name: "max_bytes", label: "Most bytes", input: asNumber, place: placeMore, sample: "10485760", width: "medium"},
		{
			name:   "max_duration_seconds",
			label:  "Longest measurement, in seconds",
			input:  asNumber,
			place:  placeMore,
			sample: "10",
			width:  "medium",
		},
		tlsMembers(),
		timeoutMember("Besides the measurement."),
	}
}

func mailMembers() []member {
	return []member{
		{name: "smtp", label: "Server that takes mail (SMTP)", input: asGroup, place: placeAddress, members: append(serverMembers(
			"smtp.example.com", "587", "starttls",
		), member{name: "helo_name", label: "Name given in EHLO", width: "medium", mono: true, sample: "probe.example.com"})},
		{name: "imap", label: "Server that keeps mail (IMAP)", input: asGroup, place: placeAddress, members: append(serverMembers(
			"imap.example.com", "993", "tls",
		), member{name: "mailbox", label: "Mailbox", width: "medium", sample: "INBOX"})},
		{name: "from", label: "Sender", place: placeAddress, mono: true, sample: "probe@example.com", width: "half"},
		{
			name: "to", label: "Receiver", place: placeAddress, mono: true, sample: "inbox@example.com", width: "half",
			help: "Whose mailbox the IMAP server keeps.",
		},
		{
			name:   "max_delivery_seconds",
			label:  "The message may take, in seconds",
			input:  asNumber,
			place:  placeExpect,
			sample: "60",
			width:  "short",
			help:   "What the interval leaves, at most 60, when it is empty.",
		},
		{
			name: "round_trip", label: "Send a message and wait for it", input: asDecision, place: placeMore, width: "medium",
			help: "It is marked, and deleted once it has arrived.",
		},
		timeoutMember("For each server, besides the delivery."),
	}
}

func serverMembers(host, port, security string) []member {
	return []member{
		{name: "host", label: "Host", mono: true, sample: host},
		{name: "port", label: "Port", input: asNumber, mono: true, sample: port, width: "short"},
		{
			name: "security", label: "Security", input: asChoice, standard: security, width: "medium",
			choices: words("starttls", "STARTTLS", "tls", "TLS", "none", "none"),
		},
		{name: "username", label: "User name", width: "half"},
		{name: "password", label: "Password", input: asSecret, width: "half"},
		{name: "verify_tls", label: "Fail when the certificate is not valid", input: asSwitch, standard: "true"},
		{name: "server_name", label: "Server name of the certificate", mono: true, help: "The host, when it is empty."},
		tlsMembers(),
	}
}

func multistepMembers() []member {
	return []member{{
		name: "steps", label: "Steps", input: asRows, place: placeAddress, add: "Add step", members: []member{
			{name: "name", label: "Name", sample: "log in", width: "medium"},
			{name: "type", label: "Type", input: asChoice, width: "medium", choices: asThey(
				"https", "http", "http3", "tcp", "websocket", "grpc", "ping", "dns", "ssl", "domain", "smtp-imap", "throughput",
			)},
			{name: "config", input: asConfig},
			{name: "extract", label: "Keep for later steps", input: asRows, add: "Keep a value", members: []member{
				{
					name:   "name",
					label:  "Name",
					mono:   true,
					sample: "token",
					width:  "medium",
					help:   "A later step writes {{name}} in its address, headers or body.",
				},
				{name: "source", label: "Where it is", input: asChoice, width: "medium", choices: words(
					"json", "JSON value", "header", "Header", "body", "Body", "status", "Status",
				)},
				{name: "property", label: "JSONPath, header or RE2", mono: true, sample: "$.token"},
			}},
		},
	}}
}
