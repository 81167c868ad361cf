// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestFormsHaveBounds pins that a form with too much in it is refused before anything is done
// with it, and one with as much as it may have is not.
func TestFormsHaveBounds(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	rows := func(count int) url.Values {
		form := url.Values{"type": {"https"}, "do": {"remove:labels[0]"}}
		for i := range count {
			form.Set(fmt.Sprintf("config.headers[%d].name", 3*i), "X")
		}
		return form
	}
	many := func(name string, count int) url.Values {
		form := url.Values{"type": {"https"}, "do": {"remove:labels[0]"}}
		for i := range count {
			form.Add(name, fmt.Sprint(i))
		}
		return form
	}
	for name, tt := range map[string]struct {
		path, says string
		form       url.Values
	}{
		"Rows":            {"/app/checks/new", "The form has 1001 rows.", rows(1001)},
		"Fields":          {"/app/checks/new", "The form has 8002 fields.", rows(8000)},
		"EmptyFields":     {"/app/checks/new", "fields. It may have 5000.", url.Values{strings.Repeat("a", 100): make([]string, 9000)}},
		"Values":          {"/app/checks/new", "has 1001 values", many("regions", 1001)},
		"ChecksOfAPage":   {"/app/status-pages", "has 1001 values", many("check", 1001)},
		"ChecksOfAWindow": {"/app/maintenance", "has 1001 values", many("check", 1001)},
		"Subscribed":      {"/app/subscriptions", "has 1001 values", many("check", 1001)},
		"SelectedChecks":  {"/app/checks/bulk", "has 1001 values", many("id", 1001)},
		"WithoutASession": {"/app/sign-in", "The form has 8002 fields.", rows(8000)},
		"TooLarge":        {"/app/checks/new", "The form could not be read.", url.Values{"name": {strings.Repeat("x", 1<<20)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.post(t, http.StatusBadRequest, tt.path, tt.form).shows(t, tt.says)
		})
	}
	t.Run("AsMuchAsThereMayBe", func(t *testing.T) {
		t.Parallel()
		o.post(t, http.StatusOK, "/app/checks/new", rows(1000)).shows(t, "config.headers[2997].name")
	})
	t.Run("AWindowOfChecksThatDoNotExist", func(t *testing.T) {
		t.Parallel()
		o.post(t, http.StatusUnprocessableEntity, "/app/maintenance", many("check", 1000)).shows(t, "Not planned yet.")
	})
}
