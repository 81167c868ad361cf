// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// readGRPC reads grpc:// and grpcs://: Gatus, too, asks for the health of the whole server.
func (e *gatusEndpoint) readGRPC(scheme, rest string) {
	e.kind = vigil.TypeGRPC
	host, port, ok := e.hostPort(rest)
	if !ok {
		return
	}
	e.config.Set("host", host)
	e.config.Set("port", port)
	if scheme == "grpc" {
		e.config.Set("security", "none")
	}
	e.readClientTLS()
	if e.client.on("insecure") && scheme == "grpcs" {
		e.config.Set("verify_tls", false)
	}
	e.ignoreRedirect()
	e.take("body") // Gatus sends neither
	e.take("headers")
	e.eachCondition(func(c condition) bool { // what every check of this type demands
		return c.source == sourceBody && strings.EqualFold(c.property, "status") && c.function == "" && c.is("SERVING")
	})
}

// readWebSocket reads ws:// and wss://. Gatus sends the body as a message and reads one.
func (e *gatusEndpoint) readWebSocket() {
	e.kind = vigil.TypeWebSocket
	e.config.Set("url", e.g.fileText(e.url))
	if headers := e.headers(); len(headers) > 0 {
		e.config.Set("headers", headers)
	}
	if body := e.body(); body != "" {
		e.config.Set("send", body)
	}
	if e.client.on("insecure") {
		e.config.Set("verify_tls", false)
	}
	e.ignoreRedirect()
	e.eachCondition(e.tcpCondition)
}

// readClientOfHTTP carries over what an HTTP check has of the client: OAuth 2 and the proxy.
func (e *gatusEndpoint) readClientOfHTTP() {
	e.readClientTLS()
	if oauth := e.client.inner("oauth2"); oauth != nil {
		e.readOAuth2(oauth)
	}
	if proxy := e.client.marked("proxy-url"); proxy != "" {
		e.readProxy(proxy)
	}
}

// readProxy carries over the address of a proxy, and the user in it.
func (e *gatusEndpoint) readProxy(proxy string) {
	rest, ok := strings.CutPrefix(strings.TrimSuffix(proxy, "/"), "http://")
	if !ok && !marked(proxy) {
		e.lose("client.proxy-url", "the proxy of a check has an address that begins with http://")
		e.unreachable = true
		return
	}
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		user, password, _ := strings.Cut(rest[:at], ":")
		auth := Object{{"username", e.g.fileText(unescaped(user))}}
		if password != "" {
			auth.Set("password", e.g.fileText(unescaped(password)))
		}
		e.config.Set("proxy_auth", auth)
		rest = rest[at+1:]
	}
	if ok {
		proxy = "http://" + rest
	}
	e.config.Set("proxy", e.g.fileText(proxy))
}

func (e *gatusEndpoint) readOAuth2(oauth *members) {
	var config Object
	for _, pair := range [][2]string{{"token-url", "token_url"}, {"client-id", "client_id"}, {"client-secret", "client_secret"}} {
		given := oauth.marked(pair[0])
		if given == "" {
			e.lose("client.oauth2", "it has no %s", pair[0])
			e.unreachable = true
			oauth.take("scopes")
			return
		}
		config.Set(pair[1], e.g.fileText(given))
	}
	var scopes []string
	for _, one := range oauth.list("scopes") {
		scopes = append(scopes, e.g.fileText(one.text))
	}
	oauth.finish()
	if len(scopes) > 0 {
		config.Set("scopes", scopes)
	}
	// Gatus replaces any other Authorization by the token.
	e.config.Delete("basic_auth")
	if headers, ok := e.config.Get("headers").(Object); ok {
		headers = slices.DeleteFunc(headers, func(m Member) bool { return strings.EqualFold(m.Name, "Authorization") })
		if e.config.Set("headers", headers); len(headers) == 0 {
			e.config.Delete("headers")
		}
	}
	e.config.Set("oauth2", config)
}
