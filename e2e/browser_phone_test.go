// SPDX-License-Identifier: Apache-2.0

package e2e_test

import "strings"

// unlabeled returns the values of lists on the page that nothing says the meaning of: beside the name of a row and the
// mark of its state, each value that is shown has its label.
const unlabeled = `[...document.querySelectorAll("main table tbody tr:not(.group) > td:not(:first-child)")]
	.filter(e => e.checkVisibility() && e.innerText.trim() && !e.querySelector("button, a.button, svg, summary"))
	.filter(e => ["::before", "::after"].every(part => !getComputedStyle(e, part).content.includes('"' + e.dataset.label + '"')))
	.slice(0, 5).map(e => e.closest("table").className + ": " + e.className + ": " + e.innerText.trim().slice(0, 60))`

// onAPhone finds a check by search and by group, and reads the lists, in a window of 360 px.
func (d *dashboard) onAPhone() {
	b := d.b
	b.resize(360, 800)
	b.visit("/app?group=none")
	shown := `[...document.querySelectorAll("tr[data-check] th a")].filter(e => e.checkVisibility()).length`
	if all := eval[int](b, shown); all < 2 {
		b.t.Fatalf("%d checks are shown", all)
	}
	b.press("Filter and group")
	b.fill("Filter by name, target, label, error or city", "Checkout")
	b.keys("\r")
	b.until("only the check that is looked for", shown+" === 1")
	b.visit("/app?group=none")
	b.press("Filter and group")
	b.press("Group: none")
	b.press("type")
	b.until("the checks in groups", `[...document.querySelectorAll("tr.group")].some(e => e.checkVisibility())`)
	for _, page := range []string{
		"/app", d.check, d.check + "/rules", "/app/rules", "/app/incidents", "/app/deliveries", d.delivery, "/app/channels", "/app/members",
		"/app/maintenance", "/app/subscriptions", "/app/api-keys", "/app/locations", "/app/usage", "/app/audit-log", "/app/account",
		"/app/reports",
	} {
		b.visit(page)
		if cells := eval[[]string](b, unlabeled); len(cells) > 0 {
			b.t.Errorf("%s shows values without their label:\n\t%s", page, strings.Join(cells, "\n\t"))
		}
	}
	b.resize(1440, 900)
}
