// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// past stores results of a check, a minute apart and until now: up (+) or down (x).
func (f *machines) past(t *testing.T, check uuid.UUID, letters string) {
	t.Helper()
	first := time.Now().UTC().Truncate(time.Minute).Add(-time.Duration(len(letters)) * time.Minute)
	for n, letter := range letters {
		slot := first.Add(time.Duration(n) * time.Minute)
		row := vigil.Result{ID: vigil.ResultID(check, newark, slot), CheckID: check, Region: newark, Slot: slot, Time: slot}
		if row.Success = letter == '+'; !row.Success {
			row.Error = "connection refused"
		}
		if _, err := f.results.Write(t.Context(), vigil.ResultRow{Worker: "w1", Deadline: 5 * time.Second, Result: row}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRuleIsTriedWhileItIsEdited asks what a rule would have done, with scripts and without.
func TestRuleIsTriedWhileItIsEdited(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	b := f.b
	check, channel := f.site.check(t, b), f.channel(t, b)
	rules := "/app/checks/" + check + "/rules"
	b.get(t, http.StatusOK, rules+"/new").shows(t, `hx-post="`+rules+`/try"`, `aria-live="polite"`, "Try against the last 7 days",
		`formaction="`+rules+`/try"`)
	form := url.Values{
		"name": {"Down"}, "when": {"health_status"}, "condition.health_status": {"down"}, "severity": {"critical"}, "notify_on": {"both"},
		"region_policy": {"any"}, "condition.recovery_threshold": {"1"}, "enabled": {"true"},
	}
	b.post(t, http.StatusOK, rules+"/try", form).shows(t, "No results in the last 7 days", `value="Down"`, "Create rule")

	f.past(t, uuid.MustParse(check), "+x++x+x+++")
	part := b.post(t, http.StatusOK, rules+"/try", form, "Hx-Request", "true")
	part.shows(t, "Would have opened <b>3 incidents</b>", "the longest for 1 min", "Each channel would have received 6 messages")
	if strings.Contains(part.text, "<html") {
		t.Error("a request of htmx gets the whole page")
	}
	form.Set("condition.recovery_threshold", "3")
	b.post(t, http.StatusOK, rules+"/try", form).shows(t, "Would have opened <b>1 incident</b>", "open for 8 min", `value="3"`)
	form.Set("condition.health_status", "up")
	form.Set("when", "failure_threshold")
	form.Set("condition.failure_threshold", "900")
	b.post(t, http.StatusOK, rules+"/try", form, "Hx-Request", "true").shows(t, "Would have opened <b>0 incidents</b>")

	// What the API refuses is said in its words, without the forms of its JSON.
	form.Del("when")
	for _, header := range [][]string{{"Hx-Request", "true"}, nil} {
		status := http.StatusUnprocessableEntity
		if header != nil {
			status = http.StatusOK
		}
		refused := b.post(t, status, rules+"/try", form, header...)
		refused.shows(t, "condition: has no key that could make the rule fire")
		if strings.Contains(refused.text, "Accepted forms") {
			t.Error("the forms of the JSON are shown")
		}
	}

	// A saved rule is replayed beside what is typed.
	form["when"], form["notification_channel_ids"] = []string{"health_status"}, []string{channel}
	form.Set("condition.health_status", "down")
	list := b.follow(t, rules, form)
	path := linkOf(t, list.text, rules+`/[0-9a-f-]{36}`, "Down")
	form.Set("condition.recovery_threshold", "1")
	b.post(t, http.StatusOK, path+"/try", form, "Hx-Request", "true").shows(t, "<b>3 incidents</b>", "The saved rule: 1 incident.")
}
