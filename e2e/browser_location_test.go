// SPDX-License-Identifier: Apache-2.0

package e2e_test

// locationPages makes a location, whose token is shown once, and looks at what its pages say.
func (d *dashboard) locationPages() namedPages {
	b := d.b
	b.visit("/app/locations")
	b.press("New location")
	b.until("the form", `location.pathname === "/app/locations/new"`)
	b.fill("Name", "Office")
	b.fill("Key", "office")
	b.press("Create location")
	b.shows("must be loc-")
	b.fill("Key", "loc-office")
	b.press("Create location")
	b.shows("Office is created")
	b.shows("--token-file office.token")
	b.judge("the token of a location")
	b.picture("location-token", "light", 1440)
	b.picture("location-token-phone", "dark", 390)
	b.visit("/app/locations")
	b.shows("No agent reports from here.")
	return namedPages{{"locations", "/app/locations"}, {"location-new", "/app/locations/new"}}
}
