// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// HTTPConfig is the config of http and https checks.
type HTTPConfig struct {
	Method              string            `json:"method,omitempty" title:"Method" form:"address,short" doc:"Request method" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" default:"GET"`
	URL                 string            `json:"url" sample:"https://www.example.com/" place:"url" secret:"query" doc:"Address to request; user name and password go into basic_auth. Values of query parameters with the names of credentials, such as token or api_key, are secret" maxLength:"2048" example:"https://example.com/health"`
	Headers             map[string]string `json:"headers,omitempty" help:"Sent with the request, not to another host that a redirect leads to." secret:"by-name" doc:"Request headers. They are not sent to another host that a redirect leads to"`
	Body                string            `json:"body,omitempty" title:"Body" form:"request,area,mono" secret:"if:body_secret" doc:"Request body" maxLength:"100000"`
	BodySecret          bool              `json:"body_secret,omitempty" title:"The body is a secret" form:"request" doc:"The body is a secret: stored encrypted, shown as *** and hidden in what comes back" default:"false"`
	BasicAuth           *BasicAuth        `json:"basic_auth,omitempty" title:"Basic authentication" form:"request" doc:"Credentials for HTTP basic authentication"`
	OAuth2              *OAuth2           `json:"oauth2,omitempty" title:"OAuth 2 client credentials" form:"request" doc:"Client credentials to get an access token with, which is sent as a Bearer token (RFC 6749, section 4.4). It is kept in memory until it expires or the target answers 401"`
	Assertions          []Assertion       `json:"assertions,omitempty" title:"The answer must be like this" form:"expect" add:"Add assertion" begin:"[{\"source\":\"status\",\"operator\":\"eq\",\"target\":\"200\"}]" doc:"What the answer must be like; all must hold" maxItems:"20"`
	ExpectedStatusCode  int               `json:"expected_status_code,omitempty" title:"Expected status" help:"200, unless an assertion on the status says otherwise." form:"more,short" doc:"Status that means success. Default 200, unless expected_status_codes or an assertion on the status says otherwise" minimum:"100" maximum:"999" example:"200"`
	ExpectedStatusCodes []any             `json:"expected_status_codes,omitempty" title:"Or one of these" form:"more,mono,medium" sample:"200, 204, 3xx" doc:"Statuses that mean success: numbers, and classes such as 2xx" maxItems:"20"`
	IPVersion           string            `json:"ip_version,omitempty" doc:"IP version to connect with" enum:"any,4,6" default:"any"`
	FollowRedirects     bool              `json:"follow_redirects,omitempty" title:"Follow up to 10 redirects" doc:"Follow up to 10 redirects" default:"true"`
	AllowHTTPRedirect   bool              `json:"allow_http_redirect,omitempty" title:"Redirects may end on plain HTTP (https only)" doc:"Redirects may end on plain HTTP, which fails otherwise; only for the type https" default:"false"`
	Cookies             bool              `json:"cookies,omitempty" title:"Keep cookies between redirects" doc:"Keep the cookies that answers set and send them with the redirects that follow, as a browser does (RFC 6265); the steps of a multistep check share them" default:"true"`
	Stream              bool              `json:"stream,omitempty" title:"The answer does not end" doc:"The answer does not end, such as events or audio: success as soon as the assertions on the body hold, at most for the timeout. Of such a body only contains, matches and exists can be asserted" default:"false"`
	MaxBodyBytes        int               `json:"max_body_bytes,omitempty" title:"Bytes of the body to read" form:"more,short" doc:"How much of the body is read, in bytes after decompression. An assertion or extraction that the rest could decide fails" minimum:"1" maximum:"16777216" default:"1048576"`
	VerifyTLS           bool              `json:"verify_tls,omitempty" doc:"Fail when the certificate is not valid for the host" default:"true"`
	TLS                 *TLSOptions       `json:"tls,omitempty" doc:"Names and certificates of the TLS connection to the URL's host"`
	Proxy               string            `json:"proxy,omitempty" title:"HTTP proxy" help:"To go through. Not for http3." form:"more,mono" place:"url" doc:"HTTP proxy to go through: by CONNECT for https. Not for http3" maxLength:"2048" example:"http://proxy.example.com:3128"`
	ProxyAuth           *BasicAuth        `json:"proxy_auth,omitempty" title:"Authentication with the proxy" doc:"Credentials for the proxy"`
	TimeoutSeconds      int               `json:"timeout_seconds,omitempty" doc:"Longest time for the whole exchange, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// BasicAuth are credentials as of RFC 7617.
type BasicAuth struct {
	Username string `json:"username" doc:"User name, without a colon" maxLength:"256"`
	Password string `json:"password,omitempty" secret:"true" doc:"Password" maxLength:"1024"`
}

// HTTPMetadata is the metadata of a result of an http or https check.
type HTTPMetadata struct {
	Timings           Timings  `json:"timings" doc:"How long each phase took"`
	IP                string   `json:"ip,omitempty" doc:"Address that answered"`
	Protocol          string   `json:"protocol,omitempty" doc:"Protocol of the answer" example:"HTTP/1.1"`
	TLSVersion        string   `json:"tls_version,omitempty" doc:"Version of TLS" example:"TLS 1.3"`
	AltSvc            string   `json:"alt_svc,omitempty" doc:"Other ways to reach the service, as the answer advertises them (RFC 7838)"`
	CertDaysRemaining *int     `json:"cert_days_remaining,omitempty" doc:"Whole days until the first certificate expires that a client needs: of the chain that was verified, over all redirects"`
	CertSubject       string   `json:"cert_subject,omitempty" doc:"Subject and host of that certificate, where it is not the own one of the host that answered"`
	Redirects         int      `json:"redirects,omitempty" doc:"Redirects followed"`
	FinalHost         string   `json:"final_host,omitempty" doc:"Host that the redirects led to"`
	BodyBytes         int      `json:"body_bytes" doc:"Bytes of the body that were read, after decompression"`
	BodyTruncated     bool     `json:"body_truncated,omitempty" doc:"The body goes on beyond max_body_bytes, and the rest was not read"`
	Stream            bool     `json:"stream,omitempty" doc:"The answer does not end; status, headers and what came of the body decided"`
	FailedAssertions  []string `json:"failed_assertions,omitempty" doc:"Assertions that did not hold"`
}

// httpRequest is an HTTP config that was read.
type httpRequest struct {
	HTTPConfig

	url      *url.URL
	header   http.Header
	host     string // the Host header
	expected []statusRange
	asserts  []assertion
	// endsSecure is whether the redirects must not end on plain HTTP.
	endsSecure bool
	deadline   time.Duration
	secure     *tls.Config
	proxy      *url.URL      // with its credentials; nil: none
	token      *tokenRequest // nil: none is needed
	hidden     *redact.Redactor
}

func (p httpProber) parse(given json.RawMessage, interval time.Duration) (httpRequest, error) {
	var r httpRequest
	var err error
	if r.hidden, err = p.read(p.kind, given, &r.HTTPConfig); err != nil {
		return r, err
	}
	if r.BodySecret {
		r.hidden = r.hidden.With(bodyTexts(r.Body)...)
	}
	if r.AllowHTTPRedirect && p.kind != vigil.TypeHTTPS {
		return r, vigil.Invalid("config.allow_http_redirect", "is only for checks of type https")
	}
	r.endsSecure = p.kind == vigil.TypeHTTPS && !r.AllowHTTPRedirect
	if r.url, err = parseURL(p.guard, "config.url", r.URL, p.schemes...); err != nil {
		return r, err
	}
	if r.deadline, err = timeout(r.TimeoutSeconds, interval); err != nil {
		return r, err
	}
	if err := r.parseHeaders(); err != nil {
		return r, err
	}
	if r.secure, err = r.TLS.parse("config.tls", p.roots); err != nil {
		return r, err
	}
	r.secure.InsecureSkipVerify = !r.VerifyTLS // the owner of the check asked for it
	if err := r.parseProxy(p.guard); err != nil {
		return r, err
	}
	if err := r.parseOAuth2(p.guard); err != nil {
		return r, err
	}
	if r.asserts, err = parseAssertions(r.Assertions); err != nil {
		return r, err
	}
	if err = r.parseStream(); err != nil {
		return r, err
	}
	r.expected, err = r.parseStatuses()
	return r, err
}

// parseStream refuses assertions that only the end of a body could decide.
func (r *httpRequest) parseStream() error {
	for i := range r.asserts {
		if a := &r.asserts[i]; r.Stream && a.needsBody() && !a.decidesEarly() {
			return vigil.Invalid(
				config.Element("config.assertions", i),
				"needs all of the body, which has no end with stream: true; use contains, matches or exists of the body",
			)
		}
	}
	return nil
}

func (r *httpRequest) parseHeaders() error {
	var err error
	if r.header, r.host, err = parseHeaders("config.headers", r.Headers); err != nil {
		return err
	}
	if r.host == "" { // the zone of an address is not for the server
		r.host = rejoin(egress.ServerName(r.url.Hostname()), r.url.Port())
	}
	if r.header.Get("User-Agent") == "" {
		r.header.Set("User-Agent", userAgent)
	}
	if r.header.Get("Accept-Encoding") == "" && r.header.Get("Range") == "" && r.Method != http.MethodHead {
		r.header.Set("Accept-Encoding", "gzip") // what the standard library asks for by itself
	}
	if r.BasicAuth == nil {
		return nil
	}
	if r.header.Get("Authorization") != "" {
		return vigil.Invalid("config.basic_auth", "cannot be combined with an Authorization header")
	}
	if strings.Contains(r.BasicAuth.Username, ":") {
		return vigil.Invalid("config.basic_auth.username", "must not contain a colon")
	}
	encoded := egress.BasicCredentials(r.BasicAuth.Username, r.BasicAuth.Password)
	r.header.Set("Authorization", "Basic "+encoded)
	r.hidden = r.hidden.With(redactable(encoded)...)
	return nil
}

// parseStatuses reads the statuses that mean success; none when assertions
// alone decide.
func (r *httpRequest) parseStatuses() ([]statusRange, error) {
	var expected []statusRange
	if r.ExpectedStatusCode != 0 {
		expected = append(expected, statusRange{r.ExpectedStatusCode, r.ExpectedStatusCode})
	}
	for i, given := range r.ExpectedStatusCodes {
		one, ok := parseStatus(fmt.Sprint(given))
		if !ok {
			return nil, vigil.Invalid(
				config.Element("config.expected_status_codes", i), "must be a status from 100 to 999 or a class such as \"2xx\"",
			)
		}
		expected = append(expected, one)
	}
	if len(expected) > 0 {
		return expected, nil
	}
	for _, a := range r.asserts {
		if a.Source == sourceStatus {
			return nil, nil
		}
	}
	return []statusRange{{http.StatusOK, http.StatusOK}}, nil
}
