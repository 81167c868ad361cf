// SPDX-License-Identifier: Apache-2.0

package importer

import "strings"

// mutualTLS carries over the client certificate and the authorities to trust.
func (h *httpImport) mutualTLS() {
	var config Object
	for _, pair := range [][2]string{
		{"tls_ca", "ca_certificates"}, {"tls_cert", "client_certificate"}, {"tls_key", "client_key"},
	} {
		if text := h.monitor.text(pair[0]); strings.TrimSpace(text) != "" {
			config.Set(pair[1], Literal(text))
		}
	}
	if config.Get("client_certificate") == nil || config.Get("client_key") == nil {
		h.lose("auth_method: mtls", "a client certificate needs tls_cert and tls_key")
		h.check.disable()
		config.Delete("client_certificate")
		config.Delete("client_key")
	}
	if len(config) > 0 {
		h.config.Set("tls", config)
	}
}

// oauth2 carries over the client credentials of OAuth 2.
func (h *httpImport) oauth2(authorization bool) {
	if authorization {
		h.lose("auth_method: oauth2-cc", "the request has a header Authorization already, which Kuma sends instead")
		return
	}
	var config Object
	for _, pair := range [][2]string{
		{"oauth_token_url", "token_url"}, {"oauth_client_id", "client_id"}, {"oauth_client_secret", "client_secret"},
	} {
		text := h.monitor.line(pair[0])
		if text == "" {
			h.lose("auth_method: oauth2-cc", "it has no %s", pair[0])
			h.check.disable()
			return
		}
		config.Set(pair[1], Literal(text))
	}
	var scopes []string
	for scope := range strings.FieldsSeq(h.monitor.text("oauth_scopes")) {
		scopes = append(scopes, Literal(scope))
	}
	if len(scopes) > 0 {
		config.Set("scopes", scopes)
	}
	if audience := h.monitor.line("oauth_audience"); audience != "" {
		config.Set("audience", Literal(audience))
	}
	if h.monitor.line("oauth_auth_method") == "client_secret_post" {
		config.Set("client_authentication", "body")
	}
	h.config.Set("oauth2", config)
}
