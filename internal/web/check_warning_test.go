// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFormSaysWhichRegionsHaveNoWorker: a check is saved there, and the page says that it is not
// probed; so does the switch that resumes it.
func TestFormSaysWhichRegionsHaveNoWorker(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	const said = "regions: af-south-jnb has no worker, so the check is not probed from there"
	saved := func(what string, p *opened, want bool) (path string) {
		t.Helper()
		if p = p.press(t, ""); p.status != http.StatusSeeOther {
			t.Fatalf("%s: status %d, %s", what, p.status, p.summary())
		}
		if got := strings.Contains(o.view(t, p.location).raw, said); got != want {
			t.Errorf("%s: the page warns: %t, want %t", what, got, want)
		}
		return p.location
	}
	p := o.view(t, "/app/checks/new?type=https")
	p.enter(t, "name", "Orders")
	p.enter(t, "config.url", "https://orders.harbor.example/")
	path := saved("created where workers are", p, false)
	p = o.view(t, path+"/edit")
	p.values["regions"] = append(p.values["regions"], "af-south-jnb")
	saved("in a region more", p, true)
	saved("nothing changed", o.view(t, path+"/edit"), false)
	o.follow(t, path+"/enabled", url.Values{"enabled": {"false"}}).shows(t, "Paused", "Undo")
	o.follow(t, path+"/enabled", url.Values{"enabled": {"true"}}).shows(t, "Resumed. "+said, "Undo")
}
