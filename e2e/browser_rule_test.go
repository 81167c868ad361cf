// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestBrowserRuleIsTried edits a rule in the dashboard, and follows what it would have done
// on the results of a target that flapped. The steps are one story, in order.
func TestBrowserRuleIsTried(t *testing.T) {
	timingtest.Parallel(t)
	c, shop := theChromium(t), newService(t)
	p, _ := shared(t)
	const email, password = "mara@rules.example", "a long password 2"
	var account struct {
		Token string `json:"token"`
	}
	api := client{t: t, url: p.ready.APIURL}
	api.into(&account, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": email, "password": password, "name": "Mara", "organization_name": "Harbor"})
	api.key = account.Token
	var checkout check
	api.into(&checkout, http.MethodPost, "/v1/checks", httpCheck("Checkout", shop.URL+"/checkout", 1, "eu-central-fra"))
	api.into(nil, http.MethodPost, "/v1/notification-channels",
		map[string]any{"name": "ops", "type": "webhook", "config": map[string]any{"url": shop.URL + "/hook"}})
	probed := func(more int64) {
		from := shop.hits("/checkout")
		eventually(t, "the check is probed", func() bool { return shop.hits("/checkout") >= from+more })
	}
	for range 2 {
		probed(2)
		shop.fail("/checkout")
		probed(3)
		shop.repair("/checkout")
		probed(2)
	}

	b := c.open(t, p.ready.APIURL)
	b.visit("/app/sign-in?next=/app/checks/" + checkout.ID + "/rules/new")
	b.fill("Email", email)
	b.fill("Password", password)
	b.press("Sign in")
	b.shows("Would have opened 2 incidents")
	b.judge("a new rule")
	b.enter("condition.recovery_threshold", "100")
	b.shows("Would have opened 1 incident")
	b.shows("Each channel would have received 1 message.")
	b.judge("a rule that would have opened an incident")
	for _, theme := range []string{"light", "dark"} {
		b.picture("rule-"+theme, theme, 1440)
	}
	b.picture("rule-phone", "light", 360)
	b.enter("condition.failure_threshold", "0")
	b.shows("condition.failure_threshold: must be a whole number from 1 to 1000")
	b.judge("a rule with a mistake")
	b.enter("condition.failure_threshold", "900")
	b.shows("Would have opened 0 incidents")
	b.press("Try against the last 7 days")
	b.shows("Would have opened 0 incidents")
	b.judge("a rule that was tried")
	b.enter("condition.failure_threshold", "2")
	b.shows("Would have opened 1 incident")
	b.press("Create rule")
	b.shows("It resolves after 100 good results in a row.")

	b.scripts(false)
	b.visit("/app/checks/" + checkout.ID + "/rules/new")
	b.press("Try against the last 7 days")
	b.shows("Would have opened 2 incidents")
	b.scripts(true)
}
