// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/neterr"
	"github.com/vigil-monitor/vigil/internal/redact"
)

const (
	// maxMessages is how much of a server's messages is read before the expected text.
	maxMessages = 64 << 10
	// closing is how long the server may take to answer that the connection ends.
	closing = time.Second
)

// WebSocketConfig is the config of websocket checks.
type WebSocketConfig struct {
	URL            string            `json:"url" sample:"wss://www.example.com/live" place:"url" secret:"query" doc:"Address to connect to; redirects are not followed. Values of query parameters with the names of credentials are secret" maxLength:"2048" example:"wss://example.com/live"`
	Headers        map[string]string `json:"headers,omitempty" help:"Sent with the handshake." secret:"by-name" doc:"Headers of the request that opens the connection, such as Origin or Authorization"`
	Subprotocols   []string          `json:"subprotocols,omitempty" title:"Subprotocols" help:"One a line, the best first; the server must choose one of them." form:"request,mono" doc:"Subprotocols to offer, in order of preference. The server must choose one of them" maxItems:"10" maxLength:"256" example:"[\"graphql-transport-ws\"]"`
	Send           string            `json:"send,omitempty" title:"Send this message" help:"Once the connection is open. Nothing is sent when it is empty." form:"expect,area,mono" doc:"Text message to send once the connection is open" maxLength:"4096"`
	Expect         string            `json:"expect,omitempty" title:"Text that must come back" help:"In one of the messages, within their first 64 KiB." form:"expect,mono" doc:"Text that one of the messages must contain, within their first 64 KiB. Without it the open connection is enough" maxLength:"1024"`
	VerifyTLS      bool              `json:"verify_tls,omitempty" doc:"Fail when the certificate is not valid for the host" default:"true"`
	TLS            *TLSOptions       `json:"tls,omitempty" doc:"Names and certificates of the TLS connection"`
	TimeoutSeconds int               `json:"timeout_seconds,omitempty" doc:"Longest time for everything, at most the interval. Default: the smaller of 10 and the interval" minimum:"1" maximum:"60"`
}

// WebSocketMetadata is the metadata of a result of a websocket check.
type WebSocketMetadata struct {
	Timings           Timings `json:"timings" doc:"How long each phase took"`
	IP                string  `json:"ip,omitempty" doc:"Address that answered"`
	Subprotocol       string  `json:"subprotocol,omitempty" doc:"Subprotocol that the server chose"`
	Messages          int     `json:"messages,omitempty" doc:"Messages read while looking for the expected text"`
	BytesReceived     int     `json:"bytes_received,omitempty" doc:"Bytes of these messages"`
	TLSVersion        string  `json:"tls_version,omitempty" doc:"Version of TLS" example:"TLS 1.3"`
	CertDaysRemaining *int    `json:"cert_days_remaining,omitempty" doc:"Whole days until the first certificate of the chain expires that a client needs"`
}

var _ = register(newWebSocket)

// newWebSocket makes the websocket type (RFC 6455): the handshake, then a message to send and
// one to expect.
func newWebSocket(env *environment) Prober { return webSocketProber{environment: env} }

type webSocketProber struct{ *environment }

func (webSocketProber) Type() vigil.CheckType { return vigil.TypeWebSocket }

func (webSocketProber) Documents() (config, metadata any) {
	return WebSocketConfig{}, WebSocketMetadata{}
}

// Describe says what the type is for.
func (webSocketProber) Describe() TypeInfo {
	return TypeInfo{
		Position: 5, About: "A message comes back", Schemes: []string{"wss", "ws"}, Conditions: []string{vigil.KeySSLDaysRemaining},
	}
}

func (p webSocketProber) Parse(given json.RawMessage, interval time.Duration) (Probe, error) {
	probe := webSocketProbe{guard: p.guard}
	c := &probe.config
	var err error
	if probe.hidden, err = p.read(p.Type(), given, c); err != nil {
		return nil, err
	}
	if probe.url, err = parseURL(p.guard, "config.url", c.URL, "ws", "wss"); err != nil {
		return nil, err
	}
	if probe.url.Scheme == "ws" && c.TLS != nil {
		return nil, vigil.Invalid("config.tls", "needs a URL that begins with wss://")
	}
	if probe.tls, err = c.TLS.parse("config.tls", p.roots); err != nil {
		return nil, err
	}
	probe.tls.InsecureSkipVerify = !c.VerifyTLS // the owner of the check asked for it
	if probe.header, probe.host, err = parseHeaders("config.headers", c.Headers); err != nil {
		return nil, err
	}
	for name := range c.Headers {
		if canonical := http.CanonicalHeaderKey(name); strings.HasPrefix(canonical, "Sec-Websocket-") {
			return nil, vigil.Invalid(config.Member("config.headers", name), "is set by the platform and cannot be given")
		}
	}
	if probe.header.Get("User-Agent") == "" {
		probe.header.Set("User-Agent", userAgent)
	}
	for i, name := range c.Subprotocols {
		if !config.IsToken(name) {
			return nil, vigil.Invalid(config.Element("config.subprotocols", i), "must be a name without spaces, commas and quotes")
		}
	}
	probe.deadline, err = timeout(c.TimeoutSeconds, interval)
	return probe, err
}

type webSocketProbe struct {
	hidden   *redact.Redactor
	guard    *egress.Guard
	tls      *tls.Config
	config   WebSocketConfig
	url      *url.URL
	header   http.Header
	host     string // the Host header, where the config sets one
	deadline time.Duration
}

func (p webSocketProbe) hides() *redact.Redactor { return p.hidden }

func (p webSocketProbe) Deadline() time.Duration { return p.deadline }

func (p webSocketProbe) Target() string { return p.url.Host }

func (p webSocketProbe) Run(ctx context.Context) vigil.Observation {
	return observe(ctx, p.guard, p.deadline, p.hidden, func(ctx context.Context, t *timeline) outcome {
		var seen WebSocketMetadata
		status, err := p.exchange(ctx, t, &seen)
		t.stop()
		seen.Timings, seen.IP = t.timings(), t.address()
		return outcome{status: status, metadata: seen, err: err}
	})
}

// exchange opens the connection, and sends and expects what the config says. It returns the
// status of the handshake.
func (p webSocketProbe) exchange(ctx context.Context, t *timeline, seen *WebSocketMetadata) (int, error) {
	life, end := context.WithCancel(ctx) // of the connection
	defer end()
	client := p.guard.Client(life, egress.ClientOptions{TLS: p.tls, NoRedirects: true, UserAgent: userAgent})
	conn, response, err := websocket.Dial(ctx, p.url.String(), &websocket.DialOptions{ //nolint:bodyclose // the library closes it
		HTTPClient: client, HTTPHeader: p.header, Host: p.host, Subprotocols: p.config.Subprotocols,
	})
	status := 0
	if response != nil {
		status = response.StatusCode
		seen.TLSVersion, seen.CertDaysRemaining = secured(response.TLS)
	}
	if err != nil {
		return status, p.explainHandshake(ctx, t, response, err)
	}
	defer func() {
		t.stop()
		defer time.AfterFunc(closing, end).Stop()
		_ = conn.Close(websocket.StatusNormalClosure, "")
	}()
	conn.SetReadLimit(maxMessages)
	seen.Subprotocol = clip(conn.Subprotocol(), maxNameText)
	if len(p.config.Subprotocols) > 0 && seen.Subprotocol == "" {
		return status, fail("the server chose no subprotocol, expected %s", quoteSome(p.config.Subprotocols))
	}
	if p.config.Send != "" {
		t.step("sending")
		if err := conn.Write(ctx, websocket.MessageText, []byte(p.config.Send)); err != nil {
			return status, fmt.Errorf("send: %w", explainMessage(ctx, t, err))
		}
	}
	if p.config.Expect == "" {
		return status, nil
	}
	t.step("waiting for the expected text")
	return status, p.expect(ctx, t, conn, seen)
}

// expect reads messages until one has the text.
func (p webSocketProbe) expect(ctx context.Context, t *timeline, conn *websocket.Conn, seen *WebSocketMetadata) error {
	for seen.BytesReceived < maxMessages {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("receive: %w", explainMessage(ctx, t, err))
		}
		seen.Messages++
		seen.BytesReceived += len(message)
		t.recorder.received(message, true)
		if bytes.Contains(message, []byte(p.config.Expect)) {
			return nil
		}
	}
	return fail("the expected text is not in the first %d KiB of the messages", maxMessages>>10)
}

// explainHandshake words an answer that opens no connection. Errors of the network pass.
func (p webSocketProbe) explainHandshake(ctx context.Context, t *timeline, response *http.Response, err error) error {
	if response == nil || ctx.Err() != nil {
		return fmt.Errorf("open: %w", err)
	}
	t.recorder.status(response)
	if response.StatusCode != http.StatusSwitchingProtocols {
		if response.Body != nil {
			first, _ := io.ReadAll(io.LimitReader(response.Body, readEvidenceBody))
			t.recorder.answered(response, first, int64(len(first)), false)
		}
		return fail("the server answered with the HTTP status %d, expected 101", response.StatusCode)
	}
	text := err.Error()
	for _, known := range [...][2]string{ // RFC 6455, section 4.1
		{"Connection header", "the server's answer lacks the header Connection: Upgrade"},
		{"Upgrade header", "the server's answer lacks the header Upgrade: websocket"},
		{"Sec-WebSocket-Accept", "the server's Sec-WebSocket-Accept does not fit the key that was sent"},
		{"Sec-WebSocket-Protocol", "the server chose a subprotocol that was not offered"},
		{"extensions", "the server uses an extension that was not offered"},
	} {
		if strings.Contains(text, known[0]) {
			return verdict(known[1])
		}
	}
	return fail("the server's answer of the status 101 opens no WebSocket connection (RFC 6455, section 4.1)")
}

// explainMessage words how a connection ended that was open. Errors of the network pass.
func explainMessage(ctx context.Context, t *timeline, err error) error {
	if ctx.Err() != nil {
		return err
	}
	if closed, ok := errors.AsType[websocket.CloseError](err); ok {
		reason := ""
		if closed.Reason != "" {
			reason = ": " + closed.Reason
		}
		return fail("the server closed the connection with the code %d while %s%s", closed.Code, t.doing(), reason)
	}
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return fail("the server sent a message of more than %d KiB", maxMessages>>10)
	}
	if code, _ := (neterr.Exchange{}).Explain(ctx, err); code == "" {
		return fail("the server broke the WebSocket protocol while %s", t.doing())
	}
	return err
}
