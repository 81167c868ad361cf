// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// joins invites a person to the organization of an owner, and accepts in a browser of their own.
func (s *site) joins(t *testing.T, owner *browser, email, role string) *browser {
	t.Helper()
	owner.post(t, http.StatusSeeOther, "/app/members", url.Values{"email": {email}, "role": {role}})
	at, err := url.Parse(s.mails.link(t, email, "/app/invitation"))
	if err != nil {
		t.Fatal(err)
	}
	b := s.browser(t)
	b.post(t, http.StatusSeeOther, "/app/invitation", url.Values{
		"token": {at.Query().Get("token")}, "name": {"Grace " + role}, "password": {password},
	})
	return b
}

func TestOrganizationPage(t *testing.T) {
	t.Parallel()
	s := open(t, "")

	t.Run("RenamesTheOrganization", func(t *testing.T) {
		t.Parallel()
		b, _ := s.signUp(t)
		page := b.follow(t, "/app/organization", url.Values{"name": {"Difference & Engines"}})
		page.shows(t, "The organization is named Difference &amp; Engines.", `value="Difference &amp; Engines"`,
			"<span>Difference &amp; Engines</span>") // of the navigation
		b.post(t, http.StatusUnprocessableEntity, "/app/organization", url.Values{"name": {"  "}}).
			shows(t, "The name stays as it is.", `id="f-name-error"`)
		b.get(t, http.StatusOK, "/app/organization").shows(t, "Difference &amp; Engines")
	})

	t.Run("AViewerReadsIt", func(t *testing.T) {
		t.Parallel()
		owner, _ := s.signUp(t)
		viewer := s.joins(t, owner, "reads@example.com", "viewer")
		page := viewer.get(t, http.StatusOK, "/app/organization")
		page.shows(t, "An owner renames and deletes the organization.")
		if strings.Contains(page.text, "<h2>Rename it") {
			t.Error("the page offers what the role does not allow")
		}
		viewer.post(t, http.StatusForbidden, "/app/organization", url.Values{"name": {"Mine"}}).
			shows(t, "Your role in the organization is viewer")
		owner.get(t, http.StatusOK, "/app/organization").shows(t, "Engines")
	})
}
