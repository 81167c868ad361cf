// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// small is a configuration with one check.
func small(project, attributes string) string {
	return fmt.Sprintf(`
provider "vigil" { project = %[1]q }
resource "vigil_check" "a" {
  name = "a of %[1]s"
%[2]s
}
`, project, attributes)
}

const tcp = "  interval_seconds = 600\n  enabled = false\n  tcp = { host = \"a.example\", port = 1 }"

// steps runs the steps with the provider of this test.
func steps(t *testing.T, all ...resource.TestStep) {
	t.Helper()
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: inProcess(), Steps: all})
}

func TestMistakeIsAtItsAttribute(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("mistakes")
	for _, one := range []struct{ name, attributes, want string }{
		{"NoType", "  interval_seconds = 60", `(?s)No attribute specified`},
		{"TwoTypes", tcp + "\n  ping = { host = \"a.example\" }", `(?s)2[\s│]+attributes[\s│]+specified`},
		{"Alias", tcp + "\n  regions = [\"us-east-1\"]", `(?s)regions = \["us-east-1"\].*Write[\s│]+"na-east-ewr"`},
		{
			"Member", "  interval_seconds = 60\n  tcp = { host = \"a.example\", port = 99999 }",
			`(?s)with vigil_check.a,.*tcp = \{ host.*tcp\.port: must be a whole number`,
		},
		{
			"MemberOfAStep",
			"  interval_seconds = 60\n  multistep = { steps = [{ name = \"x\", https = {\n    url = \"nowhere\"\n  } }] }",
			`(?s)multistep = \{ steps.*multistep\.steps\[0\]\.https\.url: must begin`,
		},
		{"VersionMissing", `  interval_seconds = 60
  https = { url = "https://shop.example/", basic_auth = { username = "a", password_wo = "b" } }`, `(?s)password_wo_version`},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			steps(t, resource.TestStep{Config: small(project, one.attributes), ExpectError: regexp.MustCompile(one.want)})
		})
	}
}

func TestCheckKeepsItsIDWhenItsTypeChanges(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project, id := unique("typed"), ""
	steps(t,
		resource.TestStep{Config: small(project, tcp), Check: func(state *terraform.State) error {
			id = state.RootModule().Resources["vigil_check.a"].Primary.ID
			return nil
		}},
		resource.TestStep{
			Config:           small(project, "  interval_seconds = 600\n  enabled = false\n  ping = { host = \"a.example\" }"),
			ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, "vigil_check.a"),
			Check: func(state *terraform.State) error {
				if now := state.RootModule().Resources["vigil_check.a"].Primary.ID; now != id {
					return fmt.Errorf("the check %s became %s", id, now)
				}
				return nil
			},
		})
}

func TestChannelOfAnotherTypeIsAnotherChannel(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	channel := func(config string) string {
		return "resource \"vigil_notification_channel\" \"a\" {\n  name = \"of another type\"\n" + config + "\n}\n"
	}
	steps(t,
		resource.TestStep{Config: channel(`  chat = { webhook_url = "https://hooks.example/chat" }`)},
		resource.TestStep{
			Config:           channel(`  push = { topic = "a" }`),
			ConfigPlanChecks: expect(plancheck.ResourceActionReplace, "vigil_notification_channel.a"),
		})
}

func TestPauseByHandStaysUnlessTheConfigurationSaysOtherwise(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("paused")
	unsaid := small(project, "  interval_seconds = 600\n  tcp = { host = \"a.example\", port = 1 }")
	pause := func() {
		for _, one := range ofProject(t, project) {
			shared.call(t, http.MethodPut, "/v1/checks/"+one["id"].(string), object{"enabled": false})
		}
	}
	steps(t,
		resource.TestStep{Config: unsaid, Check: resource.TestCheckResourceAttr("vigil_check.a", "enabled", "true")},
		resource.TestStep{PreConfig: pause, Config: unsaid, ConfigPlanChecks: expect(plancheck.ResourceActionNoop, "vigil_check.a")},
		resource.TestStep{
			Config:           small(project, "  interval_seconds = 600\n  enabled = true\n  tcp = { host = \"a.example\", port = 1 }"),
			ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, "vigil_check.a"),
		})
}

func TestWriteOnlySecretIsSentAgainOnlyWithAnotherVersion(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("written")
	with := func(value string, version int) string {
		return small(project, fmt.Sprintf(`  interval_seconds = 600
  enabled = false
  https = {
    url        = "https://shop.example/"
    basic_auth = { username = "ada", password_wo = %q, password_wo_version = %d }
  }`, value, version))
	}
	steps(t,
		resource.TestStep{Config: with("wo-first", 1), Check: hasNoSecret("wo-first")},
		resource.TestStep{Config: with("wo-second", 1), ConfigPlanChecks: expect(plancheck.ResourceActionNoop, "vigil_check.a")},
		resource.TestStep{
			Config: with("wo-second", 2), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, "vigil_check.a"),
			Check: hasNoSecret("wo-first", "wo-second"),
		},
		resource.TestStep{ // a secret that is removed outside is sent again
			PreConfig: func() {
				for _, one := range ofProject(t, project) {
					shared.call(t, http.MethodPut, "/v1/checks/"+one["id"].(string), object{"config": object{
						"url": "https://shop.example/", "basic_auth": object{"username": "ada"},
					}})
				}
			},
			Config: with("wo-second", 2), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, "vigil_check.a"),
			Check: func(*terraform.State) error {
				config := ofProject(t, project)[0]["config"].(object)
				if config["basic_auth"].(object)["password"] != "***" {
					return fmt.Errorf("the check has no password: %v", config)
				}
				return nil
			},
		})
}

func TestWhatApplyManagesIsRefused(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("owned")
	config := small(project, tcp)
	takeOver := func() {
		for _, one := range ofProject(t, project) {
			shared.call(t, http.MethodPut, "/v1/checks/"+one["id"].(string), object{
				"interval_seconds": 900, "managed_by": object{"tool": "apply", "project": project, "key": "a"},
			})
		}
	}
	release := func() {
		for _, one := range shared.list(t, "/v1/checks?tool=apply&project="+project) {
			shared.call(t, http.MethodPut, "/v1/checks/"+one["id"].(string), object{"managed_by": nil})
		}
	}
	refused := regexp.MustCompile(`(?s)managed[\s│]+by[\s│]+apply.*vigil[\s│]+release[\s│]+check`)
	steps(t,
		resource.TestStep{Config: config},
		resource.TestStep{PreConfig: takeOver, Config: config, ExpectError: refused},
		resource.TestStep{
			ResourceName: "vigil_check.a", ImportState: true, ExpectError: refused,
			ImportStateIdFunc: func(state *terraform.State) (string, error) {
				return state.RootModule().Resources["vigil_check.a"].Primary.ID, nil
			},
		},
		resource.TestStep{ // what is released is adopted again
			PreConfig: release, Config: config, ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, "vigil_check.a"),
			Check: resource.TestCheckResourceAttr("vigil_check.a", "managed_by.tool", "terraform"),
		})
}

func TestImportNames(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("imported")
	config := small(project, "  key = \"home\"\n"+tcp) + `
resource "vigil_status_page" "p" {
  slug  = "` + project + `"
  title = "a"
}`
	imported := func(name, id string) resource.TestStep {
		return resource.TestStep{
			ResourceName: name, ImportState: true, ImportStateId: id, ImportStateVerify: true, ImportStateVerifyIgnore: []string{"key"},
		}
	}
	wrong := imported("vigil_check.a", "shop")
	wrong.ImportStateVerify = false
	wrong.ExpectError = regexp.MustCompile(`(?s)its[\s│]+id,[\s│]+or[\s│]+key:PROJECT/KEY,[\s│]+or[\s│]+name:NAME`)
	missing := imported("vigil_check.a", "key:"+project+"/nothing")
	missing.ImportStateVerify, missing.ExpectError = false, regexp.MustCompile(`There[\s│]+is[\s│]+no[\s│]+check`)
	steps(t, resource.TestStep{Config: config}, imported("vigil_check.a", "key:"+project+"/home"),
		imported("vigil_check.a", "name:a of "+project), imported("vigil_status_page.p", "slug:"+project), wrong, missing)
}

func TestUnknownValuesPassThePlan(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("unknown")
	w := overridden(t, shared, header(project)+`
resource "terraform_data" "hosts" { input = { a = "a.example", b = "b.example" } }
resource "terraform_data" "probe" { input = { host = "c.example", port = 1 } }
resource "vigil_check" "each" {
  for_each         = toset(["a", "b"])
  name             = terraform_data.hosts.output[each.key]
  interval_seconds = 600
  enabled          = false
  labels           = { host = terraform_data.hosts.output[each.key] }
  tcp              = { host = terraform_data.hosts.output[each.key], port = 1 }
}
resource "vigil_check" "whole" {
  name             = "whole"
  interval_seconds = 600
  enabled          = false
  tcp              = terraform_data.probe.output
}`)
	w.apply()
	for _, one := range ofProject(t, project) {
		if host := one["config"].(object)["host"]; host != one["name"] && one["name"] != "whole" {
			t.Errorf("the check %s has the host %s", one["name"], host)
		}
	}
	w.run("destroy", "-auto-approve", "-no-color")
}

func TestDefaultLabelsAreAdded(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("labelled")
	with := func(defaults string) string {
		return `
provider "vigil" {
  project        = "` + project + `"
  default_labels = ` + defaults + `
}
resource "vigil_check" "a" {
  name             = "a"
  interval_seconds = 600
  enabled          = false
  labels           = { own = "1", team = "search" }
  tcp              = { host = "a.example", port = 1 }
}`
	}
	is := func(name, value string) resource.TestCheckFunc {
		return resource.TestCheckResourceAttr("vigil_check.a", name, value)
	}
	steps(t,
		resource.TestStep{Config: with(`{ team = "shop", by = "terraform" }`), Check: resource.ComposeAggregateTestCheckFunc(
			is("labels.%", "2"), is("all_labels.%", "3"), is("all_labels.team", "search"), is("all_labels.by", "terraform"))},
		resource.TestStep{
			Config: with(`{ by = "code" }`), ConfigPlanChecks: expect(plancheck.ResourceActionUpdate, "vigil_check.a"),
			Check: resource.ComposeAggregateTestCheckFunc(is("labels.%", "2"), is("all_labels.%", "3"), is("all_labels.by", "code")),
		})
}
