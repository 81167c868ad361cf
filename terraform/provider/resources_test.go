// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// others is a configuration with every resource besides the check types, whose values
// depend on the step: 0 and 1 differ in each member.
func others(project string, step int) string {
	pick := func(before, after string) string { return []string{before, after}[step] }
	return fmt.Sprintf(`
provider "vigil" { project = %[1]q }
resource "vigil_check" "a" {
  name             = "a of %[1]s"
  interval_seconds = 600
  enabled          = false
  tcp              = { host = "a.example", port = 1 }
}
resource "vigil_notification_channel" "webhook" {
  name    = "webhook of %[1]s %[2]s"
  webhook = %[3]s
}
resource "vigil_notification_channel" "email" {
  name  = "email of %[1]s"
  email = %[4]s
}
resource "vigil_notification_channel" "push" {
  name = "push of %[1]s"
  push = %[5]s
}
resource "vigil_notification_channel" "chat" {
  name = "chat of %[1]s"
  chat = %[6]s
}
resource "vigil_notification_channel" "pager" {
  name    = "pager of %[1]s"
  enabled = %[7]s
  labels  = %[8]s
  pager   = %[9]s
}
resource "vigil_alert_rule" "down" {
  check_id    = vigil_check.a.id
  name        = "rule of %[1]s"
%[10]s
}
resource "vigil_status_page" "public" {
  slug = "%[1]s"
%[11]s
}
resource "vigil_maintenance_window" "deploys" {
  name = "window of %[1]s"
%[12]s
}
resource "vigil_subscription" "all" {
  name       = "subscription of %[1]s"
  channel_id = vigil_notification_channel.chat.id
%[13]s
}
resource "vigil_api_key" "reader" {
  name = "key of %[1]s"
  scopes = ["read"]
  expires_at = "2030-01-01T01:00:00+01:00"
}
`, project, pick("", "changed"),
		pick(`{ url = "https://hooks.example/a", method = "PUT", headers = { X-A = "1" }, secret = "sesame-hook",
    title_template = "a", body_template = "b", traceparent = true }`,
			`{ url = "https://hooks.example/b", secret_headers = { Authorization = "sesame-auth" }, secret_wo = "wo-hook", secret_wo_version = 1 }`),
		pick(`{ to = ["b@shop.example", "a@shop.example"], title_template = "a" }`, `{ email = "c@shop.example", body_template = "b" }`),
		pick(`{ topic = "a", server = "https://ntfy.example", username = "ada", password = "sesame-push" }`,
			`{ topic = "b", server = "https://ntfy.example", password_wo = "wo-push", password_wo_version = 1 }`),
		pick(`{ webhook_url = "https://hooks.example/sesame-chat" }`,
			`{ webhook_url_wo = "https://hooks.example/wo-chat", webhook_url_wo_version = 1, title_template = "a" }`),
		pick("false", "true"), pick(`{ a = "b" }`, `{}`),
		pick(`{ routing_key = "sesame-pager" }`, `{ routing_key_wo = "wo-pager", routing_key_wo_version = 2, url = "https://pager.example/" }`),
		pick(`  condition     = { failure_threshold = 2, dns_changed = false, severity = "critical" }
  channel_ids   = [vigil_notification_channel.chat.id, vigil_notification_channel.push.id, vigil_notification_channel.email.id]`,
			`  condition = { response_time_ms = 500, ssl_days_remaining = 0, status_code = 500, health_status = "down",
    severity = "info", dns_changed = true, recovery_threshold = 3 }
  channel_ids   = [vigil_notification_channel.email.id, vigil_notification_channel.chat.id]
  notify_on     = "both"
  region_policy = "majority"
  enabled       = false
  labels        = { a = "b" }`),
		pick(`  title = "Shop"`, `  title = "The shop"
  noindex = true
  enabled = false
  groups = [{ name = "", checks = [{ check_id = vigil_check.a.id, name = "A" }] }, { name = "empty", checks = [] }]`),
		pick(`  scope = { check_ids = [vigil_check.a.id], all = false }
  starts_at = "2030-12-01T22:00"
  duration_seconds = 3600
  rrule = "FREQ=WEEKLY;BYDAY=TU"
  until = "2031-12-01T22:00"
  timezone = "Europe/Berlin"
  probing = "pause"
  uptime = "include"
  enabled = false`, `  scope = { check_ids = [vigil_check.a.id] }
  starts_at = "2030-12-02T22:00"
  duration_seconds = 60
  enabled = true
  cron = "0 3 * * 2"`),
		pick(`  events   = ["incident.resolved", "incident.triggered"]
  selector = { labels = ["team=shop"], check_ids = [vigil_check.a.id], severity_min = "warning" }
  enabled  = false`, `  events   = ["*"]
  enabled  = true`))
}

// managed are the resources of others that managed_by has.
func managed() []string {
	return []string{
		"vigil_notification_channel.webhook", "vigil_notification_channel.email", "vigil_notification_channel.push",
		"vigil_notification_channel.chat", "vigil_notification_channel.pager", "vigil_alert_rule.down",
		"vigil_status_page.public", "vigil_maintenance_window.deploys", "vigil_subscription.all",
	}
}

// expect returns a plan check that expects an action for resources.
func expect(action plancheck.ResourceActionType, names ...string) resource.ConfigPlanChecks {
	var checks []plancheck.PlanCheck
	for _, name := range names {
		checks = append(checks, plancheck.ExpectResourceAction(name, action))
	}
	return resource.ConfigPlanChecks{PreApply: checks}
}

// lists are the lists of the API that hold the resources of others.
func lists() []string {
	return []string{"/v1/alert-rules", "/v1/subscriptions", "/v1/notification-channels", "/v1/status-pages", "/v1/maintenance-windows"}
}

func TestEveryOtherResourceLives(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("others")
	after := others(project, 1)
	steps := []resource.TestStep{
		{Config: others(project, 0), ConfigPlanChecks: expect(plancheck.ResourceActionCreate, managed()...)},
		{Config: after, ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, managed()...), Check: hasNoSecret("wo-")},
	}
	for _, name := range managed() {
		steps = append(steps, resource.TestStep{
			ResourceName: name, ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: []string{
				"webhook.secret_wo_version", "webhook.secret_headers", "push.password_wo_version", "pager.routing_key_wo_version",
				"chat.webhook_url_wo_version", "labels",
			},
		})
	}
	steps = append(steps, resource.TestStep{
		PreConfig: func() { changeAll(t, project) }, Config: after, ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, managed()...),
	}, resource.TestStep{
		PreConfig: func() { deleteAll(t, project) }, Config: after,
		ConfigPlanChecks: expect(plancheck.ResourceActionCreate, append(managed(), "vigil_api_key.reader")...),
	})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: inProcess(), Steps: steps,
		CheckDestroy: func(*terraform.State) error {
			for _, path := range lists() {
				if left := shared.list(t, path+"?tool=terraform&project="+project); len(left) > 0 {
					return fmt.Errorf("%s has %d left", path, len(left))
				}
			}
			return nil
		},
	})
}

// changeAll changes every object of a project outside of Terraform.
func changeAll(t *testing.T, project string) {
	t.Helper()
	for _, path := range lists() {
		for _, one := range shared.list(t, path+"?tool=terraform&project="+project) {
			change, at := object{"name": "changed outside"}, path
			if check, ok := one["check_id"].(string); ok {
				at = "/v1/checks/" + check + "/alerts"
			}
			if _, ok := one["title"]; ok {
				change = object{"title": "changed outside", "groups": []any{}}
			}
			shared.call(t, http.MethodPut, at+"/"+one["id"].(string), change)
		}
	}
}

// deleteAll deletes every object of a project outside of Terraform, and its key.
func deleteAll(t *testing.T, project string) {
	t.Helper()
	for _, path := range lists() {
		for _, one := range shared.list(t, path+"?limit=100&tool=terraform&project="+project) {
			at := path
			if check, ok := one["check_id"].(string); ok {
				at = "/v1/checks/" + check + "/alerts"
			}
			shared.call(t, http.MethodDelete, at+"/"+one["id"].(string), nil)
		}
	}
	for _, key := range shared.list(t, "/v1/api-keys?limit=1000") {
		if key["name"] == "key of "+project {
			shared.call(t, http.MethodDelete, "/v1/api-keys/"+key["id"].(string), nil)
		}
	}
}

func TestDataSourcesFind(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("found")
	config := others(project, 0) + `
data "vigil_check" "a" { id = vigil_check.a.id }
data "vigil_checks" "all" {
  project    = "` + project + `"
  depends_on = [vigil_check.a]
}
data "vigil_notification_channel" "chat" { name = vigil_notification_channel.chat.name }
data "vigil_notification_channels" "all" {
  label      = "a=b"
  project    = "` + project + `"
  depends_on = [vigil_notification_channel.pager]
}
data "vigil_region" "virginia" { alias = "us-east-1" }
data "vigil_regions" "all" {}
data "vigil_organization" "mine" {}
data "vigil_usage" "now" {}
data "vigil_template_variables" "all" {}
`
	is, set := resource.TestCheckResourceAttr, resource.TestCheckResourceAttrSet
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: inProcess(),
		Steps: []resource.TestStep{{Config: config, Check: resource.ComposeAggregateTestCheckFunc(
			is("data.vigil_check.a", "health_status", "unknown"), is("data.vigil_check.a", "tcp.host", "a.example"),
			is("data.vigil_checks.all", "checks.#", "1"),
			is("data.vigil_notification_channel.chat", "type", "chat"),
			is("data.vigil_notification_channels.all", "channels.#", "1"), is("data.vigil_region.virginia", "key", "na-east-ewr"),
			is("data.vigil_regions.all", "regions.0.key", "na-east-ewr"), is("data.vigil_organization.mine", "slug", "operator"),
			is("data.vigil_usage.now", "tier", "enterprise"), set("data.vigil_template_variables.all", "variables.0.placeholder"),
		)}},
	})
}

func TestSecretsOfTheSensitiveFormAreInTheState(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	config := others(unique("secrets"), 0)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: inProcess(),
		Steps: []resource.TestStep{{Config: config, Check: func(state *terraform.State) error {
			for _, secret := range []string{"sesame-hook", "sesame-push", "sesame-pager", "sesame-chat"} {
				if !strings.Contains(state.String(), secret) {
					return fmt.Errorf("the state lacks %s", secret)
				}
			}
			return nil
		}}},
	})
}
