// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
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

// pingKeyOn finds a ping key on a page.
var pingKeyOn = regexp.MustCompile(`vgp_[a-z0-9]{26}`)

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

	t.Run("MakesShowsRotatesAndRevokesThePingKey", func(t *testing.T) {
		t.Parallel()
		b, _ := s.signUp(t)
		const path = "/app/organization/ping-key"
		b.get(t, http.StatusNotFound, path)
		b.get(t, http.StatusNotFound, path+"/revoke")
		b.get(t, http.StatusOK, "/app/organization").shows(t, "Make a ping key")
		first := pingKeyOn.FindString(b.post(t, http.StatusCreated, path, nil).text)
		b.post(t, http.StatusConflict, path, nil)
		page := b.get(t, http.StatusOK, "/app/organization")
		page.shows(t, first[:12]+"…", `href="`+path+`"`)
		page.without(t, first, "Make a ping key")
		b.get(t, http.StatusOK, path).shows(t, ">"+first+"<", "/p/"+first+"/nightly-backup?create=1")
		b.get(t, http.StatusOK, path+"/rotate").shows(t, "Rotate the ping key?", "all jobs that use it need the new one")
		rotated := b.post(t, http.StatusOK, path+"/rotate", nil)
		rotated.without(t, first)
		if second := pingKeyOn.FindString(rotated.text); first == "" || second == "" {
			t.Errorf("made %q, rotated %q", first, second)
		}
		b.get(t, http.StatusOK, path+"/revoke").shows(t, "Revoke the ping key?")
		b.follow(t, path+"/revoke", nil).shows(t, "The ping key is revoked", "Make a ping key")
		b.post(t, http.StatusNotFound, path+"/rotate", nil)
		b.post(t, http.StatusNotFound, path+"/revoke", nil)
	})

	t.Run("AViewerHasNoPingKey", func(t *testing.T) {
		t.Parallel()
		owner, _ := s.signUp(t)
		owner.post(t, http.StatusCreated, "/app/organization/ping-key", nil)
		viewer := s.joins(t, owner, "sees@example.com", "viewer")
		viewer.get(t, http.StatusOK, "/app/organization").without(t, "ping-key", "vgp_")
		for _, path := range []string{"", "/rotate", "/revoke"} {
			viewer.get(t, http.StatusForbidden, "/app/organization/ping-key"+path).without(t, "vgp_")
			viewer.post(t, http.StatusForbidden, "/app/organization/ping-key"+path, nil).without(t, "vgp_")
		}
		editor := s.joins(t, owner, "edits@example.com", "editor")
		editor.get(t, http.StatusOK, "/app/organization/ping-key").shows(t, "vgp_")
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
