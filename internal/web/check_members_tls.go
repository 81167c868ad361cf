// SPDX-License-Identifier: Apache-2.0

package web

// tlsMembers is the member tls of the types that speak TLS.
func tlsMembers() member {
	return member{name: "tls", label: "TLS", input: asGroup, place: placeMore, members: []member{
		{
			name:  "server_name",
			label: "Server name",
			mono:  true,
			help:  "To ask for, and to verify the certificate against. The host, when it is empty.",
		},
		{
			name: "ca_certificates", label: "Authorities", input: asArea, mono: true, sample: "-----BEGIN CERTIFICATE-----",
			help: "Trusted instead of those of the region's machine: certificates in PEM.",
		},
		{
			name: "client_certificate", label: "Client certificate", input: asArea, mono: true, sample: "-----BEGIN CERTIFICATE-----",
			help: "Shown to a server that asks for one: PEM, with the intermediates below it.",
		},
		{
			name:  "client_key",
			label: "Client key",
			input: asSecretArea,
			mono:  true,
			help:  "The private key of the client certificate: PEM, without a passphrase.",
		},
	}}
}

// loginMember is a user name with a password.
func loginMember(name, label, place string) member {
	return member{name: name, label: label, input: asGroup, place: place, members: []member{
		{name: "username", label: "User name", width: "medium"},
		{name: "password", label: "Password", input: asSecret, width: "medium"},
	}}
}

func oauth2Member() member {
	return member{name: "oauth2", label: "OAuth 2 client credentials", input: asGroup, place: placeRequest, members: []member{
		{name: "token_url", label: "Token endpoint", mono: true, sample: "https://id.example.com/oauth2/token"},
		{name: "client_id", label: "Client ID", width: "medium"},
		{name: "client_secret", label: "Client secret", input: asSecret, width: "medium"},
		{name: "scopes", label: "Scopes", input: asLines, mono: true, help: "One a line."},
		{name: "audience", label: "Audience", mono: true, help: "Only for servers that want one."},
		{
			name: "client_authentication", label: "Credentials are sent in", input: asChoice, standard: "header", width: "medium",
			choices: words("header", "the header", "body", "the body"),
		},
	}}
}

func verifyMember() member {
	return member{name: "verify_tls", label: "Fail when the certificate is not valid", input: asSwitch, place: placeMore, standard: "true"}
}

func grpcMembers() []member {
	return []member{
		hostMember("api.example.com"),
		portMember("443", ""),
		{
			name: "service", label: "Service", place: placeAddress, mono: true, sample: "shop.v1.Orders",
			help: "As the server names it. The server as a whole, when it is empty.",
		},
		{
			name: "security", label: "Security", input: asChoice, place: placeAddress, standard: "tls", width: "medium",
			choices: words("tls", "TLS", "none", "none"),
		},
		{name: "headers", label: "Metadata", input: asPairs, place: placeRequest, mono: true, add: "Add metadata", help: "Sent with the call."},
		verifyMember(),
		tlsMembers(),
		timeoutMember(""),
	}
}

func webSocketMembers() []member {
	return []member{
		{name: "url", label: "Address", place: placeAddress, mono: true, sample: "wss://www.example.com/live"},
		{name: "headers", label: "Headers", input: asPairs, place: placeRequest, mono: true, add: "Add header", help: "Sent with the handshake."},
		{
			name: "subprotocols", label: "Subprotocols", input: asLines, place: placeRequest, mono: true, sample: "graphql-transport-ws",
			help: "One a line, the best first; the server must choose one of them.",
		},
		{
			name: "send", label: "Send this message", input: asArea, place: placeExpect, mono: true,
			help: "Once the connection is open. Nothing is sent when it is empty.",
		},
		{
			name:  "expect",
			label: "Text that must come back",
			place: placeExpect,
			mono:  true,
			help:  "In one of the messages, within their first 64 KiB.",
		},
		verifyMember(),
		tlsMembers(),
		timeoutMember(""),
	}
}

func domainMembers() []member {
	return []member{
		{
			name: "domain", label: "Domain", place: placeAddress, mono: true, sample: "example.com",
			help: "Of a name below it, the part that is registered counts.",
		},
		{
			name: "alert_days_before", label: "Fail this many days before the registration expires", input: asNumber, place: placeExpect,
			sample: "30", width: "short",
		},
		{
			name: "rdap_server", label: "RDAP server", place: placeMore, mono: true, sample: "https://rdap.example.com/",
			help: "Its base URL. The one that IANA lists for the domain, when it is empty.",
		},
		timeoutMember(""),
	}
}
