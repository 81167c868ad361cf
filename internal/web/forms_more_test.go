// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/html"
)

// answering serves JSON on loopback.
func answering(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"status":"warming"}`))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestCheckForm(t *testing.T) {
	t.Parallel()
	o := openOffice(t)

	t.Run("ChoosesTheTypeByItsAddress", func(t *testing.T) {
		t.Parallel()
		p := o.view(t, "/app/checks/new")
		if p.values.Get("type") != "https" {
			t.Errorf("type %q, want https", p.values.Get("type"))
		}
		tiles := 0
		each(p.root, func(n *html.Node) {
			if n.Data == "input" && attr(n, "type") == "radio" && attr(n, "name") == "type" {
				tiles++
			}
		})
		if tiles != 14 {
			t.Errorf("%d tiles, want 14", tiles)
		}
	})

	t.Run("KeepsWhatWasTypedWhenTheTypeChanges", func(t *testing.T) {
		t.Parallel()
		p := o.view(t, "/app/checks/new")
		p.enter(t, "name", "Orders")
		p.enter(t, "config.url", "https://orders.harbor.example/")
		p.values.Set("do", "type")
		changed := p.open(t, http.MethodPost, p.action+"?type=throughput", p.values)
		if v := changed.values; v.Get("type") != "throughput" || v.Get("name") != "Orders" ||
			v.Get("config.url") != "https://orders.harbor.example/" ||
			v.Get("key") != p.values.Get("key") {
			t.Errorf("the form has %v", v)
		}
		if changed.field("config.method") != nil || changed.field("config.min_mbps") == nil {
			t.Error("the form has fields of the other type")
		}
	})

	t.Run("AddsAndRemovesRowsWithoutScripts", func(t *testing.T) {
		t.Parallel()
		p := o.view(t, "/app/checks/new?type=multistep")
		for range 2 {
			p = p.press(t, "add:config.steps")
		}
		p.enter(t, "config.steps[2].name", "third")
		p.enter(t, "config.steps[2].type", "tcp")
		if p = p.press(
			t,
			"show:config.steps[2].config",
		); p.field("config.steps[2].config.port") == nil ||
			p.field("config.steps[2].config.url") != nil {
			t.Error("the third step has not the fields of tcp")
		}
		p = p.press(t, "remove:config.steps[0]")
		if p.field("config.steps[0].name") != nil || p.values.Get("config.steps[2].name") != "third" {
			t.Errorf("the form has %v", p.values)
		}
		// The API counts the steps that are there: its error is at the right one.
		p.enter(t, "name", "Sign-up")
		p.enter(t, "config.steps[1].name", "second")
		p.enter(t, "config.steps[1].config.url", "https://www.harbor.example/")
		p.enter(t, "config.steps[2].config.host", "db.harbor.example")
		if got := p.press(t, "").wrong(t, "config.steps[1].config.port"); !strings.Contains(got, "is required") {
			t.Errorf("message %q", got)
		}
	})

	t.Run("AsksOnceForASecretThatItDoesNotSendBack", func(t *testing.T) {
		t.Parallel()
		p := o.view(t, "/app/checks/new")
		p.enter(t, "name", "Orders")
		p.enter(t, "config.url", "no address")
		p.enter(t, "config.basic_auth.username", "ada")
		p.enter(t, "config.basic_auth.password", "s3cret")
		p = p.press(t, "")
		p.wrong(t, "config.url")
		p.enter(t, "config.url", "https://orders.harbor.example/")
		p = p.press(t, "")
		if got := p.wrong(t, "config.basic_auth.password"); !strings.Contains(got, "type it again") {
			t.Errorf("message %q", got)
		}
		if p = p.press(t, ""); p.status != http.StatusSeeOther {
			t.Errorf("status %d, %s", p.status, p.summary())
		}
	})

	t.Run("ShowsAKeptSecretThatMustBeSentAgain", func(t *testing.T) {
		t.Parallel()
		var made stored
		o.call(t, http.MethodPost, "/v1/checks", map[string]any{
			"name": "Orders", "type": "https", "interval_seconds": 60, "labels": map[string]string{"team": "orders"},
			"config": map[string]any{"url": "https://a.harbor.example/", "headers": map[string]string{"X-Api-Key": "s3cret", "Cookie": "s3cret"}},
		}, &made)
		p := o.view(t, "/app/checks/"+made.ID+"/edit")
		if strings.Count(p.raw, "Kept as it is stored") != 2 || p.values.Get("labels[0].value") != "orders" {
			t.Errorf("the form has %v", p.values)
		}
		p.enter(t, "config.url", "https://b.harbor.example/")
		p = p.press(t, "")
		for _, row := range []string{"config.headers[0].value", "config.headers[1].value"} {
			if got := p.wrong(t, row); !strings.Contains(got, "keeps a secret only while scheme, host and port stay") {
				t.Errorf("%s: message %q", row, got)
			}
		}
	})

	t.Run("NamesTheErrorsOfWhatEveryCheckHas", func(t *testing.T) {
		t.Parallel()
		p := o.view(t, "/app/checks/new")
		p.enter(t, "config.url", "https://orders.harbor.example/")
		p.enter(t, "interval_seconds", "5")
		p.enter(t, "name", "Orders")
		p = p.press(t, "")
		if got := p.wrong(t, "interval_seconds"); got != "must be at least 30 on the paid tier" {
			t.Errorf("message %q", got)
		}
		if s := p.summary(); !strings.Contains(s, "Not created yet. One thing to change: Every") {
			t.Errorf("summary %q", s)
		}
		p.enter(t, "interval_seconds", "60")
		p = p.press(t, "add:labels")
		p.enter(t, "labels[0].name", "Team")
		p.enter(t, "labels[0].value", "orders")
		p = p.press(t, "")
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.raw, `id="f-labels"`) || !strings.Contains(p.summary(), "Labels") {
			t.Errorf("status %d, %s", p.status, p.summary())
		}
		p.enter(t, "labels[0].name", "team")
		p.values.Del("regions")
		if p = p.press(t, ""); !strings.Contains(p.summary(), "Regions") {
			t.Errorf("status %d, %s", p.status, p.summary())
		}
	})

	t.Run("TestsWhatTheFormSaysWithoutStoringIt", func(t *testing.T) {
		t.Parallel()
		p := o.view(t, "/app/checks/new?type=http")
		p.enter(t, "config.url", answering(t))
		p.enter(t, "config.assertions[0].source", "json")
		p.enter(t, "config.assertions[0].property", "$.status")
		p.enter(t, "config.assertions[0].target", `"ready"`)
		p = p.press(t, "test")
		aside := strings.Join(strings.Fields(textOf(p.byID("check-aside"))), " ")
		for _, want := range []string{
			"Frankfurt", "200", `"warming"`, "No worker polls this region", "Fails. You can save it all the same.",
			"curl -s $VIGIL/v1/checks", "120 executions an hour",
		} {
			if !strings.Contains(aside, want) {
				t.Errorf("no %q beside the form: %s", want, aside)
			}
		}
		p.enter(t, "config.assertions[0].target", `"warming"`)
		if aside = textOf(p.press(t, "test").byID("check-aside")); !strings.Contains(aside, "Passes in 1 of 2 regions") {
			t.Errorf("beside the form: %s", aside)
		}
		p.enter(t, "config.url", "nowhere")
		p = p.press(t, "test")
		if aside = textOf(p.byID("check-aside")); !strings.Contains(aside, "Not tested. To change") || p.status != http.StatusOK {
			t.Errorf("status %d, beside the form: %s", p.status, aside)
		}
		var list []stored
		if o.call(t, http.MethodGet, "/v1/checks?type=http", nil, &list); len(list) != 0 {
			t.Errorf("checks %v were stored", list)
		}
	})

	t.Run("ShowsNoSecretInTheCommand", func(t *testing.T) {
		t.Parallel()
		p := o.view(t, "/app/checks/new?type=multistep").press(t, "add:config.steps[0].config.headers")
		p.enter(t, "config.steps[0].config.headers[0].name", "Authorization")
		p.enter(t, "config.steps[0].config.headers[0].value", "Bearer s3cret")
		p.enter(t, "config.steps[0].config.basic_auth.password", "s3cret")
		if p = p.press(
			t,
			"test",
		); strings.Contains(p.raw, "s3cret") ||
			!strings.Contains(textOf(p.byID("check-aside")), `"Authorization": "***"`) {
			t.Errorf("beside the form: %s", textOf(p.byID("check-aside")))
		}
	})
}

func TestFirstRule(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var channel struct{ ID string }
	o.call(t, http.MethodPost, "/v1/notification-channels", map[string]any{
		"name": "ops-webhook", "type": "webhook", "config": map[string]any{"url": "http://127.0.0.1:9/hook"},
	}, &channel)
	fill := func(t *testing.T) *opened {
		t.Helper()
		p := o.view(t, "/app/checks/new")
		p.enter(t, "name", "Orders")
		p.enter(t, "config.url", "https://orders.harbor.example/")
		p.enter(t, "rule.condition.failure_threshold", "3")
		p.enter(t, "rule.notification_channel_ids", channel.ID)
		return p
	}
	type rule struct {
		Condition struct {
			Failures int    `json:"failure_threshold"`
			Severity string `json:"severity"`
		}
		Policy   string   `json:"region_policy"`
		On       string   `json:"notify_on"`
		Channels []string `json:"notification_channel_ids"`
	}

	t.Run("IsCreatedWithTheCheck", func(t *testing.T) {
		t.Parallel()
		p := fill(t).press(t, "")
		if p.status != http.StatusSeeOther || len(p.cookies) == 0 {
			t.Fatalf("status %d, %s, cookies %v", p.status, p.summary(), p.cookies)
		}
		var rules []rule
		o.call(t, http.MethodGet, "/v1"+strings.TrimPrefix(p.location, "/app")+"/alerts", nil, &rules)
		if len(rules) != 1 || rules[0].Condition.Failures != 3 || rules[0].Policy != "majority" || rules[0].On != "both" ||
			rules[0].Channels[0] != channel.ID {
			t.Errorf("rules %+v", rules)
		}
	})

	t.Run("IsRefusedWithTheCheck", func(t *testing.T) {
		t.Parallel()
		p := fill(t)
		p.enter(t, "name", "Kept")
		p.enter(t, "rule.condition.failure_threshold", "many")
		p.enter(t, "config.url", "ftp://orders.harbor.example/")
		p.enter(t, "config.timeout_seconds", "99")
		p.enter(t, "interval_seconds", "often")
		p.values.Set("regions", "mars")
		p = p.press(t, "")
		if got := p.wrong(t, "rule.condition.failure_threshold"); !strings.Contains(got, "must be a") || strings.Contains(got, "Accepted forms") {
			t.Errorf("message %q", got)
		}
		for _, name := range []string{"config.url", "config.timeout_seconds", "interval_seconds"} {
			p.wrong(t, name)
		}
		if !strings.Contains(p.summary(), "Regions") || strings.Contains(p.summary(), "rules[0]") {
			t.Errorf("the summary is %s", p.summary())
		}
		if p.values.Get("rule.notification_channel_ids") != channel.ID || p.values.Get("rule.condition.failure_threshold") != "many" {
			t.Errorf("form %v", p.values)
		}
		var checks []stored
		if o.call(t, http.MethodGet, "/v1/checks?query=Kept", nil, &checks); len(checks) != 0 {
			t.Errorf("%d checks are left, want none", len(checks))
		}
		for name, value := range map[string]string{
			"rule.condition.failure_threshold": "4", "config.url": "https://orders.harbor.example/", "config.timeout_seconds": "9",
			"interval_seconds": "60",
		} {
			p.enter(t, name, value)
		}
		p.values.Set("regions", "eu-central-fra")
		p = p.press(t, "")
		if p.status != http.StatusSeeOther {
			t.Fatalf("status %d, %s", p.status, p.summary())
		}
		var rules []rule
		o.call(t, http.MethodGet, "/v1"+strings.TrimPrefix(p.location, "/app")+"/alerts", nil, &rules)
		if len(rules) != 1 || rules[0].Condition.Failures != 4 {
			t.Errorf("rules %+v", rules)
		}
	})

	t.Run("LeavesNoCheckWhenItsChannelIsForeign", func(t *testing.T) {
		t.Parallel()
		p := fill(t)
		p.enter(t, "name", "Limited")
		p.enter(t, "rule.notification_channel_ids", uuid.NewString())
		p = p.press(t, "")
		if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.raw, "is not a channel of this organization") {
			t.Errorf("a foreign channel: status %d, %s", p.status, p.summary())
		}
		var checks []stored
		if o.call(t, http.MethodGet, "/v1/checks?query=Limited", nil, &checks); len(checks) != 0 {
			t.Errorf("%d checks are left, want none", len(checks))
		}
	})

	t.Run("MakesNoOtherCheckWithTheKeyOfTheForm", func(t *testing.T) {
		t.Parallel()
		p := fill(t)
		p.press(t, "")
		p.enter(t, "name", "Another")
		p = p.press(t, "")
		if p.status != http.StatusConflict || !strings.Contains(p.summary(), "This form has created a check already") {
			t.Fatalf("status %d, %s", p.status, p.summary())
		}
		if p = p.press(t, ""); p.status != http.StatusSeeOther {
			t.Errorf("status %d, %s", p.status, p.summary())
		}
	})
}

func TestCheckChangedMeanwhile(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	var made stored
	o.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": "Orders", "type": "http", "interval_seconds": 60, "config": map[string]any{"url": "http://a.harbor.example/"},
	}, &made)
	p := o.view(t, "/app/checks/"+made.ID+"/edit")
	o.call(t, http.MethodPut, "/v1/checks/"+made.ID, map[string]any{"name": "Theirs", "interval_seconds": 120}, nil)
	p.enter(t, "name", "Mine")
	p = p.press(t, "")
	if p.status != http.StatusPreconditionFailed {
		t.Fatalf("status %d, %s", p.status, p.summary())
	}
	table := p.find(func(n *html.Node) bool { return n.Data == "table" })
	if table == nil {
		t.Fatal("the page has no table of what differs")
	}
	text := strings.Join(strings.Fields(textOf(table)), " ")
	if !strings.Contains(text, "Name Mine Theirs") || !strings.Contains(text, "Every, in seconds 60 120") ||
		strings.Contains(text, "Address") {
		t.Errorf("the page shows %s", text)
	}
	if !strings.Contains(p.raw, "Changed meanwhile by the API key ") {
		t.Error("the page does not say who changed the check")
	}
	if p = p.press(t, ""); p.status != http.StatusSeeOther {
		t.Fatalf("status %d, %s", p.status, p.summary())
	}
	var now stored
	if o.call(t, http.MethodGet, "/v1/checks/"+made.ID, nil, &now); now.Name != "Mine" || now.Interval != 60 {
		t.Errorf("the check is %+v, want what was typed", now)
	}
}

func TestFirstCheck(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for address, want := range map[string]stored{
		"orders.harbor.example/ready":     {Type: "https", Name: "orders.harbor.example"},
		"http://127.0.0.1:8080/health":    {Type: "http", Name: "127.0.0.1"},
		"tcp://db.harbor.example:5432":    {Type: "tcp", Name: "db.harbor.example"},
		"  https://www.harbor.example/x ": {Type: "https", Name: "www.harbor.example"},
	} {
		t.Run(strings.TrimSpace(address), func(t *testing.T) {
			t.Parallel()
			p := o.open(t, http.MethodPost, "/app/checks/first", url.Values{"config.url": {address}})
			if p.status != http.StatusSeeOther {
				t.Fatalf("status %d, %s", p.status, p.summary())
			}
			var made stored
			o.call(t, http.MethodGet, "/v1"+strings.TrimPrefix(p.location, "/app"), nil, &made)
			if made.Type != want.Type || made.Name != want.Name || len(made.Regions) != 2 {
				t.Errorf("the check is %+v, want %+v", made, want)
			}
		})
	}
	t.Run("ShowsTheWholeFormForWhatIsNoAddress", func(t *testing.T) {
		t.Parallel()
		p := o.open(t, http.MethodPost, "/app/checks/first", url.Values{"config.url": {"ftp://files.harbor.example"}})
		if got := p.wrong(t, "config.url"); !strings.Contains(got, "http") || p.action != "/app/checks/new" {
			t.Errorf("message %q, form to %s", got, p.action)
		}
	})
}
