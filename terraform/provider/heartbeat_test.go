// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// TestHeartbeatLives takes a heartbeat through its life. Its interval and its region follow from its schedule.
func TestHeartbeatLives(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	made := func(members string) string {
		return "provider \"vigil\" {\n  project = \"" + unique("heartbeat") + "\"\n}\n" +
			"resource \"vigil_check\" \"backup\" {\n  name = \"Backup\"\n  enabled = false\n  heartbeat = " + members + "\n}\n" +
			"data \"vigil_check\" \"backup\" {\n  id = vigil_check.backup.id\n}\n"
	}
	before := made(`{ schedule = { every_seconds = 300 }, grace_seconds = 60, max_duration_seconds = 30, require_start = true }`)
	after := made(`{ schedule = { cron = "0 3 * * *", timezone = "Europe/Berlin" }, grace_seconds = 900 }`)
	does := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("vigil_check.backup", action)}}
	}
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: inProcess(), Steps: []resource.TestStep{
		{
			Config: before, ConfigPlanChecks: does(plancheck.ResourceActionCreate), Check: resource.ComposeTestCheckFunc(
				resource.TestCheckResourceAttr("vigil_check.backup", "interval_seconds", "300"),
				resource.TestCheckResourceAttr("vigil_check.backup", "regions.0", "heartbeat"),
				resource.TestMatchResourceAttr("vigil_check.backup", "ping_url", regexp.MustCompile(`^http.*/p/[a-z0-9]{26}$`)),
				resource.TestCheckResourceAttrPair("vigil_check.backup", "ping_url", "data.vigil_check.backup", "ping_url"),
				pings("vigil_check.backup"),
			),
		},
		{
			Config: after, ConfigPlanChecks: does(plancheck.ResourceActionUpdate),
			Check: resource.TestCheckResourceAttr("vigil_check.backup", "interval_seconds", "86400"),
		},
		{
			Config: strings.Replace(
				after,
				"heartbeat = { schedule",
				"interval_seconds = 60\n  https = { url = \"https://example.com\" } # { schedule",
				1,
			),
			Check: resource.TestCheckNoResourceAttr("vigil_check.backup", "ping_url"),
		},
		{
			Config: after,
			Check:  resource.ComposeTestCheckFunc(resource.TestCheckResourceAttrSet("vigil_check.backup", "ping_url"), pings("vigil_check.backup")),
		},
		{ResourceName: "vigil_check.backup", ImportState: true, ImportStateVerify: true, ImportStateVerifyIgnore: ignoredAfterImport("")},
	}})
}

// pings pings the ping_url of a heartbeat.
func pings(name string) resource.TestCheckFunc {
	return func(state *terraform.State) error {
		at := state.RootModule().Resources[name].Primary.Attributes["ping_url"]
		response, err := http.Get(at) //nolint:noctx // an address of the platform that the test has started
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("a ping is answered with %s", response.Status)
		}
		return nil
	}
}
