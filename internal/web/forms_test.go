// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// schema is a part of the OpenAPI document.
type schema struct {
	Ref           string            `json:"$ref"`
	Properties    map[string]schema `json:"properties"`
	Items         *schema           `json:"items"`
	Discriminator struct {
		Mapping map[string]string `json:"mapping"`
	} `json:"discriminator"`
}

// TestFormKnowsEveryMember holds that each member of each type's config that the API
// documents is a field of the form.
func TestFormKnowsEveryMember(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	schemas := o.schemas(t)
	mapping := schemas["Check"].Discriminator.Mapping
	if len(mapping) < 10 {
		t.Fatalf("the document has %d types of checks", len(mapping))
	}
	for kind, ref := range mapping {
		p := o.view(t, "/app/checks/new?type="+kind)
		if p.status != http.StatusOK || p.values.Get("type") != kind {
			t.Errorf("%s: status %d, type %q", kind, p.status, p.values.Get("type"))
			continue
		}
		p.expect(t, schemas, schemas[nameOf(ref)].Properties["config"], "config")
	}
}

func nameOf(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// expect fails the test unless the form has a field for each member of a schema. It adds
// rows to lists that have none.
func (p *opened) expect(t *testing.T, schemas map[string]schema, of schema, path string) {
	t.Helper()
	if of.Ref != "" {
		of = schemas[nameOf(of.Ref)]
	}
	for name, member := range of.Properties {
		at := path + "." + name
		if member.Ref != "" {
			p.expect(t, schemas, member, at)
			continue
		}
		button := "add:" + at
		switch {
		case member.Items != nil && member.Items.Ref != "":
			if p.field(at+"[0]."+anyOf(schemas[nameOf(member.Items.Ref)])) == nil {
				*p = *p.press(t, button)
			}
			p.expect(t, schemas, *member.Items, at+"[0]")
		case name == "headers":
			if with := p.press(t, button); with.field(at+"[0].name") == nil || with.field(at+"[0].value") == nil {
				t.Errorf("no field for a row of %s", at)
			}
		case name == "config" && strings.Contains(path, "steps["):
			// The config of a step has the members of its type.
			p.expect(t, schemas, schema{Ref: "HTTPConfig"}, at)
		case p.field(at) == nil:
			t.Errorf("the form of %s has no field %s", p.values.Get("type"), at)
		}
	}
}

func anyOf(s schema) string {
	if _, ok := s.Properties["source"]; ok {
		return "source"
	}
	return "name"
}

// schemas reads the OpenAPI document.
func (o *office) schemas(t *testing.T) map[string]schema {
	t.Helper()
	answer := httptest.NewRecorder()
	o.api.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", http.NoBody))
	var document struct {
		Components struct {
			Schemas map[string]schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	return document.Components.Schemas
}

// example is a check of a type, as somebody fills in its form.
type example struct {
	kind    string
	buttons []string          // pressed before anything is typed
	fields  map[string]string // what is typed
	wrong   string            // the field with a mistake
	mistake string
	message string // of the API
	config  string // that the API shows in the end, as JSON
	secret  string // a field that stays masked when it is edited
}

// testAuthority is a certificate in PEM.
const testAuthority = `-----BEGIN CERTIFICATE-----
MIIBiDCCAS+gAwIBAgIUG1MqKBfEYDzIAeb+mUZBrCw0pNMwCgYIKoZIzj0EAwIw
GTEXMBUGA1UEAwwOVGVzdCBhdXRob3JpdHkwIBcNMjYxMTI1MTQyNTU0WhgPMjEy
NjExMDExNDI1NTRaMBkxFzAVBgNVBAMMDlRlc3QgYXV0aG9yaXR5MFkwEwYHKoZI
zj0CAQYIKoZIzj0DAQcDQgAEzhr/Cp6cAScpWIuLRikp14yOYg1O5pRi6bMvZ17a
FLL+Ze7y1CcZ+2xCXg5u68au2YnDEsG8fQOAXNqT81aSXqNTMFEwHQYDVR0OBBYE
FHNCdOr4IAE1ZDFvVOyS1BARiQKHMB8GA1UdIwQYMBaAFHNCdOr4IAE1ZDFvVOyS
1BARiQKHMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgBaAhPXp0
rhvK6K1oZW4vFvk1lacV/NwRz2HApcVCeM8CIE+AAlb8QsQJvxIaRug0ATBhvaRu
dXxxftmJGF2RJuav
-----END CERTIFICATE-----`

func examples() []example {
	return []example{
		{
			kind: "https", buttons: []string{"add:config.headers"},
			fields: map[string]string{
				"config.url": "https://orders.harbor.example/v1/ready", "config.headers[0].name": "X-Api-Key", "config.headers[0].value": "s3cret",
				"config.assertions[0].target": "204",
			},
			wrong: "config.url", mistake: "ftp://orders.harbor.example", message: "must",
			config: `{"assertions":[{"operator":"eq","source":"status","target":204}],"headers":{"X-Api-Key":"***"},
				"url":"https://orders.harbor.example/v1/ready"}`,
			secret: "config.headers[0].value",
		},
		{
			kind: "http", buttons: []string{"add:config.assertions"},
			fields: map[string]string{
				"config.url": "http://127.0.0.1:9/health", "config.method": "POST", "config.body": "{}", "config.expected_status_codes": "200, 3xx",
				"config.basic_auth.username": "ada", "config.basic_auth.password": "s3cret", "config.assertions[1].source": "json",
				"config.assertions[1].property": "$.status", "config.assertions[1].target": `"ready"`,
			},
			wrong: "config.assertions[1].property", mistake: "$[", message: "is not a valid JSONPath",
			config: `{"assertions":[{"operator":"eq","source":"status","target":200},{"operator":"eq","property":"$.status","source":"json",
				"target":"ready"}],"basic_auth":{"password":"***","username":"ada"},"body":"{}","expected_status_codes":[200,"3xx"],"method":"POST",
				"url":"http://127.0.0.1:9/health"}`,
			secret: "config.basic_auth.password",
		},
		{
			kind: "http3", fields: map[string]string{"config.url": "https://www.harbor.example/", "config.timeout_seconds": "5"},
			wrong: "config.timeout_seconds", mistake: "many", message: "must be a whole number from 1 to 60",
			config: `{"assertions":[{"operator":"eq","source":"status","target":200}],"timeout_seconds":5,"url":"https://www.harbor.example/"}`,
		},
		{
			kind: "tcp", fields: map[string]string{"config.host": "db.harbor.example", "config.port": "5432", "config.send": "a\r\nb"},
			wrong: "config.port", mistake: "", message: "is required", config: `{"host":"db.harbor.example","port":5432,"send":"a\r\nb"}`,
		},
		{
			kind: "grpc",
			fields: map[string]string{
				"config.host": "api.harbor.example", "config.port": "443", "config.service": "shop.v1.Orders", "config.tls.server_name": "a.example",
				"config.tls.ca_certificates": testAuthority, "config.headers[0].name": "authorization", "config.headers[0].value": "Bearer s3cret",
			},
			buttons: []string{"add:config.headers"}, secret: "config.headers[0].value",
			wrong: "config.tls.ca_certificates", mistake: "no PEM", message: "must be at least one certificate in PEM",
			config: `{"headers":{"authorization":"***"},"host":"api.harbor.example","port":443,"service":"shop.v1.Orders",
				"tls":{"ca_certificates":"` + strings.ReplaceAll(testAuthority, "\n", `\r\n`) + `","server_name":"a.example"}}`,
		},
		{
			kind: "websocket", buttons: []string{"add:config.headers"},
			fields: map[string]string{
				"config.url": "wss://live.harbor.example/", "config.headers[0].name": "Authorization", "config.headers[0].value": "Bearer s3cret",
				"config.subprotocols": "v2.chat\r\nv1.chat", "config.send": "ping", "config.expect": "pong",
			},
			wrong: "config.subprotocols", mistake: "a b", message: "must be a name without spaces", secret: "config.headers[0].value",
			config: `{"expect":"pong","headers":{"Authorization":"***"},"send":"ping","subprotocols":["v2.chat","v1.chat"],
				"url":"wss://live.harbor.example/"}`,
		},
		{
			kind: "domain", fields: map[string]string{
				"config.domain": "www.harbor.example", "config.alert_days_before": "30",
				"config.rdap_server": "https://rdap.harbor.example/",
			},
			wrong: "config.domain", mistake: "com", message: "is a suffix below which domains are registered",
			config: `{"alert_days_before":30,"domain":"www.harbor.example","rdap_server":"https://rdap.harbor.example/"}`,
		},
		{
			kind: "ping", fields: map[string]string{"config.host": "vpn.harbor.example", "config.max_packet_loss_percent": "0.5"},
			wrong: "config.max_packet_loss_percent", mistake: "100", message: "must be a number from 0 to 99",
			config: `{"host":"vpn.harbor.example","max_packet_loss_percent":0.5}`,
		},
		{
			kind: "dns",
			fields: map[string]string{
				"config.host": "harbor.example", "config.record_type": "TXT", "config.expected_values": "v=spf1 -all\r\nx", "config.match": "all",
				"config.resolvers": "1.1.1.1\n9.9.9.9:53",
			},
			wrong: "config.resolvers", mistake: "ns1 53", message: "host name",
			config: `{"expected_values":["v=spf1 -all","x"],"host":"harbor.example","match":"all","record_type":"TXT",
				"resolvers":["1.1.1.1","9.9.9.9:53"]}`,
		},
		{
			kind: "ssl", fields: map[string]string{"config.host": "pay.harbor.example", "config.alert_days_before": "14"},
			wrong: "config.alert_days_before", mistake: "-1", message: "must be a whole number from 0 to 3650",
			config: `{"alert_days_before":14,"host":"pay.harbor.example"}`,
		},
		{
			kind: "smtp-imap",
			fields: map[string]string{
				"config.smtp.host": "smtp.harbor.example", "config.smtp.username": "probe", "config.smtp.password": "s3cret",
				"config.imap.host": "imap.harbor.example", "config.imap.username": "inbox", "config.imap.password": "s3cret2",
				"config.from": "probe@harbor.example", "config.to": "inbox@harbor.example", "config.round_trip": "true", "interval_seconds": "300",
			},
			wrong: "config.from", mistake: "probe", message: "must be a mail address",
			config: `{"from":"probe@harbor.example","imap":{"host":"imap.harbor.example","password":"***","username":"inbox"},"round_trip":true,
				"smtp":{"host":"smtp.harbor.example","password":"***","username":"probe"},"to":"inbox@harbor.example"}`,
			secret: "config.smtp.password",
		},
		{
			kind: "heartbeat", fields: map[string]string{"config.schedule.every_seconds": "300", "config.grace_seconds": "60"},
			wrong: "config.grace_seconds", mistake: "-1", message: "must be",
			config: `{"grace_seconds":60,"schedule":{"every_seconds":300}}`,
		},
		{
			kind: "throughput", fields: map[string]string{"config.url": "https://files.harbor.example/100mb.bin", "config.min_mbps": "2.5"},
			wrong: "config.min_mbps", mistake: "fast", message: "must be a number",
			config: `{"min_mbps":2.5,"url":"https://files.harbor.example/100mb.bin"}`,
		},
		{
			kind: "multistep", buttons: []string{"add:config.steps[0].extract", "add:config.steps", "add:config.steps[1].config.headers"},
			fields: map[string]string{
				"config.steps[0].name": "log in", "config.steps[0].config.url": "https://id.harbor.example/login",
				"config.steps[0].config.method": "POST", "config.steps[0].extract[0].name": "token", "config.steps[0].extract[0].property": "$.token",
				"config.steps[1].name": "see the cart", "config.steps[1].config.url": "https://shop.harbor.example/cart",
				"config.steps[1].config.headers[0].name": "Authorization", "config.steps[1].config.headers[0].value": "Bearer {{token}}",
			},
			wrong: "config.steps[1].config.url", mistake: "shop", message: "must",
			config: `{"steps":[{"config":{"method":"POST","url":"https://id.harbor.example/login"},"extract":[{"name":"token","property":"$.token",
				"source":"json"}],"name":"log in","type":"https"},{"config":{"headers":{"Authorization":"***"},
				"url":"https://shop.harbor.example/cart"},"name":"see the cart","type":"https"}]}`,
			secret: "config.steps[1].config.headers[0].value",
		},
	}
}

// TestChecksByForm creates a check of each type by its form, with a mistake first, and
// changes it, all without scripts.
func TestChecksByForm(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	all := examples()
	if kinds := len(o.schemas(t)["Check"].Discriminator.Mapping); len(all) != kinds {
		t.Errorf("%d examples, want one for each of the %d types", len(all), kinds)
	}
	for _, e := range all {
		t.Run(e.kind, func(t *testing.T) {
			t.Parallel()
			p := o.view(t, "/app/checks/new?type="+e.kind)
			for _, button := range e.buttons {
				p = p.press(t, button)
			}
			p.enter(t, "name", "Orders "+e.kind)
			e.fill(t, p)
			p.enter(t, e.wrong, e.mistake)
			p = p.press(t, "")
			if got := p.wrong(t, e.wrong); p.status != http.StatusUnprocessableEntity || !strings.Contains(got, e.message) {
				t.Fatalf("status %d, message %q, want %q", p.status, got, e.message)
			}
			if p.values.Get("name") != "Orders "+e.kind || p.values.Get(e.wrong) != e.mistake {
				t.Errorf("what was typed is lost: %v", p.values)
			}
			if strings.Contains(p.raw, "s3cret") {
				t.Error("a secret was sent back to the page")
			}
			e.fill(t, p)
			p = p.press(t, "")
			if p.status != http.StatusSeeOther {
				t.Fatalf("status %d, %s, %v", p.status, p.summary(), p.values)
			}
			e.edit(t, o, p.location)
		})
	}
}

// fill types what the example has.
func (e example) fill(t *testing.T, p *opened) {
	t.Helper()
	for name, value := range e.fields {
		p.enter(t, name, value)
	}
}

// stored is a check as the API shows it.
type stored struct {
	ID       string
	Name     string
	Type     string
	Interval int `json:"interval_seconds"`
	Regions  []string
	Labels   map[string]string
	Enabled  bool
	Config   json.RawMessage
}

// edit compares the check with the example, and changes its name and its interval.
func (e example) edit(t *testing.T, o *office, location string) {
	t.Helper()
	path := "/v1" + strings.TrimPrefix(location, "/app")
	var made stored
	o.call(t, http.MethodGet, path, nil, &made)
	if got, want := compact(t, made.Config), compact(t, []byte(e.config)); got != want || made.Type != e.kind {
		t.Errorf("type %s, config\n%s, want\n%s", made.Type, got, want)
	}
	regions, interval := 2, 600
	if e.kind == "heartbeat" { // both follow from the schedule
		regions, interval = 1, 300
	}
	if len(made.Regions) != regions || !made.Enabled {
		t.Errorf("the check is %+v, want it enabled in the regions that are online", made)
	}
	p := o.view(t, location+"/edit")
	for name, value := range e.fields {
		if want := strings.ReplaceAll(
			value,
			"\r\n",
			"\n",
		); name != "interval_seconds" && !strings.Contains(value, "s3cret") &&
			name != e.secret &&
			strings.ReplaceAll(p.values.Get(name), "\r\n", "\n") != want {
			t.Errorf("%s shows %q, want %q", name, p.values.Get(name), want)
		}
	}
	if e.secret != "" && p.values.Get(e.secret) != "***" {
		t.Errorf("%s shows %q, want it masked", e.secret, p.values.Get(e.secret))
	}
	p.enter(t, "name", "Renamed "+e.kind)
	if e.kind != "heartbeat" {
		p.enter(t, "interval_seconds", "600")
	}
	if p = p.press(t, ""); p.status != http.StatusSeeOther || p.location != location {
		t.Fatalf("status %d, %s", p.status, p.summary())
	}
	var changed stored
	o.call(t, http.MethodGet, path, nil, &changed)
	if changed.Name != "Renamed "+e.kind || changed.Interval != interval || compact(t, changed.Config) != compact(t, made.Config) {
		t.Errorf("the check became %+v with %s", changed, changed.Config)
	}
}

// compact writes JSON with sorted members.
func compact(t *testing.T, text []byte) string {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	sorted, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}
