// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/events"
	"github.com/vigil-monitor/vigil/internal/redact"
)

var _ = register(newWebhook)

// newWebhook makes the channel type that posts events to a program.
func newWebhook(env *environment) Notifier { return webhookType{env} }

type webhookType struct{ *environment }

// webhookConfig is the config of a webhook (spec section 2).
type webhookConfig struct {
	URL             string            `json:"url" title:"Address" place:"url" secret:"query" minLength:"1" maxLength:"2048" format:"uri" doc:"Address that events are posted to." example:"https://hooks.example.com/vigil"`
	Method          string            `json:"method,omitempty" title:"Method" enum:"POST,PUT,PATCH" default:"POST" doc:"Method of the requests."`
	Headers         map[string]string `json:"headers,omitempty" title:"Headers" secret:"by-name" doc:"Headers added to the requests."`
	Secret          string            `json:"secret,omitempty" title:"Secret" secret:"true" maxLength:"1024" doc:"Signs the requests: X-Service-Signature is sha256= and the hexadecimal HMAC-SHA256 of the body; webhook-signature follows Standard Webhooks. A secret that begins with whsec_ goes on in base64 with its padding."`
	Traceparent     bool              `json:"traceparent,omitempty" title:"Trace of the incident" default:"false" doc:"Sends the header traceparent of W3C Trace Context, with the trace of the incident and the span of the attempt. A header of that name in headers takes its place."`
	ContentType     string            `json:"content_type,omitempty" title:"Content type" minLength:"1" maxLength:"255" doc:"Content-Type of the requests; application/json without it, and without one in headers." example:"application/json"`
	Payload         string            `json:"payload,omitempty" title:"Body" enum:"envelope,template" default:"envelope" doc:"What is sent: the envelope of the event, or what payload_template makes."`
	PayloadTemplate string            `json:"payload_template,omitempty" title:"Template of the body" minLength:"1" maxLength:"65535" doc:"The whole body, where payload is template, with variables of GET /v1/template-variables as {{name}}. Their values are escaped for the content type: JSON, application/x-www-form-urlencoded or text/plain. In JSON they stand between quotation marks; only numbers may stand alone, and one without a value is null. Secrets do not belong here: it is shown in answers." example:"{\"text\": \"{{incident_title}}\"}"`
	Wording
}

func (webhookType) Type() vigil.ChannelType { return vigil.ChannelWebhook }
func (webhookType) Documents() any          { return webhookConfig{} }

// Describe says what the type is for.
func (webhookType) Describe() TypeInfo {
	return TypeInfo{Position: 1, Title: "Webhook", About: "posts each event to a program of yours"}
}

// Policy: every event arrives in order, since programs keep their own state.
func (webhookType) Policy() Policy {
	return Policy{MaxAttempts: 12, LateOpening: vigil.LateOpeningDeliver, RecoveryAfterFailure: true}
}

// Parse reads the config.
func (t webhookType) Parse(given json.RawMessage) (Sender, error) {
	w := &webhook{environment: t.environment}
	hidden, err := t.read(t.Type(), given, &w.config)
	if err != nil {
		return nil, err
	}
	if w.url, err = t.parseURL("config.url", w.config.URL); err != nil {
		return nil, err
	}
	if w.header, err = config.Headers("config.headers", w.config.Headers, reserved); err != nil {
		return nil, err
	}
	if err := w.parseContent(members(given)); err != nil {
		return nil, err
	}
	w.signing.secret = w.config.Secret
	if w.signing.key, err = standardKey(w.config.Secret); err != nil {
		return nil, err
	}
	w.hidden = hidden.With(slices.Concat(pathTexts(w.url), headerTexts(w.config.Headers), []string{string(w.signing.key)})...)
	return w, w.config.check()
}

// parseContent reads what the body is made of.
func (w *webhook) parseContent(given map[string]json.RawMessage) error {
	if w.config.ContentType != "" {
		if _, _, err := mime.ParseMediaType(w.config.ContentType); err != nil || !config.IsFieldValue(w.config.ContentType) {
			return vigil.Invalid("config.content_type", "must be a media type, such as application/json")
		}
		if w.header.Get("Content-Type") != "" {
			return vigil.Invalid("config.content_type", "is given in headers as well")
		}
		w.header.Set("Content-Type", w.config.ContentType)
	}
	if w.header.Get("Content-Type") == "" {
		w.header.Set("Content-Type", contentJSON)
	}
	if w.config.Payload != payloadTemplate {
		if given["payload_template"] != nil {
			return vigil.Invalid("config.payload_template", "is used only where payload is template")
		}
		return nil
	}
	if given["payload_template"] == nil {
		return config.Missing(w.config, "config.payload_template")
	}
	for _, member := range []string{"title_template", "body_template"} {
		if given[member] != nil {
			return vigil.Invalid("config."+member, "has no effect where payload is template: payload_template is the whole body")
		}
	}
	var err error
	w.payload, err = parsePayload(w.config.PayloadTemplate, w.header.Get("Content-Type"))
	return err
}

// payloadTemplate is the value of payload that sends what a template makes.
const payloadTemplate = "template"

// headerTraceparent is a header of W3C Trace Context.
const headerTraceparent = "Traceparent"

type webhook struct {
	*environment

	config  webhookConfig
	url     *url.URL
	header  http.Header
	signing signingKey
	former  signingKey // that signs too, see WithFormerSecret
	hidden  *redact.Redactor
	// payload makes the body; nil: it is the envelope.
	payload *payload
}

func (w *webhook) Target() string { return w.url.Host }

// Send posts the envelope as it is: the signatures and what the receiver keeps
// depend on every byte.
func (w *webhook) Send(ctx context.Context, m Message) Outcome {
	header := w.header.Clone()
	now := w.now()
	header.Set("X-Service-Event", string(m.Type))
	header.Set("X-Service-Delivery", m.Delivery.String())
	header.Set("X-Service-Attempt", strconv.Itoa(m.Attempt))
	if m.Drill {
		header.Set("X-Service-Drill", "1")
	}
	header.Set(headerWebhookID, m.Event.String())
	header.Set(headerWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if w.config.Traceparent && m.Traceparent != "" && header.Get(headerTraceparent) == "" {
		header.Set(headerTraceparent, m.Traceparent)
	}
	if w.config.Secret != "" {
		sign(header, w.signing, w.former, m.Event.String(), now, m.Envelope)
	}
	return w.send(ctx, request{
		method: w.config.Method, url: w.url, header: header, body: m.Envelope, hidden: w.hidden,
	})
}

// freeze makes the body of a template, or puts the channel's own words into the envelope's
// data.message. An envelope that would outgrow its bound keeps the words it has.
func (w *webhook) freeze(m Message) []byte {
	if w.payload != nil {
		return w.payload.render(&m)
	}
	if w.config.TitleTemplate == "" && w.config.BodyTemplate == "" {
		return m.Envelope
	}
	var envelope struct {
		ID        json.RawMessage            `json:"id"`
		Type      json.RawMessage            `json:"type"`
		Version   json.RawMessage            `json:"version"`
		Timestamp json.RawMessage            `json:"timestamp"`
		Data      map[string]json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(m.Envelope, &envelope); err != nil || envelope.Data == nil {
		return m.Envelope
	}
	words, err := json.Marshal(map[string]string{
		"title": w.config.title(&m, asIs), "body": w.config.body(&m, asIs),
	})
	if err != nil {
		return m.Envelope
	}
	envelope.Data["message"] = words
	frozen, err := json.Marshal(envelope)
	if err != nil || len(frozen) > events.MaxEnvelope {
		return m.Envelope
	}
	return frozen
}
