// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// kumaHTTP is for the types http, keyword and json-query.
func kumaHTTP(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	address, kind, reason := kumaURL(m.line("url"))
	method := strings.ToUpper(m.line("method"))
	if method == "" {
		method = "GET"
	}
	if reason == "" && !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
		reason = fmt.Sprintf("method %q is not one that Vigil sends", m.text("method"))
	}
	if reason != "" {
		return nil, "", reason
	}
	return func(c *Resource) {
		h := &httpImport{check: c, monitor: m, user: address.User}
		address.User = nil
		h.config.Set("url", Literal(address.String()))
		if method != "GET" {
			h.config.Set("method", method)
		}
		h.statuses()
		h.switches()
		h.headers()
		h.body()
		h.content()
		if len(h.assertions) > 0 {
			h.config.Set("assertions", h.assertions)
		}
		h.config.Set("timeout_seconds", c.kumaTimeout(m))
		c.Set("config", h.config)
	}, kind, ""
}

// maxAddress is the longest address of a target, in bytes.
const maxAddress = 2048

// withoutUser returns an address for a report: without what stands before an @ or behind a ?, which
// may be credentials.
func withoutUser(text string) string {
	before, rest, found := strings.Cut(text, "://")
	if !found {
		before, rest = "", text
	} else {
		before += "://"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	return cut(before+rest[:indexOr(rest, "?#")], maxName)
}

// kumaURL reads the address of a monitor.
func kumaURL(text string) (*url.URL, vigil.CheckType, string) {
	address, err := url.Parse(text)
	if err != nil || text == "" || address.Host == "" || address.Opaque != "" || len(text) > maxAddress {
		return nil, "", fmt.Sprintf("url %q is not an address", withoutUser(text))
	}
	kind := vigil.TypeHTTPS
	switch address.Scheme {
	case "http":
		kind = vigil.TypeHTTP
	case "https":
	default:
		return nil, "", fmt.Sprintf("url %q does not begin with http:// or https://", withoutUser(text))
	}
	if _, reason := kumaHost(address.Hostname()); reason != "" {
		return nil, "", reason
	}
	_, port := splitAddress(address.Scheme+"://"+address.Host, 0)
	if !validPort(port) || strings.HasSuffix(address.Host, ":") {
		return nil, "", fmt.Sprintf("url %q has a port that is none", withoutUser(text))
	}
	return address, kind, ""
}

// httpImport makes the config of an HTTP check.
type httpImport struct {
	check      *Resource
	monitor    kumaRow
	user       *url.Userinfo // of the address
	config     Object
	assertions []any
	header     map[string]string
}

func (h *httpImport) lose(what, format string, args ...any) { h.check.Lose(what, format, args...) }

func (h *httpImport) assert(members Object) { h.assertions = append(h.assertions, members) }

// statuses carries over which statuses mean success.
func (h *httpImport) statuses() {
	accepted := parseAccepted(h.monitor.list("accepted_statuscodes_json"))
	for _, text := range accepted.wrong {
		h.lose("accepted_statuscodes: "+text, "it is no status from 100 to 599 and no range of them")
	}
	codes, exact := accepted.codes()
	switch {
	case exact:
		h.config.Set("expected_status_codes", codes)
	case len(accepted.ranges) == 1:
		h.assert(Object{{"source", "status"}, {"operator", "gt"}, {"target", accepted.ranges[0].low - 1}})
		h.assert(Object{{"source", "status"}, {"operator", "lt"}, {"target", accepted.ranges[0].high + 1}})
	default:
		h.lose("accepted_statuscodes: "+h.monitor.shown("accepted_statuscodes_json"),
			"too many statuses; the whole classes are expected, such as 2xx")
		h.config.Set("expected_status_codes", accepted.classes())
	}
}

// switches carries over what is on or off.
func (h *httpImport) switches() {
	const standard = 10
	switch n := h.monitor.whole("maxredirects", standard); {
	case n == 0:
		h.config.Set("follow_redirects", false)
	case n != standard:
		h.lose(fmt.Sprintf("maxredirects: %d", n), "Vigil follows up to %d redirects, or none", standard)
	}
	if h.monitor.flag("ignore_tls", false) {
		h.config.Set("verify_tls", false)
	}
	switch family := strings.ToLower(h.monitor.line("ip_family")); family {
	case "ipv4", "ipv6":
		h.config.Set("ip_version", strings.TrimPrefix(family, "ipv"))
	}
}

// headers carries over the headers and the credentials.
func (h *httpImport) headers() {
	h.header = map[string]string{}
	given := h.monitor.object("headers")
	if text := h.monitor.line("headers"); text != "" && given == nil {
		h.lose("headers", "they are not an object in JSON")
	}
	canonical := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given.text(name)
		switch key := textproto.CanonicalMIMEHeaderKey(name); {
		case !isHeaderName(name) || framingHeader(key):
			h.lose("header "+name, "a check cannot set it")
		case canonical[key]:
			h.lose("header "+name, "it is given twice")
		case !isHeaderValue(value) || key == "Host" && !isHostHeader(value):
			h.lose("header "+name, "its value is none that can be sent")
		default:
			h.header[name], canonical[key] = value, true
		}
	}
	h.credentials(canonical["Authorization"])
}

// credentials sets basic_auth or the header Authorization. A header that is given wins, as
// it does in Kuma.
func (h *httpImport) credentials(given bool) {
	m := h.monitor
	method := m.line("auth_method")
	user, password := m.text("basic_auth_user"), m.text("basic_auth_pass")
	if method == "" && h.user != nil {
		method, user = "basic", h.user.Username()
		password, _ = h.user.Password()
	}
	switch {
	case method == "" || given && (method == "basic" || method == "bearer"):
	case method == "basic" && (strings.Contains(user, ":") || len(user) > 256 || len(password) > 1024):
		h.header["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
	case method == "basic" && user == "" && password == "":
	case method == "basic":
		auth := Object{{"username", Literal(user)}}
		if password != "" {
			auth.Set("password", Literal(password))
		}
		h.config.Set("basic_auth", auth)
	case method == "bearer" && m.line("bearer_token") != "" && isHeaderValue(m.line("bearer_token")):
		h.header["Authorization"] = "Bearer " + m.line("bearer_token")
	case method == "mtls":
		h.mutualTLS()
	case method == "oauth2-cc":
		h.oauth2(given)
	default:
		h.lose("auth_method: "+method, "a check authenticates with basic_auth, oauth2, a client certificate or headers")
		h.check.disable()
	}
	h.setHeaders()
}

func (h *httpImport) setHeaders() {
	const most = 50
	var headers Object
	for _, name := range slices.Sorted(maps.Keys(h.header)) {
		if len(headers) == most {
			h.lose("header "+name, "a check has at most %d headers", most)
			continue
		}
		headers.Set(name, Literal(h.header[name]))
	}
	if len(headers) > 0 {
		h.config.Set("headers", headers)
	}
}

// body carries over the body with the Content-Type of its encoding.
func (h *httpImport) body() {
	const longest = 100_000
	body := h.monitor.text("body")
	if strings.TrimSpace(body) == "" {
		return
	}
	if len(body) > longest {
		h.lose("body", "a body has at most %d bytes", longest)
		return
	}
	kind := ""
	switch encoding := h.monitor.line("http_body_encoding"); encoding {
	case "", "json":
		kind = "application/json"
	case "form":
		kind = "application/x-www-form-urlencoded"
	case "xml":
		kind = "text/xml; charset=utf-8"
	default:
		h.lose("http_body_encoding: "+encoding, "the body is sent without a Content-Type")
	}
	for name := range h.header {
		if strings.EqualFold(name, "Content-Type") {
			kind = ""
		}
	}
	if kind != "" {
		h.header["Content-Type"] = kind
		h.setHeaders()
	}
	h.config.Set("body", Literal(body))
}

// content carries over what the answer must hold.
func (h *httpImport) content() {
	m := h.monitor
	switch m.line("type") {
	case "keyword":
		operator, keyword := "contains", m.text("keyword")
		inverted, ofJSON := m.flag("invert_keyword", false), jsonPart.MatchString(keyword)
		switch {
		case inverted:
			if operator = "not_contains"; ofJSON {
				h.lose("invert_keyword: "+keyword, "Kuma searches JSON without the spaces between its parts, and here the body is searched as it is")
			}
		case ofJSON:
			operator, keyword = "matches", spacedJSON(keyword)
		}
		if keyword != "" {
			h.assert(Object{{"source", "body"}, {"operator", operator}, {"target", Literal(keyword)}})
		}
	case "json-query":
		h.jsonQuery()
	}
}

var (
	// jsonPart is a text that may be a part of JSON with more than one of its tokens.
	jsonPart = regexp.MustCompile(`^[^\\]*"[^\\]*$|^[{\[:,][^\\]*$`)
	// jsonMark is a mark of JSON around which there may be spaces, as regexp.QuoteMeta writes it.
	jsonMark = regexp.MustCompile(`\\?[{}\[\]:,]`)
)

// spacedJSON returns a pattern for a part of JSON: Kuma parses a body that is JSON, and searches what it makes of it
// again, which has no spaces between its tokens.
func spacedJSON(keyword string) string {
	const spaces = `\s*`
	pattern := jsonMark.ReplaceAllString(regexp.QuoteMeta(keyword), spaces+"$0"+spaces)
	pattern = strings.ReplaceAll(pattern, spaces+spaces, spaces)
	return strings.TrimSuffix(strings.TrimPrefix(pattern, spaces), spaces)
}

// isHeaderName reports whether a text is a token of RFC 9110 that can be the name of a header.
func isHeaderName(text string) bool {
	return text != "" && len(text) <= 256 && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isHeaderValue(text string) bool {
	return len(text) <= 8<<10 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func isHostHeader(text string) bool {
	return text != "" && len(text) <= 255 && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:[]", r)
	})
}

// framingHeader reports whether a header is the program's own: it says where a message ends.
func framingHeader(canonical string) bool {
	return slices.Contains([]string{
		"Connection", "Content-Length", "Expect", "Http2-Settings", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade",
	}, canonical)
}
