// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// format is what the channels of a type send to one product. C is the type's config.
type format[C any] struct {
	name, title string // title is what people call the product
	// hosts name the format by the address of a config that has none. One that begins with
	// a dot stands for all names below it.
	hosts []string
	// takes are the members of the config that the format reads besides memberFormat and the
	// templates, those that it requires first.
	takes    []string
	required int
	// build reads the config. hidden already hides its secret members.
	build func(env *environment, c *C, hidden *redact.Redactor) (*poster, error)
}

// memberFormat is the member of a config that names the format.
const memberFormat = "format"

// formatted is a config whose format says which product gets the messages.
type formatted interface {
	check() error
	// product returns the format that the config names, and the address that says it otherwise.
	product() (name, address string)
}

// parseFormat reads the config of a type by its format.
func parseFormat[C formatted](
	env *environment, kind vigil.ChannelType, given json.RawMessage, formats []format[C],
) (Sender, error) {
	var c C
	hidden, err := env.read(kind, given, &c)
	if err != nil {
		return nil, err
	}
	has := members(given)
	clearDefaults(&c, has)
	f := formatOf(formats, c)
	if err := f.check(c, has); err != nil {
		return nil, err
	}
	p, err := f.build(env, &c, hidden)
	if err != nil {
		return nil, err
	}
	return p, c.check()
}

// formatOf returns the format that a config names, or else that of the product whose address it
// has. Where neither says it, the first of the formats is the one.
func formatOf[C formatted](formats []format[C], c C) *format[C] {
	name, address := c.product()
	at := slices.IndexFunc(formats, func(f format[C]) bool {
		if name == "" {
			return f.owns(address)
		}
		return f.name == name
	})
	return &formats[max(0, at)]
}

// nameOf is the name of the format that a config has by formatOf.
func nameOf[C formatted](formats []format[C], given json.RawMessage) string {
	var c C
	_ = json.Unmarshal(given, &c) // a config that is stored was read before
	return formatOf(formats, c).name
}

// owns reports whether an address is one of the product's. What ends as Discord's addresses for
// Slack's form do says the form itself.
func (f format[C]) owns(address string) bool {
	u, err := url.Parse(address)
	if err != nil || strings.HasSuffix(strings.TrimRight(u.Path, "/"), slackSuffix) {
		return false
	}
	name := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return slices.ContainsFunc(f.hosts, func(host string) bool {
		return name == host || strings.HasPrefix(host, ".") && strings.HasSuffix(name, host)
	})
}

// check refuses members that the format does not take, and asks for those that it requires.
// given has the members that were given.
func (f format[C]) check(zero C, given map[string]json.RawMessage) error {
	for _, member := range f.takes[:f.required] {
		if given[member] == nil {
			return config.Missing(zero, config.Member("config", member))
		}
	}
	common := []string{memberFormat, "title_template", "body_template"}
	for _, member := range config.Names(zero) {
		if given[member] != nil && !slices.Contains(f.takes, member) && !slices.Contains(common, member) {
			return vigil.Invalid(config.Member("config", member), "is no member of a config in the format %s, which takes %s",
				f.name, strings.Join(f.takes, ", "))
		}
	}
	return nil
}

// members returns what a config that was read before has, by name.
func members(given json.RawMessage) map[string]json.RawMessage {
	var found map[string]json.RawMessage
	if json.Unmarshal(given, &found) != nil {
		return nil
	}
	return found
}

// clearDefaults empties the texts that were not given: their defaults are those of one format.
func clearDefaults(into any, given map[string]json.RawMessage) {
	of := reflect.ValueOf(into).Elem()
	for _, field := range reflect.VisibleFields(of.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.Anonymous && given[name] == nil && field.Type.Kind() == reflect.String {
			of.FieldByIndex(field.Index).SetString("")
		}
	}
}

// poster is a channel that sends each message as one request.
type poster struct {
	*environment

	// url of the receiver; call may send below it.
	url    *url.URL
	hidden *redact.Redactor
	call   func(m *Message) (call, error)
	// wait reads from the answer to too many requests how long to wait; nil: only its header says it.
	wait func(answer []byte) time.Duration
	// reference reads from the answer to a message which one it became; nil: the answer does not say it.
	reference func(answer []byte) string
}

// call is what a message is as a request. A zero url is the poster's, and a zero method is POST.
type call struct {
	method string
	url    *url.URL
	header http.Header
	body   []byte
}

func (p *poster) Target() string { return p.url.Host }

// Send makes the request of a message. An end whose beginning cannot be edited or answered any more,
// because somebody deleted it or the channel leads elsewhere by now, is sent as a message of its own.
func (p *poster) Send(ctx context.Context, m Message) Outcome {
	if p.reference == nil {
		m.Previous = ""
	}
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	outcome := p.post(ctx, &m)
	if m.Previous == "" || outcome.StatusCode != http.StatusBadRequest && outcome.StatusCode != http.StatusNotFound {
		return outcome
	}
	began := outcome.Duration
	m.Previous = ""
	outcome = p.post(ctx, &m)
	outcome.Duration += began
	return outcome
}

func (p *poster) post(ctx context.Context, m *Message) Outcome {
	made, err := p.call(m)
	if err != nil {
		return Unusable(err)
	}
	r := request{
		method: http.MethodPost, url: p.url, header: made.header, body: made.body, hidden: p.hidden, wait: p.wait, reference: p.reference,
	}
	if made.method != "" {
		r.method = made.method
	}
	if made.url != nil {
		r.url = made.url
	}
	return p.send(ctx, r)
}

// contentJSON is the media type of most calls.
const contentJSON = "application/json"

// asJSON makes a call of a value. Characters of HTML stay as they are, so that a body is not
// longer than the product permits.
func asJSON(value any) (call, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return call{}, err
	}
	return call{header: http.Header{"Content-Type": {contentJSON}}, body: bytes.TrimSuffix(body.Bytes(), []byte("\n"))}, nil
}

// asForm makes a call of the fields of a form.
func asForm(fields url.Values) call {
	return call{
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, body: []byte(fields.Encode()),
	}
}

// memberAt is the member at a path of an answer; nil without.
func memberAt(answer json.RawMessage, path []string) json.RawMessage {
	for _, member := range path {
		answer = members(answer)[member]
	}
	return answer
}

// waitAt returns a reader of the number at a path of an answer, in the given unit.
func waitAt(unit time.Duration, path ...string) func(answer []byte) time.Duration {
	return func(answer []byte) time.Duration {
		var number float64
		if json.Unmarshal(memberAt(answer, path), &number) != nil || number <= 0 {
			return 0
		}
		if number > float64(MaxRetryAfter/unit) {
			return MaxRetryAfter
		}
		return time.Duration(math.Round(number * float64(unit)))
	}
}

// textAt returns a reader of the text or number at a path of an answer.
func textAt(path ...string) func(answer []byte) string {
	return func(answer []byte) string {
		answer = memberAt(answer, path)
		var text string
		if json.Unmarshal(answer, &text) == nil {
			return text
		}
		var number json.Number
		_ = json.Unmarshal(answer, &number)
		return number.String()
	}
}

// link is the address that a message is about; empty where it has none that a product takes.
func link(m *Message) string {
	to := m.Variables["incident_url"]
	if (strings.HasPrefix(to, "https://") || strings.HasPrefix(to, "http://")) && visible(to) {
		return to
	}
	return ""
}
