// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const (
	grpcMethod = "/grpc.health.v1.Health/Check"
	// maxGRPCAnswer is how much of an answer is read; a health status has two bytes.
	maxGRPCAnswer = 64 << 10
	grpcPrefix    = 5 // bytes before a message: whether it is compressed, and its length
)

// GRPCConfig is the config of grpc checks.
type GRPCConfig struct {
	Host           string            `json:"host" place:"text" doc:"Host name or IP address of the server" maxLength:"253" example:"api.example.com"`
	Port           int               `json:"port" sample:"443" place:"text" doc:"Port of the server" minimum:"1" maximum:"65535" example:"443"`
	Service        string            `json:"service,omitempty" title:"Service" help:"As the server names it. The server as a whole, when it is empty." form:"address,mono" doc:"Service whose health is asked for, as the server names it. Default: the server as a whole" maxLength:"256" example:"shop.v1.Orders"`
	Security       string            `json:"security,omitempty" title:"Security" form:"address,medium" words:"tls=TLS|none=none" place:"text" doc:"tls, or none for HTTP/2 without encryption" enum:"tls,none" default:"tls"`
	VerifyTLS      bool              `json:"verify_tls,omitempty" doc:"Fail when the certificate is not valid for the host" default:"true"`
	TLS            *TLSOptions       `json:"tls,omitempty" doc:"Names and certificates of the TLS connection"`
	Headers        map[string]string `json:"headers,omitempty" title:"Metadata" help:"Sent with the call." add:"Add metadata" secret:"by-name" doc:"Metadata of the call, such as authorization"`
	TimeoutSeconds int               `json:"timeout_seconds,omitempty" doc:"Longest time for the whole call, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// GRPCMetadata is the metadata of a result of a grpc check.
type GRPCMetadata struct {
	Timings           Timings `json:"timings" doc:"How long each phase took"`
	IP                string  `json:"ip,omitempty" doc:"Address that answered"`
	Status            string  `json:"status,omitempty" doc:"Health that the server says" enum:"UNKNOWN,SERVING,NOT_SERVING,SERVICE_UNKNOWN" example:"SERVING"`
	Code              string  `json:"code,omitempty" doc:"Status code of the call" example:"OK"`
	TLSVersion        string  `json:"tls_version,omitempty" doc:"Version of TLS" example:"TLS 1.3"`
	CertDaysRemaining *int    `json:"cert_days_remaining,omitempty" doc:"Whole days until the first certificate of the chain expires that a client needs"`
}

var _ = register(newGRPC)

// newGRPC makes the grpc type: one call of the method Check of the health service
// grpc.health.v1.Health, which must answer SERVING. Its protocol is in doc/health-checking.md
// and doc/PROTOCOL-HTTP2.md of the project gRPC.
func newGRPC(env *environment) Prober { return grpcProber{environment: env} }

type grpcProber struct{ *environment }

func (grpcProber) Type() vigil.CheckType { return vigil.TypeGRPC }

func (grpcProber) Documents() (config, metadata any) { return GRPCConfig{}, GRPCMetadata{} }

// Describe says what the type is for.
func (grpcProber) Describe() TypeInfo {
	return TypeInfo{Position: 6, About: "Health of a service", Conditions: []string{vigil.KeySSLDaysRemaining}}
}

func (p grpcProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := grpcProbe{guard: p.guard}
	c := &probe.config
	var err error
	if probe.hidden, err = p.read(p.Type(), given, c); err != nil {
		return nil, err
	}
	host, err := parseHost(p.guard, "config.host", c.Host, c.Port)
	if err != nil {
		return nil, err
	}
	if c.Security == "none" && c.TLS != nil {
		return nil, vigil.Invalid("config.tls", "needs security tls")
	}
	if probe.tls, err = c.TLS.parse("config.tls", p.roots); err != nil {
		return nil, err
	}
	probe.tls.InsecureSkipVerify = !c.VerifyTLS // the owner of the check asked for it
	if probe.header, err = parseCallMetadata(c.Headers); err != nil {
		return nil, err
	}
	probe.target = net.JoinHostPort(host, strconv.Itoa(c.Port))
	probe.deadline, err = timeout(c.TimeoutSeconds, interval)
	return probe, err
}

// parseCallMetadata reads the metadata of the call: headers that are not of the protocol.
func parseCallMetadata(given map[string]string) (http.Header, error) {
	return config.Headers("config.headers", given, func(canonical string) bool {
		return canonical == "Host" || canonical == "Content-Type" || strings.HasPrefix(canonical, "Grpc-")
	})
}

type grpcProbe struct {
	hidden   *redact.Redactor
	guard    *egress.Guard
	tls      *tls.Config
	config   GRPCConfig
	header   http.Header
	target   string
	deadline time.Duration
}

func (p grpcProbe) hides() *redact.Redactor { return p.hidden }

func (p grpcProbe) Deadline() time.Duration { return p.deadline }

func (p grpcProbe) Target() string { return p.target }

func (p grpcProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		var seen GRPCMetadata
		err := p.call(ctx, t, &seen)
		t.stop()
		seen.Timings, seen.IP = t.timings(), t.address()
		return outcome{metadata: seen, err: err}
	})
}

// call asks for the health and judges the answer.
func (p grpcProbe) call(ctx context.Context, t *timeline, seen *GRPCMetadata) error {
	request, err := p.request(ctx)
	if err != nil {
		return err
	}
	client := p.guard.HTTP2Client(ctx, egress.ClientOptions{TLS: p.tls, UserAgent: userAgent})
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("call: %w", explainHTTP2(ctx, err))
	}
	defer func() { _ = response.Body.Close() }()
	t.recorder.status(response)
	seen.TLSVersion, seen.CertDaysRemaining = secured(response.TLS)
	if err := isGRPC(response); err != nil {
		first, _ := t.recorder.readFirst(response.Body, response.ContentLength)
		t.recorder.answered(response, first, int64(len(first)), false)
		return err
	}
	t.step("waiting for the status of the call")
	message, err := io.ReadAll(io.LimitReader(response.Body, maxGRPCAnswer+1))
	if err != nil {
		return fmt.Errorf("receive: %w", explainHTTP2(ctx, err))
	}
	if len(message) > maxGRPCAnswer {
		return fail("the answer has more than %d KiB, a health status has a few bytes", maxGRPCAnswer>>10)
	}
	trailer := response.Trailer
	if trailer.Get("Grpc-Status") == "" {
		trailer = response.Header // an answer without a message has everything in its headers
	}
	return p.judge(trailer, message, seen)
}

func (p grpcProbe) request(ctx context.Context) (*http.Request, error) {
	message, err := proto.Marshal(&grpc_health_v1.HealthCheckRequest{Service: p.config.Service})
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) //nolint:gosec // bounded by the config
	body = append(body, message...)
	scheme := "https"
	if p.config.Security == "none" {
		scheme = "http"
	}
	to := url.URL{Scheme: scheme, Host: p.target, Path: grpcMethod}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header = p.header.Clone()
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	// Later than the probe's own end, which says what it waited for; a server that ends the call
	// first only resets the stream.
	request.Header.Set("Grpc-Timeout", strconv.FormatInt((p.deadline+time.Second).Milliseconds(), 10)+"m")
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", userAgent)
	}
	return request, nil
}

// isGRPC returns why an answer is none of gRPC, or nil.
func isGRPC(response *http.Response) error {
	if response.StatusCode != http.StatusOK {
		return fail("the server answered with the HTTP status %d, not with gRPC", response.StatusCode)
	}
	kind, _, _ := strings.Cut(response.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	if kind != "application/grpc" && !strings.HasPrefix(kind, "application/grpc+") {
		if kind == "" {
			return fail("the server answered without a content type, not with gRPC")
		}
		return fail("the server answered with content of the type %s, not with gRPC", kind)
	}
	return nil
}

// explainHTTP2 words what is wrong with the frames that a server sends. Errors of the network
// pass.
func explainHTTP2(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err // what the end of the time did to the connection
	}
	text := err.Error()
	for _, known := range [...][2]string{
		{"looked like an HTTP/1.1 header", "the server did not answer with HTTP/2, which gRPC needs"},
		{"GOAWAY", "the server ended the HTTP/2 connection before it answered (GOAWAY)"},
		{"stream error", "the server ended the call with an error of HTTP/2"},
		{"http2: ", "the server did not answer with HTTP/2, which gRPC needs"},
		{"PROTOCOL_ERROR", "the server did not answer with HTTP/2, which gRPC needs"},
	} {
		if strings.Contains(text, known[0]) {
			return verdict(known[1])
		}
	}
	if errors.Is(err, egress.ErrNoHTTP2Agreed) || strings.Contains(text, "no application protocol") { // the alert of RFC 7301
		return verdict(egress.ErrNoHTTP2Agreed.Error())
	}
	return err
}

// judge returns why an answer is a failure, or nil.
func (p grpcProbe) judge(trailer http.Header, message []byte, seen *GRPCMetadata) error {
	if trailer.Get("Grpc-Status") == "" {
		return failUnanswered("the connection ended before the status of the call came")
	}
	number, err := strconv.ParseUint(trailer.Get("Grpc-Status"), 10, 31)
	if err != nil {
		return fail("the status of the call is %q, expected a number", clip(trailer.Get("Grpc-Status"), maxShown))
	}
	code := codes.Code(number)
	seen.Code = codeName(code)
	if code != codes.OK {
		return p.refused(code, trailer.Get("Grpc-Message"))
	}
	status, err := readHealth(message)
	if err != nil {
		return err
	}
	seen.Status = status.String()
	if status == grpc_health_v1.HealthCheckResponse_SERVING {
		return nil
	}
	return fail("%s is %s, expected SERVING", p.what(), seen.Status)
}

// what is the subject of a sentence about the health.
func (p grpcProbe) what() string {
	if p.config.Service == "" {
		return "the server"
	}
	return fmt.Sprintf("the service %q", p.config.Service)
}

// refused words a call that the server did not answer with a health.
func (p grpcProbe) refused(code codes.Code, message string) error {
	if plain, err := url.PathUnescape(message); err == nil { // how gRPC writes it
		message = plain
	}
	switch code { //nolint:exhaustive // the others say what is wrong by their message
	case codes.NotFound:
		return fail("the server does not know %s (NOT_FOUND)", p.what())
	case codes.Unimplemented:
		return fail("the server has no health service, grpc.health.v1.Health (UNIMPLEMENTED)")
	}
	if message != "" {
		message = ": " + message
	}
	return fail("the call failed with %s%s", codeName(code), message)
}

// readHealth reads the only message of an answer.
func readHealth(body []byte) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	malformed := fail("the %d bytes of the answer are not the message that was expected, a HealthCheckResponse", len(body))
	if len(body) < grpcPrefix || int(binary.BigEndian.Uint32(body[1:])) != len(body)-grpcPrefix {
		return 0, malformed
	}
	if body[0] != 0 {
		return 0, fail("the answer is compressed, which was not asked for")
	}
	var health grpc_health_v1.HealthCheckResponse
	if err := proto.Unmarshal(body[grpcPrefix:], &health); err != nil {
		return 0, malformed
	}
	return health.GetStatus(), nil
}

// codeName is the name of a status code as gRPC writes it, such as NOT_FOUND.
func codeName(code codes.Code) string {
	names := [...]string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
		"UNAUTHENTICATED",
	}
	if int(code) < len(names) {
		return names[code]
	}
	return fmt.Sprintf("the code %d", code)
}
