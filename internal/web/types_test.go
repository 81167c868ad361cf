// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// gopher is a check type that no file of the project names.
type gopher struct{}

// gopherConfig has a member of each kind, only some of them with tags for forms.
type gopherConfig struct {
	Host           string            `json:"host" doc:"Host to ask" maxLength:"253"`
	Port           int               `json:"port,omitempty" minimum:"1" maximum:"65535" default:"70"`
	Selector       string            `json:"selector,omitempty" title:"What to ask for" form:"request,mono" doc:"Selector of the item"`
	Kind           string            `json:"item_kind,omitempty" enum:"menu,text" default:"menu" doc:"Kind of the item"`
	Strict         bool              `json:"strict,omitempty" default:"true" doc:"Refuse lines that are no items"`
	Lines          []string          `json:"lines,omitempty" doc:"Lines that must be there" form:"expect"`
	Words          map[string]string `json:"words,omitempty" doc:"Words to send" secret:"by-name"`
	Password       string            `json:"password,omitempty" secret:"true" doc:"Password"`
	Rows           []gopherRow       `json:"rows,omitempty" doc:"Rows of the menu" form:"expect"`
	TimeoutSeconds int               `json:"timeout_seconds,omitempty" minimum:"1" maximum:"60"`
}

type gopherRow struct {
	Text  string `json:"text" doc:"Its text"`
	Count int    `json:"count,omitempty" doc:"How often"`
}

func (gopher) Type() vigil.CheckType             { return "gopher" }
func (gopher) Documents() (config, metadata any) { return gopherConfig{}, struct{}{} }
func (gopher) Describe() probe.TypeInfo          { return probe.TypeInfo{About: "A hole answers"} }
func (gopher) Deadline() time.Duration           { return time.Second }
func (gopher) Target() string                    { return "gopher" }
func (gopher) Run(context.Context) (seen vigil.Observation) {
	seen.Success = true
	return seen
}

func (g gopher) Parse(given json.RawMessage, _ time.Duration) (probe.Probe, error) {
	var c gopherConfig
	return g, config.Decode(given, &c, "check", 1<<16)
}

// fax is a channel type that no file of the project names.
type fax struct{}

type faxConfig struct {
	Number string            `json:"number" title:"Number" doc:"Number to call."`
	PIN    string            `json:"pin,omitempty" title:"PIN" secret:"true" doc:"PIN of the line."`
	Fine   bool              `json:"fine,omitempty" title:"Fine print" default:"false" doc:"Sends more lines."`
	Tries  int               `json:"tries,omitempty" title:"Calls" minimum:"1" maximum:"9" doc:"Calls of a busy line."`
	Copies []string          `json:"copies,omitempty" title:"Copies" doc:"Other numbers."`
	Lines  map[string]string `json:"lines,omitempty" title:"Lines" doc:"Lines on top."`
	notify.Wording
}

func (fax) Type() vigil.ChannelType { return "fax" }
func (fax) Documents() any          { return faxConfig{} }
func (fax) Target() string          { return "fax" }
func (fax) Policy() notify.Policy {
	return notify.Policy{MaxAttempts: 3, LateOpening: vigil.LateOpeningDrop}
}

func (fax) Describe() notify.TypeInfo {
	return notify.TypeInfo{Title: "Fax", About: "calls a fax machine"}
}

func (fax) Send(context.Context, notify.Message) (sent notify.Outcome) {
	return notify.Outcome{Error: "busy"}
}

func (f fax) Parse(given json.RawMessage) (notify.Sender, error) {
	var c faxConfig
	return f, config.Decode(given, &c, "channel", 1<<16)
}

// withTypes adds both types to the API, and nothing else knows them.
func withTypes(d *api.Deps) {
	guard := egress.New(egress.Policy{AllowPrivate: true})
	d.Probes = probe.NewRegistry(guard, probe.WithType(gopher{}))
	d.Channels = notify.NewRegistry(guard, notify.WithType(fax{}))
}

// TestCheckTypeNeedsNoSecondPlace holds that the pages know a check type from its file alone.
func TestCheckTypeNeedsNoSecondPlace(t *testing.T) {
	t.Parallel()
	o := openOffice(t, withTypes)
	p := o.view(t, "/app/checks/new?type=gopher")
	for name, label := range map[string]string{
		"config.host": "Host", "config.port": "Port", "config.selector": "What to ask for", "config.item_kind": "Item kind",
		"config.strict": "Strict", "config.lines": "Lines", "config.password": "Password", "config.timeout_seconds": "Timeout, in seconds",
	} {
		if got := labelOf(p, name); got != label {
			t.Errorf("%s has the label %q, want %q", name, got, label)
		}
	}
	if p.values.Get("config.item_kind") != "menu" || p.values.Get("config.strict") != "true" {
		t.Errorf("the form begins with %v", p.values)
	}
	if tiles := p.byID("f-type"); !strings.Contains(textOf(tiles), "A hole answers") {
		t.Error("the types do not say what it is for")
	}
	for _, add := range []string{"add:config.words", "add:config.rows"} {
		p = p.press(t, add)
	}
	for name, value := range map[string]string{
		"name": "Hole", "config.host": "gopher.example.com", "config.port": "7070", "config.lines": "a\nb", "config.item_kind": "text",
		"config.rows[0].text": "x", "config.rows[0].count": "2", "config.words[0].name": "X-Token", "config.words[0].value": "hush",
		"config.password": "hush",
	} {
		p.enter(t, name, value)
	}
	p.values.Del("config.strict")
	p = p.press(t, "")
	if p.status != http.StatusSeeOther {
		t.Fatalf("the form answers %d: %s", p.status, p.raw)
	}
	var check struct {
		Type   string         `json:"type"`
		Config map[string]any `json:"config"`
	}
	o.call(t, http.MethodGet, "/v1/checks/"+p.location[strings.LastIndexByte(p.location, '/')+1:], nil, &check)
	got, err := json.Marshal(check.Config)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"host":"gopher.example.com","item_kind":"text","lines":["a","b"],"password":"***","port":7070,` +
		`"rows":[{"count":2,"text":"x"}],"strict":false,"words":{"X-Token":"***"}}`
	if check.Type != "gopher" || string(got) != want {
		t.Errorf("the check is of type %s with %s,\nwant %s", check.Type, got, want)
	}
	if p = o.view(t, p.location+"/edit"); p.values.Get("config.port") != "7070" || p.values.Get("config.password") != "***" {
		t.Errorf("the form of the check has %v", p.values)
	}
	if text := o.view(t, "/app").raw; !strings.Contains(text, "type=gopher") {
		t.Error("the overview cannot be filtered by the type")
	}
	if step := o.view(t, "/app/checks/new?type=multistep").byID("f-config-steps-0--type"); !strings.Contains(textOf(step), "gopher") {
		t.Error("a step cannot have the type")
	}
	p = o.open(t, http.MethodPost, "/app/checks/first", url.Values{"config.url": {"gopher://gopher.example.com:71/"}})
	o.call(t, http.MethodGet, "/v1/checks/"+p.location[strings.LastIndexByte(p.location, '/')+1:], nil, &check)
	if check.Type != "gopher" || check.Config["port"] != 71.0 {
		t.Errorf("the address made a check of type %s with %v", check.Type, check.Config)
	}
	schemas := o.schemas(t)
	if ref := schemas["Check"].Discriminator.Mapping["gopher"]; ref == "" || schemas[nameOf(ref)].Properties["config"].Ref == "" {
		t.Error("the OpenAPI document does not have the type")
	}
}

// TestChannelTypeNeedsNoSecondPlace holds that the pages know a channel type from its file alone.
func TestChannelTypeNeedsNoSecondPlace(t *testing.T) {
	t.Parallel()
	o := openOffice(t, withTypes)
	p := o.view(t, "/app/channels/new?type=fax")
	for _, text := range []string{"Fax calls a fax machine.", ">Number<", ">Fine print<", ">Calls<", ">Copies<", ">Lines<"} {
		if !strings.Contains(p.raw, text) {
			t.Errorf("the form does not show %q", text)
		}
	}
	answer := o.open(t, http.MethodPost, "/app/channels", url.Values{
		"type": {
			"fax",
		},
		"name":          {"Office"},
		"config.number": {"0049 30 1"},
		"config.pin":    {"1234"},
		"config.fine":   {"true"},
		"config.tries":  {"3"},
		"config.copies": {"1\r\n2"},
		"config.lines":  {"To: Ada"},
	})
	if answer.status != http.StatusSeeOther {
		t.Fatalf("the form answers %d: %s", answer.status, answer.raw)
	}
	var channels []struct {
		Type   string         `json:"type"`
		Config map[string]any `json:"config"`
	}
	o.call(t, http.MethodGet, "/v1/notification-channels", nil, &channels)
	got, err := json.Marshal(channels)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"type":"fax","config":{"copies":["1","2"],"fine":true,"lines":{"To":"Ada"},"number":"0049 30 1","pin":"***","tries":3}}]`
	if string(got) != want {
		t.Errorf("the channels are %s,\nwant %s", got, want)
	}
	if text := o.view(t, "/app/channels").raw; !strings.Contains(text, "0049 30 1") {
		t.Error("the list does not say where its messages go")
	}
}

// labelOf is the label of a field, empty without the field.
func labelOf(p *opened, name string) string {
	field := p.field(name)
	if field == nil {
		return ""
	}
	label := p.find(func(n *html.Node) bool { return n.Data == "label" && attr(n, "for") == attr(field, "id") })
	if label == nil {
		return ""
	}
	return strings.TrimSpace(textOf(label))
}
