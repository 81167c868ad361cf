// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

func TestChannelTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	type object = map[string]any
	for name, tt := range map[string]struct {
		kind   string
		config object
		shown  object // nil: as given
	}{
		"EmailList": {"email", object{"to": []any{"ada@example.com", "grace@example.com"}}, nil},
		"EmailOne":  {"email", object{"email": "ada@example.com"}, nil},
		"Webhook":   {"webhook", object{"url": "https://hooks.example.com/x"}, nil},
		"WebhookSecret": {
			"webhook",
			object{
				"url":     "https://hooks.example.com/x",
				"method":  "PUT",
				"secret":  "hunter2",
				"headers": object{"Authorization": "Bearer hunter2", "X-Team": "web"},
			},
			object{
				"url":     "https://hooks.example.com/x",
				"method":  "PUT",
				"secret":  "***",
				"headers": object{"Authorization": "***", "X-Team": "web"},
			},
		},
		"Push": {"push", object{"topic": "vigil-alerts"}, nil},
		"Chat": {"chat", object{"webhook_url": "https://chat.example.com/hooks/1"}, object{"webhook_url": "https://chat.example.com/***"}},
		"WebhookWithAQuery": {
			"webhook", object{"url": "https://hooks.example.com/x?a=b&token=hunter2"}, object{"url": "https://hooks.example.com/x?a=b&token=***"},
		},
		"Pager": {"pager", object{"routing_key": "R0123456789012345678901234567890"}, object{"routing_key": "***"}},
		"Templates": {
			"webhook",
			object{"url": "https://hooks.example.com/x", "title_template": "{{severity}}: {{check_name}}", "body_template": "{{error_message}}"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := a.channel(t, with("type", tt.kind), with("config", tt.config))
			if tt.shown == nil {
				tt.shown = tt.config
			}
			if encoded(t, made["config"]) != encoded(t, tt.shown) || made["type"] != tt.kind || made["enabled"] != true ||
				made["disabled_reason"] != nil || made["org_id"] != a.org.String() {
				t.Errorf("channel %v", made)
			}
			want := object{"push": "ntfy", "chat": "slack", "pager": "pagerduty"}[tt.kind] // nil: it has one form
			if format, given := made["effective_format"]; !given || format != want {
				t.Errorf("the format in effect is %v, want %v", format, want)
			}
			path := "/v1/notification-channels/" + text(made, "id")
			shown := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
			back := a.want(t, http.StatusOK, http.MethodPut, path, shown).data(t)
			if encoded(t, shown) != encoded(t, made) || encoded(t, back) != encoded(t, made) {
				t.Errorf("made  %v\nshown %v\nback  %v", made, shown, back)
			}
			stored, err := b.store.Channel(t.Context(), a.org, parseUUID(t, text(made, "id")))
			if err != nil || !sameObject(t, stored.Config, tt.config) {
				t.Errorf("stored %s (%v)", stored.Config, err)
			}
		})
	}
}

func sameObject(t *testing.T, raw json.RawMessage, want map[string]any) bool {
	t.Helper()
	var got any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return encoded(t, got) == encoded(t, want)
}

func TestChannelsThatCannotBe(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	type object = map[string]any
	hook := func(changes ...func(map[string]any)) object {
		config := object{"url": "https://hooks.example.com/x"}
		for _, change := range changes {
			change(config)
		}
		return object{"name": "x", "type": "webhook", "config": config}
	}
	for name, tt := range map[string]struct { //nolint:paralleltest // what is stored is counted after all of them
		body   any
		member string
	}{
		"NoName":             {object{"type": "webhook", "config": object{"url": "https://x.example"}}, "name"},
		"NoType":             {object{"name": "x", "config": object{"url": "https://x.example"}}, "type"},
		"NoConfig":           {object{"name": "x", "type": "webhook"}, "config"},
		"AnUnknownType":      {object{"name": "x", "type": "fax", "config": object{}}, "type"},
		"AConfigThatIsText":  {object{"name": "x", "type": "webhook", "config": "{}"}, "config"},
		"AnEmptyConfig":      {object{"name": "x", "type": "webhook", "config": object{}}, "config.url"},
		"AFile":              {hook(with("url", "file:///etc/passwd")), "config.url"},
		"CredentialsInURL":   {hook(with("url", "https://ada:hunter2@x.example")), "config.url"},
		"TheMetadataService": {hook(with("url", "http://169.254.169.254/latest")), "config.url"},
		"AnUnknownMember":    {hook(with("retries", 3)), "config.retries"},
		"AnUnknownMethod":    {hook(with("method", "DELETE")), "config.method"},
		"CRLFInAHeader":      {hook(with("headers", object{"X-A": "b\r\nHost: evil"})), "config.headers.X-A"},
		"AMaskOfNothing":     {hook(with("secret", "***")), "config.secret"},
		"AnUnknownVariable":  {hook(with("title_template", "{{cpu_load}}")), "config.title_template"},
		"AnOpenPlaceholder":  {hook(with("body_template", "{{check_name")), "config.body_template"},
		"NoAddress":          {object{"name": "x", "type": "email", "config": object{"to": []string{}}}, "config.to"},
		"NotAnAddress":       {object{"name": "x", "type": "email", "config": object{"email": "ada"}}, "config.email"},
		"AMemberTooMany":     {func() object { o := hook(); o["tier"] = "paid"; return o }(), "tier"},
		"EnabledAsText":      {func() object { o := hook(); o["enabled"] = "true"; return o }(), "enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/notification-channels", tt.body)
			if r.detail("member") != tt.member {
				t.Errorf("it names %v, want %s: %s", r.detail("member"), tt.member, r.raw)
			}
			if strings.Contains(string(r.raw), "hunter2") {
				t.Errorf("a secret is echoed: %s", r.raw)
			}
		})
	}
	r := a.do(t, http.MethodPost, "/v1/notification-channels", hook(with("title_template", "{{cpu_load}}")))
	if !strings.Contains(r.problem(), "regions_down") {
		t.Errorf("the known variables are not listed: %s", r.raw)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/notification-channels", nil).rows(t); len(rows) != 0 {
		t.Errorf("stored: %v", rows)
	}
}

func TestUpdateChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	made := a.channel(t)
	id := parseUUID(t, text(made, "id"))
	path := "/v1/notification-channels/" + id.String()
	secret := func() string {
		stored, err := b.store.Channel(t.Context(), a.org, id)
		if err != nil {
			t.Fatal(err)
		}
		return string(stored.Config)
	}

	const elsewhere = "https://other.example/x"
	moved := map[string]any{"name": "Renamed", "config": map[string]any{"url": elsewhere, "secret": "***"}}
	if r := a.want(t, http.StatusBadRequest, http.MethodPut, path, moved); r.detail("member") != "config.secret" {
		t.Errorf("a secret follows the channel to another host: %s", r.raw)
	}
	const sameHost = "http://127.0.0.1:9/another"
	got := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{
		"name": "Renamed", "config": map[string]any{"url": sameHost, "secret": "***"},
	}).data(t)
	if got["name"] != "Renamed" || encoded(t, got["config"]) != `{"secret":"***","url":"`+sameHost+`"}` ||
		!strings.Contains(secret(), "hunter2") {
		t.Errorf("channel %v, stored %s", got, secret())
	}
	a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"config": map[string]any{"url": elsewhere}})
	if strings.Contains(secret(), "hunter2") {
		t.Error("a secret that was left out is still there")
	}
	for _, change := range []map[string]any{
		{"type": "push"},
		{"config": map[string]any{"topic": "x"}},
		{"name": ""},
		{"enabled": nil},
		{"colour": 1},
		{"config": map[string]any{"url": "https://x.example", "secret": "***"}},
	} {
		a.want(t, http.StatusBadRequest, http.MethodPut, path, change)
	}

	// The platform's reason goes when the channel is enabled again.
	if _, err := b.store.DisableChannel(t.Context(), id, "The receiver answered 410 Gone."); err != nil {
		t.Fatal(err)
	}
	got = a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	if got["enabled"] != false || got["disabled_reason"] != "The receiver answered 410 Gone." {
		t.Errorf("channel %v", got)
	}
	got = a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"name": "Still off"}).data(t)
	if got["enabled"] != false || got["disabled_reason"] == nil {
		t.Errorf("a new name enabled it: %v", got)
	}
	got = a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"enabled": true}).data(t)
	if got["enabled"] != true || got["disabled_reason"] != nil {
		t.Errorf("channel %v", got)
	}

	for _, wrong := range []string{uuid.NewString(), "x"} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			var body any
			if method == http.MethodPut {
				body = map[string]any{"name": "x"}
			}
			if r := a.want(t, http.StatusNotFound, method, "/v1/notification-channels/"+wrong, body); r.problem() != "channel not found" {
				t.Errorf("%s %s: %s", method, wrong, r.raw)
			}
		}
	}
}

func TestDeleteChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check := text(a.check(t), "id")
	doomed, kept := text(a.channel(t), "id"), text(a.channel(t), "id")
	alone := text(a.rule(t, check, doomed, with("name", "Only this channel")), "id")
	both := text(a.rule(t, check, doomed, with("name", "Both channels"), with("notification_channel_ids", []string{doomed, kept})), "id")
	path := "/v1/notification-channels/" + doomed

	r := a.want(t, http.StatusConflict, http.MethodDelete, path, nil)
	if r.body["code"] != "conflict" || !strings.Contains(r.problem(), "Only this channel") ||
		!strings.Contains(r.problem(), "Both channels") ||
		!strings.Contains(r.problem(), "force") {
		t.Errorf("answer %s", r.raw)
	}
	a.want(t, http.StatusBadRequest, http.MethodDelete, path+"?force=maybe", nil)
	a.want(t, http.StatusConflict, http.MethodDelete, path+"?force=false", nil)
	a.want(t, http.StatusOK, http.MethodGet, path, nil)

	a.want(t, http.StatusNoContent, http.MethodDelete, path+"?force=true", nil)
	a.want(t, http.StatusNotFound, http.MethodGet, path, nil)
	a.want(t, http.StatusNotFound, http.MethodDelete, path+"?force=true", nil)
	a.want(t, http.StatusNotFound, http.MethodGet, "/v1/checks/"+check+"/alerts/"+alone, nil)
	left := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+check+"/alerts/"+both, nil).data(t)
	if encoded(t, left["notification_channel_ids"]) != encoded(t, []string{kept}) {
		t.Errorf("rule %v", left)
	}
	eventually(t, "the loop gets the revision", func() bool {
		b.loops.mu.Lock()
		defer b.loops.mu.Unlock()
		return slices.ContainsFunc(b.loops.applied, func(l vigil.Loop) bool { return l.CheckID.String() == check && l.Desired == 4 })
	})
	free := text(a.channel(t), "id")
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/notification-channels/"+free, nil)
}

func TestTryChannel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	type sent struct {
		header http.Header
		body   []byte
	}
	got := make(chan sent, 8)
	status := http.StatusNoContent
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Header, body}
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	id := text(a.channel(t, with("config", map[string]any{"url": receiver.URL + "/hook", "secret": "hunter2"}), with("enabled", false)), "id")
	path := "/v1/notification-channels/" + id + "/test"

	attempt := a.want(t, http.StatusOK, http.MethodPost, path, nil).data(t)
	if attempt["delivered"] != true || attempt["status_code"] != 204.0 || attempt["error_code"] != nil || attempt["manual"] != true ||
		attempt["number"] != 1.0 {
		t.Errorf("attempt %v", attempt)
	}
	one := <-got
	mac := hmac.New(sha256.New, []byte("hunter2"))
	mac.Write(one.body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); one.header.Get("X-Service-Signature") != want {
		t.Errorf("signature %q, want %q", one.header.Get("X-Service-Signature"), want)
	}
	var body struct {
		Type string `json:"type"`
		Data struct {
			Organization struct {
				ID string `json:"id"`
			} `json:"organization"`
		} `json:"data"`
	}
	if err := json.Unmarshal(one.body, &body); err != nil || body.Type != "channel.test" || body.Data.Organization.ID != a.org.String() {
		t.Errorf("body %s (%v)", one.body, err)
	}

	status = http.StatusTeapot
	attempt = a.want(t, http.StatusOK, http.MethodPost, path, nil).data(t)
	if attempt["delivered"] != false || attempt["status_code"] != 418.0 || attempt["error_code"] != "status" || attempt["error"] == nil {
		t.Errorf("attempt %v", attempt)
	}
	<-got
	refusing := map[string]any{"config": map[string]any{"url": "http://" + probetest.ClosedPort(t) + "/hook", "secret": "hunter2"}}
	a.want(t, http.StatusOK, http.MethodPut, "/v1/notification-channels/"+id, refusing)
	attempt = a.want(t, http.StatusOK, http.MethodPost, path, nil).data(t)
	if attempt["delivered"] != false || attempt["error_code"] != "connection_refused" || strings.Contains(encoded(t, attempt), "hunter2") {
		t.Errorf("attempt %v", attempt)
	}
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/deliveries", nil).rows(t); len(rows) != 0 {
		t.Errorf("a test left deliveries: %v", rows)
	}
	a.want(t, http.StatusNotFound, http.MethodPost, "/v1/notification-channels/"+uuid.NewString()+"/test", nil)
}

func TestTemplateVariables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.want(t, http.StatusOK, http.MethodGet, "/v1/template-variables?limit=100", nil) // without a credential
	var names []string
	for _, row := range r.rows(t) {
		names = append(names, text(row, "name"))
		if text(row, "placeholder") != "{{"+text(row, "name")+"}}" || text(row, "description") == "" || text(row, "example") == "" ||
			text(row, "type") == "" {
			t.Errorf("variable %v", row)
		}
	}
	want := strings.Fields(
		`check_id check_name check_type check_target region regions_down status_code response_time_ms error_message failure_count incident_id
		incident_title incident_status severity worst_severity rules_firing started_at resolved_at duration
		rule_id rule_name ssl_days_remaining dns_previous
		dns_current organization_name event_type incident_url evidence drill label.team`,
	)
	slices.Sort(names)
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Errorf("variables %v, want %v", names, want)
	}
}
