// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

var _ = addFixture(fixtureHTTP)

// fixtureHTTP is the fixture of the http type.
func fixtureHTTP(f *world) fixture {
	return webFixture(vigil.TypeHTTP, f.http(echo), "http://"+tcp(f, drain))
}

var _ = addFixture(fixtureHTTPS)

// fixtureHTTPS is the fixture of the https type.
func fixtureHTTPS(f *world) fixture {
	return webFixture(vigil.TypeHTTPS, f.https(f.authority.Issue(f), echo), "https://"+tcp(f, drain))
}

// repeatAll answers with the credentials that it is given, in the spellings of
// spell: each in a header and in a member of the body.
func repeatAll(spell func(string) string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		said := map[string]string{"Password": spell(password), "Header": spell(r.Header.Get("X-Auth-Token"))}
		for name, text := range said {
			w.Header().Set("X-"+name, text)
		}
		_ = json.NewEncoder(w).Encode(said)
	}
}

func webFixture(kind vigil.CheckType, url, silent string) fixture {
	common := object{
		"headers":    object{"X-Api-Key": "key-4711", "Cookie": "session=biscuit"},
		"basic_auth": object{"username": "ann", "password": "hunter2"},
	}
	with := func(more object) object {
		for name, value := range common {
			more[name] = value
		}
		return more
	}
	return fixture{
		kind:    kind,
		healthy: with(object{"url": url + "/ok?token=query-secret"}),
		failing: with(object{"url": url + "/echo?token=query-secret", "assertions": []object{
			{"source": "body", "operator": "contains", "target": "not there"},
			{"source": "header", "property": "X-Echo", "operator": "eq", "target": "nothing"},
			{"source": "json", "property": "$.all", "operator": "eq", "target": "nothing"},
		}}),
		silent:  with(object{"url": silent + "/?token=query-secret"}),
		secrets: []string{"key-4711", "biscuit", "hunter2", "YW5uOmh1bnRlcjI=", "query-secret"},
	}
}

// echo repeats the credentials it is given, as a careless target might.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/ok" {
		return
	}
	all := strings.Join([]string{r.Header.Get("X-Api-Key"), r.Header.Get("Cookie"), r.Header.Get("Authorization")}, " ")
	w.Header().Set("X-Echo", all)
	_, _ = io.WriteString(w, `{"all": "`+all+`"}`)
}

// site answers what the tests of http ask for, by path.
func site(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.Path; path {
	case "/500":
		w.WriteHeader(http.StatusInternalServerError)
	case "/999":
		w.WriteHeader(999)
	case "/204":
		w.WriteHeader(http.StatusNoContent)
	case "/moved":
		http.Redirect(w, r, "/ok", http.StatusMovedPermanently)
	case "/loop":
		http.Redirect(w, r, "/loop", http.StatusFound)
	case "/private":
		http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusFound)
	case "/nowhere":
		w.Header().Set("Location", "http://[::bad")
		w.WriteHeader(http.StatusFound)
	case "/big":
		_, _ = io.CopyN(w, endless('x'), 3<<20)
	case "/bomb":
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, _ = io.CopyN(packed, endless(0), 512<<20)
		_ = packed.Close()
	case "/method":
		if r.Method != http.MethodPut {
			w.WriteHeader(http.StatusTeapot)
		}
	case "/body":
		_, _ = io.Copy(w, r.Body)
	case "/auth":
		if user, password, _ := r.BasicAuth(); user != "ann" || password != "hunter2" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	case "/host":
		_, _ = io.WriteString(w, r.Host)
	case "/cut":
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "short")
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
}

// endless is a body without an end.
type endless byte

func (e endless) Read(into []byte) (int, error) {
	for i := range into {
		into[i] = byte(e)
	}
	return len(into), nil
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t, egress.WithNameServer(probetest.NameServer(t, rcode(dns.RcodeNameError))))
	url := w.http(site)
	closed := closedPort(t)
	for name, c := range map[string]struct {
		config object
		status int
		reason string // empty: success
	}{
		"StatusOKIsExpected": {object{"url": url + "/ok"}, 200, ""},
		"OtherStatusFails":   {object{"url": url + "/500"}, 500, "status 500, expected 200"},
		"OneStatus":          {object{"url": url + "/500", "expected_status_code": 500}, 500, ""},
		"StatusOfNoClass":    {object{"url": url + "/999", "expected_status_code": 999}, 999, ""},
		"StatusesOfNoClass":  {object{"url": url + "/999", "expected_status_codes": []any{200, 999}}, 999, ""},
		"StatusClass":        {object{"url": url + "/204", "expected_status_codes": []any{200, "2xx"}}, 204, ""},
		"StatusClassFails": {
			object{"url": url + "/500", "expected_status_codes": []any{"2xx", 404}},
			500,
			"status 500, expected 2xx or 404",
		},
		"RedirectIsFollowed":  {object{"url": url + "/moved"}, 200, ""},
		"RedirectIsTheAnswer": {object{"url": url + "/moved", "follow_redirects": false, "expected_status_code": 301}, 301, ""},
		"RedirectLoopEnds":    {object{"url": url + "/loop"}, 302, "stopped after 10 redirects"},
		"RedirectIsJudged": {
			object{"url": url + "/private"},
			0,
			"169.254.169.254:80 is a cloud metadata address, which is never reached",
		},
		"RedirectToNoAddress": {object{"url": url + "/nowhere"}, 0, "the address of the redirect is not valid"},
		"Method":              {object{"url": url + "/method", "method": "PUT"}, 200, ""},
		"Head":                {object{"url": url + "/big", "method": "HEAD"}, 200, ""},
		"BasicAuth":           {object{"url": url + "/auth", "basic_auth": object{"username": "ann", "password": "hunter2"}}, 200, ""},
		"Body": {
			object{
				"url":        url + "/body",
				"method":     "POST",
				"body":       "abc",
				"assertions": []object{{"source": "body", "operator": "eq", "target": "abc"}},
			},
			200,
			"",
		},
		"HostHeader": {
			object{
				"url":        url + "/host",
				"headers":    object{"host": "virtual.test"},
				"assertions": []object{{"source": "body", "operator": "eq", "target": "virtual.test"}},
			},
			200,
			"",
		},
		"StatusAssertionDecides": {
			object{"url": url + "/500", "assertions": []object{{"source": "status", "operator": "eq", "target": 500}}},
			500,
			"",
		},
		"BigBodyIsNotAFailure": {object{"url": url + "/big"}, 200, ""},
		"BombIsNotAFailure":    {object{"url": url + "/bomb"}, 200, ""},
		"BodyIsCut":            {object{"url": url + "/cut"}, 200, "the connection was closed while reading the body"},
		"RefusedConnection":    {object{"url": "http://" + closed}, 0, "connection refused by " + closed},
		"NoSuchHost":           {object{"url": "http://no-such-host.invalid/"}, 0, "no such host: no-such-host.invalid"},
		"TLSAgainstPlainHTTP":  {object{"url": strings.Replace(url, "http", "https", 1)}, 0, "plain HTTP"},
		"IPv6OfAnIPv4Address":  {object{"url": url, "ip_version": "6"}, 0, "127.0.0.1 has no IPv6 address"},
		"IPv4AsANumber":        {object{"url": url, "ip_version": 4}, 200, ""},
		"NotHTTP": {
			object{"url": "http://" + tcp(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-x\r\n\r\n"); drain(c) })},
			0,
			`did not answer with HTTP, but with "SSH-2.0-x"`,
		},
		"ClosedBeforeTheFirstByte": {object{"url": "http://" + tcp(t, func(net.Conn) {})}, 0, "the connection was"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeHTTP, c.config)
			if seen.StatusCode != c.status || seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %d %q, want %d %q", seen.StatusCode, seen.Error, c.status, c.reason)
			}
		})
	}
}

func TestHTTPMetadata(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.https(w.authority.Issue(t), site)
	seen := w.run(vigil.TypeHTTPS, object{"url": url + "/moved"})
	for name, want := range map[string]any{
		"ip": "127.0.0.1", "protocol": "HTTP/1.1", "tls_version": "TLS 1.3", "cert_days_remaining": 90.0, "redirects": 1.0,
	} {
		if seen.Metadata[name] != want {
			t.Errorf("%s is %v, want %v", name, seen.Metadata[name], want)
		}
	}
	big := w.run(vigil.TypeHTTPS, object{"url": url + "/big"})
	if big.Metadata["body_bytes"] != float64(1<<20) || big.Metadata["body_truncated"] != true {
		t.Errorf("a body of 3 MiB: %v", big.Metadata)
	}
}

func TestHTTPSCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stranger := probetest.NewAuthority(t, nil)
	for name, c := range map[string]struct {
		url    string
		reason string
	}{
		"Unknown": {w.https(stranger.Issue(t), site), "signed by an unknown authority"},
		"OtherHost": {
			w.https(w.authority.Issue(t, probetest.ForNames("other.test")), site),
			"the certificate is for other.test, not for 127.0.0.1",
		},
		"Expired": {w.https(w.authority.Issue(t, probetest.Expired()), site), "the certificate expired on "},
		"NotYet":  {w.https(w.authority.Issue(t, probetest.NotYet()), site), "the certificate is not valid before "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if seen := w.run(vigil.TypeHTTPS, object{"url": c.url + "/ok"}); seen.Success || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %+v", seen)
			}
			if seen := w.run(vigil.TypeHTTPS, object{"url": c.url + "/ok", "verify_tls": false}); !seen.Success {
				t.Errorf("without verification: %s", seen.Error)
			}
		})
	}
}

func TestHTTPConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const url = "https://example.com/"
	assertion := func(members object) object { return object{"url": url, "assertions": []object{members}} }
	for name, c := range map[string]struct {
		config object
		member string
	}{
		"NoURL":            {object{"method": "GET"}, "config.url"},
		"Scheme":           {object{"url": "ftp://example.com"}, "config.url"},
		"NoScheme":         {object{"url": "example.com"}, "config.url"},
		"Opaque":           {object{"url": "http:example.com"}, "config.url"},
		"NoHost":           {object{"url": "http:///path"}, "config.url"},
		"Userinfo":         {object{"url": "http://ann:hunter2@example.com/"}, "config.url"},
		"Port":             {object{"url": "http://example.com:99999/"}, "config.url"},
		"PortZero":         {object{"url": "http://example.com:0/"}, "config.url"},
		"LineBreak":        {object{"url": "http://example.com/\r\nX: y"}, "config.url"},
		"Long":             {object{"url": url + strings.Repeat("a", 2048)}, "config.url"},
		"Method":           {object{"url": url, "method": "TRACE"}, "config.method"},
		"StatusLow":        {object{"url": url, "expected_status_code": 99}, "config.expected_status_code"},
		"StatusHigh":       {object{"url": url, "expected_status_code": 1000}, "config.expected_status_code"},
		"BodyLimit":        {object{"url": url, "max_body_bytes": 16<<20 + 1}, "config.max_body_bytes"},
		"StatusText":       {object{"url": url, "expected_status_code": "200"}, "config.expected_status_code"},
		"StatusFraction":   {object{"url": url, "expected_status_code": 200.5}, "config.expected_status_code"},
		"StatusClass":      {object{"url": url, "expected_status_codes": []any{200, "6xx"}}, "config.expected_status_codes[1]"},
		"HeaderName":       {object{"url": url, "headers": object{"X Y": "1"}}, "config.headers.X Y"},
		"HeaderValue":      {object{"url": url, "headers": object{"X": "1\r\nEvil: 2"}}, "config.headers.X"},
		"HeaderNumber":     {object{"url": url, "headers": object{"X": 1}}, "config.headers.X"},
		"HeaderTwice":      {object{"url": url, "headers": object{"X": "1", "x": "2"}}, ""},
		"TransferEncoding": {object{"url": url, "headers": object{"transfer-encoding": "chunked"}}, "config.headers.transfer-encoding"},
		"ContentLength":    {object{"url": url, "headers": object{"Content-Length": "5"}}, "config.headers.Content-Length"},
		"Connection":       {object{"url": url, "headers": object{"Connection": "keep-alive"}}, "config.headers.Connection"},
		"Host":             {object{"url": url, "headers": object{"Host": "a b"}}, "config.headers.Host"},
		"BasicAuthMember":  {object{"url": url, "basic_auth": object{"username": "a", "pass": "b"}}, "config.basic_auth.pass"},
		"BasicAuthUser":    {object{"url": url, "basic_auth": object{"password": "b"}}, "config.basic_auth.username"},
		"BasicAuthColon":   {object{"url": url, "basic_auth": object{"username": "a:b"}}, "config.basic_auth.username"},
		"BasicAuthTwice": {
			object{"url": url, "basic_auth": object{"username": "a"}, "headers": object{"Authorization": "x"}},
			"config.basic_auth",
		},
		"IPVersion":        {object{"url": url, "ip_version": "5"}, "config.ip_version"},
		"TimeoutZero":      {object{"url": url, "timeout_seconds": 0}, "config.timeout_seconds"},
		"TimeoutHigh":      {object{"url": url, "timeout_seconds": 61}, "config.timeout_seconds"},
		"Source":           {assertion(object{"source": "cookie", "operator": "eq", "target": "x"}), "config.assertions[0].source"},
		"Operator":         {assertion(object{"source": "body", "operator": "==", "target": "x"}), "config.assertions[0].operator"},
		"NoOperator":       {assertion(object{"source": "body", "target": "x"}), "config.assertions[0].operator"},
		"NoTarget":         {assertion(object{"source": "body", "operator": "eq"}), "config.assertions[0].target"},
		"TargetObject":     {assertion(object{"source": "body", "operator": "eq", "target": object{}}), "config.assertions[0].target"},
		"TargetNotANumber": {assertion(object{"source": "body", "operator": "gt", "target": "x"}), "config.assertions[0].target"},
		"StatusNotANumber": {assertion(object{"source": "status", "operator": "eq", "target": "ok"}), "config.assertions[0].target"},
		"TargetInfinite":   {assertion(object{"source": "body", "operator": "gt", "target": "Inf"}), "config.assertions[0].target"},
		"TargetHex":        {assertion(object{"source": "status", "operator": "eq", "target": "0x10"}), "config.assertions[0].target"},
		"LengthProperty":   {assertion(object{"source": "json_length", "operator": "eq", "target": 1}), "config.assertions[0].property"},
		"FinalURL":         {assertion(object{"source": "url", "operator": "eq", "target": "/path"}), "config.assertions[0].target"},
		"Protocol":         {assertion(object{"source": "protocol", "operator": "eq", "target": "SPDY"}), "config.assertions[0].target"},
		"ExistsTarget":     {assertion(object{"source": "body", "operator": "exists", "target": "yes"}), "config.assertions[0].target"},
		"Pattern":          {assertion(object{"source": "body", "operator": "matches", "target": "("}), "config.assertions[0].target"},
		"LargePattern": {
			assertion(object{"source": "body", "operator": "matches", "target": "(x{0,500}x{0,500})y"}),
			"config.assertions[0].target",
		},
		"JSONPathPattern": {
			assertion(object{"source": "json", "property": "$[?(@.a =~ /x{1000}/)]", "operator": "exists"}),
			"config.assertions[0].property",
		},
		"HeaderProperty":   {assertion(object{"source": "header", "operator": "exists"}), "config.assertions[0].property"},
		"NeedlessProperty": {assertion(object{"source": "body", "property": "x", "operator": "exists"}), "config.assertions[0].property"},
		"JSONPath":         {assertion(object{"source": "json", "property": "$[", "operator": "exists"}), "config.assertions[0].property"},
		"JSONPathDescents": {assertion(object{"source": "json", "property": "$..a..b", "operator": "exists"}), "config.assertions[0].property"},
		"JSONPathUnions": {
			assertion(object{"source": "json", "property": "$[0,0][0,0][0,0][0,0][0,0]", "operator": "exists"}),
			"config.assertions[0].property",
		},
		"JSONPathInnerRoot": {
			assertion(object{"source": "json", "property": "$[?(@.a == $.b)]", "operator": "exists"}),
			"config.assertions[0].property",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.Parse(vigil.TypeHTTP, encode(t, c.config), minute)
			if c.member == "" {
				if vigil.ErrorCode(err) != vigil.CodeInvalid {
					t.Errorf("got %v", err)
				}
				return
			}
			rejected(t, err, c.member)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats a password: %v", err)
			}
		})
	}
	_, err := w.Parse(vigil.TypeHTTPS, encode(t, object{"url": "http://example.com"}), minute)
	rejected(t, err, "config.url")
	_, err = w.Parse(vigil.TypeHTTPS, encode(t, object{"url": url, "timeout_seconds": 31}), minute/2)
	rejected(t, err, "config.timeout_seconds")
	_, err = w.Parse("nonsense", encode(t, object{"url": url}), minute)
	rejected(t, err, "type")
}
