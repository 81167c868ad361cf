// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
)

// TestLocationLives takes a location through its life. Its token stays in the state, and another key makes another one.
func TestLocationLives(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	key := "loc-" + unique("office")
	made := func(members string) string {
		return "resource \"vigil_location\" \"office\" {\n" + members + "\n}\n" +
			"data \"vigil_location\" \"office\" {\n  key = vigil_location.office.key\n}\n"
	}
	does := func(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
		return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("vigil_location.office", action)}}
	}
	token := resource.TestMatchResourceAttr("vigil_location.office", "token", regexp.MustCompile(`^vga_[0-9a-z]{26}$`))
	resource.Test(t, resource.TestCase{ProtoV6ProviderFactories: inProcess(), Steps: []resource.TestStep{
		{
			Config:           made(`  name = "Office"` + "\n" + `  key = "` + key + `"`),
			ConfigPlanChecks: does(plancheck.ResourceActionCreate),
			Check: resource.ComposeTestCheckFunc(token, resource.TestCheckResourceAttr("data.vigil_location.office", "state", "never"),
				resource.TestCheckNoResourceAttr("data.vigil_location.office", "token")),
		},
		{
			Config:           made(`  name = "Office, 2nd floor"` + "\n" + `  key = "` + key + `"` + "\n" + `  labels = { site = "berlin" }`),
			ConfigPlanChecks: does(plancheck.ResourceActionUpdate), Check: token,
		},
		{
			ResourceName: "vigil_location.office", ImportState: true, ImportStateId: "key:" + key, ImportStateVerify: true,
			ImportStateVerifyIgnore: []string{"token", "labels", "labels.%", "labels.site"},
		},
		{
			Config:           made(`  name = "Office"` + "\n" + `  key = "` + key + `-2"`),
			ConfigPlanChecks: does(plancheck.ResourceActionReplace), Check: token,
		},
	}})
}
