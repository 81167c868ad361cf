// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

func (e *gatusEndpoint) readHTTP(kind vigil.CheckType) {
	e.kind = kind
	target := e.target()
	auth := e.config.Get("basic_auth")
	e.config.Delete("basic_auth")
	e.config.Set("url", e.g.fileText(target))
	method, _ := e.scalar("method")
	method = strings.ToUpper(method)
	if !slices.Contains([]string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
		e.missing = "method " + method
		return
	}
	if method != "" && method != "GET" {
		e.config.Set("method", method)
	}
	headers := e.headers()
	body := e.body()
	if e.on("graphql") {
		body = e.graphQL(body)
		if !hasHeader(headers, "Content-Type") {
			headers.Set("Content-Type", "application/json")
		}
	}
	switch {
	case auth == nil:
	case hasHeader(headers, "Authorization"):
		e.lose("url", "its user is left out, since headers has Authorization")
	default:
		e.config.Set("basic_auth", auth)
	}
	if len(headers) > 0 {
		e.config.Set("headers", headers)
	}
	if body != "" {
		e.config.Set("body", body)
	}
	if e.client.on("insecure") {
		e.config.Set("verify_tls", false)
	}
	if e.client.on("ignore-redirect") {
		e.config.Set("follow_redirects", false)
	}
	e.readClientOfHTTP()
	e.httpConditions()
}

func (e *gatusEndpoint) headers() Object {
	var headers Object
	for _, one := range e.texts("headers") {
		headers.Set(one.name, e.g.fileText(e.context(one.value.text)))
	}
	return headers
}

func hasHeader(headers Object, name string) bool {
	return slices.ContainsFunc(headers, func(m Member) bool { return strings.EqualFold(m.Name, name) })
}

// body is the body of a request in the form of the files. What Gatus replaces by the
// endpoint's own members is replaced here.
func (e *gatusEndpoint) body() string {
	body := e.context(e.marked("body"))
	if body == "" {
		return ""
	}
	body = strings.NewReplacer("[ENDPOINT_NAME]", e.name, "[ENDPOINT_GROUP]", e.group, "[ENDPOINT_URL]", e.url).Replace(body)
	if found := regexp.MustCompile(`\[RANDOM_STRING_\d+\]`).FindString(body); found != "" {
		e.lose("body: "+found, "the body has no random part and is sent as it is written")
	}
	if strings.Contains(body, "[LOCAL_ADDRESS]") {
		e.lose("body: [LOCAL_ADDRESS]", "a check does not know the address that it is sent from, and the body is sent as it is written")
	}
	return e.g.fileText(body)
}

// graphQL wraps a query as Gatus does.
func (e *gatusEndpoint) graphQL(query string) string {
	if hasVariable(query) {
		e.lose("graphql", "the value of a variable in the query must be escaped for JSON")
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(map[string]string{"query": query}) // a text always has a form in JSON
	return strings.TrimSpace(out.String())
}
