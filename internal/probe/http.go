// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const userAgent = "Vigil/1.0"

var _ = register(newHTTP)

// newHTTP makes the http type: both schemes.
func newHTTP(env *environment) Prober {
	return httpProber{environment: env, kind: vigil.TypeHTTP, schemes: []string{"http", "https"}, about: "Plain HTTP", position: 2}
}

var _ = register(newHTTPS)

// newHTTPS makes the https type, which refuses plain HTTP.
func newHTTPS(env *environment) Prober {
	return httpProber{environment: env, kind: vigil.TypeHTTPS, schemes: []string{"https"}, about: "Status, body, phases", position: 1}
}

type httpProber struct {
	*environment

	kind     vigil.CheckType
	schemes  []string // the usual one first
	about    string   // of Describe, as position is
	position int
}

func (p httpProber) Type() vigil.CheckType { return p.kind }

func (p httpProber) Documents() (config, metadata any) { return HTTPConfig{}, HTTPMetadata{} }

// Describe says what the type is for.
func (p httpProber) Describe() TypeInfo {
	return TypeInfo{
		Position: p.position, About: p.about, Schemes: p.schemes,
		Conditions: []string{vigil.KeyStatusCode, vigil.KeySSLDaysRemaining},
	}
}

func (p httpProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	request, err := p.parse(given, interval)
	if err != nil {
		return nil, err
	}
	return httpProbe{guard: p.guard, client: p.client, tokens: p.tokens, request: request}, nil
}

type httpProbe struct {
	guard   *egress.Guard
	client  func(*egress.Guard, context.Context, egress.ClientOptions) *http.Client
	tokens  *tokens
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
	seen, _ := p.runForAnswer(ctx, wanted{})
	return seen
}

// hides returns what hides the secrets of the config.
func (p httpProbe) hides() *redact.Redactor { return p.request.hidden }

// endless reports whether the answer has no end, so that only text that came can be looked at.
func (p httpProbe) endless() bool { return p.request.Stream }

// runForAnswer is Run that also returns the answer, for extractions.
func (p httpProbe) runForAnswer(ctx context.Context, more wanted) (vigil.Observation, answer) {
	return p.runWith(ctx, more, func(ctx context.Context, _ *timeline, opts egress.ClientOptions) (*http.Client, func()) {
		return p.client(p.guard, ctx, opts), func() {}
	})
}

// clientMaker makes the client of one exchange, and what closes it.
type clientMaker func(context.Context, *timeline, egress.ClientOptions) (*http.Client, func())

func (p httpProbe) runWith(ctx context.Context, more wanted, makeClient clientMaker) (vigil.Observation, answer) {
	if p.request.token == nil {
		return p.exchange(ctx, more, makeClient)
	}
	return p.withToken(ctx, func(authorized httpProbe) (vigil.Observation, answer) {
		return authorized.exchange(ctx, more, makeClient)
	})
}

func (p httpProbe) exchange(ctx context.Context, more wanted, makeClient clientMaker) (seen vigil.Observation, got answer) {
	r := &p.request
	seen = observe(ctx, p.guard, r.deadline, r.hidden, func(ctx context.Context, t *timeline) outcome {
		opts := r.client()
		jar := more.jar()
		defer func() { t.secrets = append(t.secrets, jar.secrets()...) }()
		var metadata HTTPMetadata
		exchange := func() (answer, error) {
			client, closeClient := makeClient(ctx, t, opts)
			defer closeClient()
			client.Transport = egress.WithEncodedRedirects(client.Transport)
			if r.Cookies {
				client.Jar = jar
			}
			t.recorder.follow(client)
			return r.roundTrip(ctx, t, client, more, &metadata)
		}
		var err error
		if got, err = exchange(); egress.NeedsHTTP1(err) {
			opts.HTTP2 = false
			got, err = exchange()
		}
		if got.recorder = t.recorder; got.recorder != nil {
			got.recorder.got = &got
		}
		if err == nil {
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

// roundTrip sends the request and reads the answer, a bounded part of its body.
func (r *httpRequest) roundTrip(
	ctx context.Context, t *timeline, client *http.Client, more wanted, seen *HTTPMetadata,
) (answer, error) {
	var body io.Reader
	if r.Body != "" {
		body = strings.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, "", body) // the address is read already
	if err != nil {
		return answer{}, fmt.Errorf("make the request: %w", err)
	}
	to := *r.url
	request.URL, request.Header, request.Host = &to, r.header.Clone(), r.host
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
		status: response.StatusCode, header: headersAsTheyCame(response), url: response.Request.URL, protocol: response.Proto,
	}
	seen.describe(response, r.url)
	found.certDays, found.certSubject = seen.CertDaysRemaining, seen.CertSubject
	reading := bodyReading{request: r, wanted: more, timeline: t, response: response, got: &found, seen: seen}
	if err := reading.run(ctx); err != nil {
		return found, fmt.Errorf("read the body: %w", err)
	}
	found.took = t.stop() // before the connection is closed
	return found, nil
}

// headersAsTheyCame are the headers of an answer with those that the standard library takes out of
// them, in HTTP/1.1.
func headersAsTheyCame(response *http.Response) http.Header {
	if len(response.TransferEncoding) > 0 && response.ProtoMajor == 1 {
		response.Header["Transfer-Encoding"] = response.TransferEncoding
	}
	return response.Header
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
	}
	m.describeCertificates(response)
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
