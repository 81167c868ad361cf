package importer

import (
	"strings"

	"vigil"
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
	e.drop("the check asks for the health only", "body", "headers")
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
	e.readClientTLS()
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
	switch proxy := e.client.marked("proxy-url"); {
	case proxy == "":
	case !strings.HasPrefix(proxy, "http://") || strings.Contains(proxy, "@"):
		e.lose("client.proxy-url", "the proxy of a check has an address that begins with http://, and its credentials are in proxy_auth")
		e.unreachable = true
	default:
		e.config.Set("proxy", e.g.fileText(strings.TrimSuffix(proxy, "/")))
	}
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
	if e.config.Get("basic_auth") != nil || hasHeader(e.headers(), "Authorization") {
		e.lose("client.oauth2", "the request has another Authorization already")
		return
	}
	e.config.Set("oauth2", config)
}
