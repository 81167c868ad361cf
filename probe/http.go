package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"vigil"
	"vigil/config"
	"vigil/egress"
	"vigil/redact"
)

const (
	userAgent = "Vigil/1.0"
	// maxBody is how much of an answer's body is read, after decompression.
	maxBody = 1 << 20
)

// HTTPConfig is the config of http and https checks.
type HTTPConfig struct {
	URL                 string            `json:"url" place:"url" secret:"query" doc:"Address to request; user name and password go into basic_auth. Values of query parameters with the names of credentials, such as token or api_key, are secret" maxLength:"2048" example:"https://example.com/health"`
	Method              string            `json:"method,omitempty" doc:"Request method" enum:"GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS" default:"GET"`
	ExpectedStatusCode  int               `json:"expected_status_code,omitempty" doc:"Status that means success. Default 200, unless expected_status_codes or an assertion on the status says otherwise" minimum:"100" maximum:"599" example:"200"`
	ExpectedStatusCodes []any             `json:"expected_status_codes,omitempty" doc:"Statuses that mean success: numbers, and classes such as 2xx" maxItems:"20"`
	Headers             map[string]string `json:"headers,omitempty" secret:"by-name" doc:"Request headers. They are not sent to another host that a redirect leads to"`
	Body                string            `json:"body,omitempty" secret:"if:body_secret" doc:"Request body" maxLength:"100000"`
	BodySecret          bool              `json:"body_secret,omitempty" doc:"The body is a secret: stored encrypted, shown as *** and hidden in what comes back" default:"false"`
	FollowRedirects     bool              `json:"follow_redirects,omitempty" doc:"Follow up to 10 redirects" default:"true"`
	VerifyTLS           bool              `json:"verify_tls,omitempty" doc:"Fail when the certificate is not valid for the host" default:"true"`
	BasicAuth           *BasicAuth        `json:"basic_auth,omitempty" doc:"Credentials for HTTP basic authentication"`
	IPVersion           string            `json:"ip_version,omitempty" doc:"IP version to connect with" enum:"any,4,6" default:"any"`
	Assertions          []Assertion       `json:"assertions,omitempty" doc:"What the answer must be like; all must hold" maxItems:"20"`
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
	CertDaysRemaining *int     `json:"cert_days_remaining,omitempty" doc:"Whole days until the certificate expires"`
	Redirects         int      `json:"redirects,omitempty" doc:"Redirects followed"`
	FinalHost         string   `json:"final_host,omitempty" doc:"Host that the redirects led to"`
	BodyBytes         int      `json:"body_bytes" doc:"Bytes of the body that were read, after decompression"`
	BodyTruncated     bool     `json:"body_truncated,omitempty" doc:"The body goes on beyond the 1 MiB that is read"`
	FailedAssertions  []string `json:"failed_assertions,omitempty" doc:"Assertions that did not hold"`
}

var _ = register(newHTTP)

// newHTTP makes the http type: both schemes.
func newHTTP(env *environment) Prober {
	return httpProber{environment: env, kind: vigil.TypeHTTP, schemes: []string{"http", "https"}}
}

var _ = register(newHTTPS)

// newHTTPS makes the https type, which refuses plain HTTP.
func newHTTPS(env *environment) Prober {
	return httpProber{environment: env, kind: vigil.TypeHTTPS, schemes: []string{"https"}}
}

type httpProber struct {
	*environment

	kind    vigil.CheckType
	schemes []string
}

func (p httpProber) Type() vigil.CheckType { return p.kind }

func (p httpProber) Documents() (config, metadata any) { return HTTPConfig{}, HTTPMetadata{} }

func (p httpProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	request, err := p.parse(given, interval)
	if err != nil {
		return nil, err
	}
	return httpProbe{guard: p.guard, request: request}, nil
}

// httpRequest is an HTTP config that was read.
type httpRequest struct {
	HTTPConfig

	url      *url.URL
	header   http.Header
	host     string // the Host header, where the config sets one
	expected []statusRange
	asserts  []assertion
	keepBody bool
	deadline time.Duration
	roots    *x509.CertPool
	hidden   *redact.Redactor
}

func (p httpProber) parse(given json.RawMessage, interval time.Duration) (httpRequest, error) {
	r := httpRequest{roots: p.roots}
	var err error
	if r.hidden, err = p.read(p.kind, given, &r.HTTPConfig); err != nil {
		return r, err
	}
	if r.BodySecret {
		r.hidden = r.hidden.With(bodyTexts(r.Body)...)
	}
	if r.url, err = parseURL(p.guard, "config.url", r.URL, p.schemes...); err != nil {
		return r, err
	}
	if r.deadline, err = timeout(r.TimeoutSeconds, interval); err != nil {
		return r, err
	}
	if err := r.parseHeaders(); err != nil {
		return r, err
	}
	if r.asserts, err = parseAssertions(r.Assertions); err != nil {
		return r, err
	}
	r.expected, err = r.parseStatuses()
	return r, err
}

func (r *httpRequest) parseHeaders() error {
	var err error
	if r.header, r.host, err = parseHeaders("config.headers", r.Headers); err != nil {
		return err
	}
	if r.header.Get("User-Agent") == "" {
		r.header.Set("User-Agent", userAgent)
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
	encoded := base64.StdEncoding.EncodeToString([]byte(r.BasicAuth.Username + ":" + r.BasicAuth.Password))
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
				config.Element("config.expected_status_codes", i), "must be a status from 100 to 599 or a class such as \"2xx\"",
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

type httpProbe struct {
	guard   *egress.Guard
	request httpRequest
}

func (p httpProbe) Deadline() time.Duration { return p.request.deadline }

func (p httpProbe) Target() string { return p.request.url.Host }

// Changes says so of every method that is not safe (RFC 9110, section 9.2.1).
func (p httpProbe) Changes() string {
	switch p.request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return ""
	}
	return "config.method is " + p.request.Method
}

func (p httpProbe) Run(ctx context.Context) vigil.Observation {
	seen, _ := p.runForAnswer(ctx, false)
	return seen
}

// hides returns what hides the secrets of the config.
func (p httpProbe) hides() *redact.Redactor { return p.request.hidden }

// runForAnswer is Run that also returns the answer, for extractions.
func (p httpProbe) runForAnswer(ctx context.Context, keepBody bool) (vigil.Observation, answer) {
	return p.runWith(ctx, keepBody, func(ctx context.Context, _ *timeline, opts egress.ClientOptions) (*http.Client, func()) {
		return p.guard.Client(ctx, opts), func() {}
	})
}

// clientMaker makes the client of one exchange, and what closes it.
type clientMaker func(context.Context, *timeline, egress.ClientOptions) (*http.Client, func())

func (p httpProbe) runWith(ctx context.Context, keepBody bool, makeClient clientMaker) (seen vigil.Observation, got answer) {
	r := &p.request
	r.keepBody = keepBody || r.needsBody()
	seen = observe(ctx, p.guard, r.deadline, r.hidden, func(ctx context.Context, t *timeline) outcome {
		client, closeClient := makeClient(ctx, t, egress.ClientOptions{
			TLS:         r.tls(),
			NoRedirects: !r.FollowRedirects,
			IPVersion:   ipVersion(r.IPVersion),
			UserAgent:   userAgent,
		})
		defer closeClient()
		t.recorder.follow(client)
		var metadata HTTPMetadata
		var err error
		got, err = r.roundTrip(ctx, t, client, &metadata)
		if got.recorder = t.recorder; got.recorder != nil {
			got.recorder.got = &got
		}
		if err == nil {
			got.took = t.stop()
			err = r.judge(ctx, t, &got, &metadata)
		}
		t.stop()
		metadata.IP, metadata.Timings = t.address(), t.timings()
		return outcome{status: got.status, metadata: metadata, err: err}
	})
	return seen, got
}

func ipVersion(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

func (r *httpRequest) tls() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            r.roots,
		InsecureSkipVerify: !r.VerifyTLS, //nolint:gosec // the check's owner asked for it
	}
}

// roundTrip sends the request and reads the answer, a bounded part of its body.
func (r *httpRequest) roundTrip(ctx context.Context, t *timeline, client *http.Client, seen *HTTPMetadata) (answer, error) {
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, r.url.String(), body)
	if err != nil {
		return answer{}, fmt.Errorf("make the request: %w", err)
	}
	request.Header, request.Host = r.header.Clone(), r.host
	response, err := client.Do(request)
	if err != nil {
		if response != nil { // a redirect that was not followed
			_ = response.Body.Close()
			t.recorder.status(response)
			return answer{status: response.StatusCode}, fmt.Errorf("redirect: %w", err)
		}
		return answer{}, fmt.Errorf("request: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	found := answer{
		status: response.StatusCode, header: response.Header, url: response.Request.URL, protocol: response.Proto,
	}
	seen.describe(response, r.url)
	found.certDays = seen.CertDaysRemaining
	t.step("reading the body")
	found.body, err = r.readBody(t.recorder, response, seen)
	found.truncated = seen.BodyTruncated
	if err != nil {
		return found, fmt.Errorf("read the body: %w", err)
	}
	return found, nil
}

// readBody reads a bounded part of the body, and returns it when it is needed.
func (r *httpRequest) readBody(w *recorder, response *http.Response, seen *HTTPMetadata) ([]byte, error) {
	var kept bytes.Buffer
	bounded := io.LimitReader(response.Body, maxBody)
	first, err := w.readFirst(bounded, response.ContentLength)
	n := int64(len(first))
	if err == nil {
		sink := io.Discard
		if r.keepBody {
			sink = &kept
			kept.Write(first)
		}
		var rest int64
		rest, err = io.Copy(sink, bounded)
		n += rest
	}
	seen.BodyBytes = int(n)
	if err == nil && n == maxBody {
		more, _ := io.ReadFull(response.Body, make([]byte, 1))
		seen.BodyTruncated = more > 0
	}
	if w != nil {
		w.answered(response, first, n, err == nil && n == int64(len(first)))
	}
	return kept.Bytes(), err
}

func (r *httpRequest) needsBody() bool {
	for _, a := range r.asserts {
		if a.Source == sourceBody || a.Source == sourceJSON || a.Source == sourceJSONLength {
			return true
		}
	}
	return false
}

// describe notes what the answer says of itself and of the way to it.
func (m *HTTPMetadata) describe(response *http.Response, first *url.URL) {
	m.Protocol = response.Proto
	m.AltSvc = clip(response.Header.Get("Alt-Svc"), maxNameText)
	for via := response.Request.Response; via != nil; via = via.Request.Response {
		m.Redirects++
	}
	if m.Redirects > 0 && response.Request.URL.Host != first.Host {
		m.FinalHost = clip(response.Request.URL.Host, 255)
	}
	if state := response.TLS; state != nil {
		m.TLSVersion = tls.VersionName(state.Version)
		if len(state.PeerCertificates) > 0 {
			days := daysUntil(state.PeerCertificates[0].NotAfter)
			m.CertDaysRemaining = &days
		}
	}
}

// daysUntil counts whole days, downwards: -1 on the first day after.
func daysUntil(t time.Time) int {
	const day = 24 * time.Hour
	left := time.Until(t)
	if left < 0 {
		return int((left - day + 1) / day)
	}
	return int(left / day)
}
