// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// TestRotateSecretOfAChannel rotates the secret of a webhook on its page, which shows it once.
func TestRotateSecretOfAChannel(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	list := b.follow(t, "/app/channels", url.Values{
		"type": {"webhook"}, "name": {"Hook"}, "config.url": {"https://hooks.example.com/"}, "config.secret": {"hunter2"},
	})
	path := linkOf(t, list.text, `/app/channels/[0-9a-f-]{36}`, "Hook")
	b.get(t, http.StatusOK, path).shows(t, path+"/rotate")
	b.get(t, http.StatusOK, path+"/rotate").shows(t, "for a day", "which is shown once")
	secret := func(text string) string { return regexp.MustCompile(`whsec_[A-Za-z0-9&#;+/=]+`).FindString(text) }

	rotated := b.post(t, http.StatusOK, path+"/rotate", url.Values{"overlap_seconds": {"3600"}})
	rotated.shows(t, "The secret is rotated", "signs messages too until")
	first := secret(rotated.text)
	if first == "" {
		t.Fatalf("no secret: %s", rotated.text)
	}
	shown := b.get(t, http.StatusOK, path)
	if shown.shows(t, "also signed by the replaced secret until"); strings.Contains(shown.text, first) {
		t.Error("the page of the channel shows the secret")
	}
	b.post(t, http.StatusConflict, path+"/rotate", url.Values{"overlap_seconds": {"3600"}}).shows(t, "Not rotated yet.", "Rotate all the same")
	forced := b.post(t, http.StatusOK, path+"/rotate", url.Values{"overlap_seconds": {"0"}, "force": {"true"}})
	forced.shows(t, "signed by it alone")
	if secret(forced.text) == first {
		t.Error("the secret stays")
	}
	other, _ := s.signUp(t)
	other.get(t, http.StatusNotFound, path+"/rotate")
	other.post(t, http.StatusNotFound, path+"/rotate", url.Values{"overlap_seconds": {"0"}})
}
