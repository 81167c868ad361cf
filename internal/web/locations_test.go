// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLocations makes a location by the form, sees its token once, and changes and deletes it.
func TestLocations(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	b.get(t, http.StatusOK, "/app/locations").shows(t, "No location yet", "An agent is a small program")
	b.post(t, http.StatusUnprocessableEntity, "/app/locations", url.Values{"name": {"Office"}, "key": {"office"}}).
		shows(t, `id="f-key-error"`, `value="Office"`)
	made := b.post(t, http.StatusCreated, "/app/locations", url.Values{"name": {"Office"}, "labels": {"site=berlin, floor=2"}})
	made.shows(t, "Office is created", "--token-file office.token", "No agent yet", "floor=2, site=berlin", "loc-office")
	token := regexp.MustCompile(`vga_[0-9a-z]{26}`).FindString(made.text)
	if token == "" {
		t.Fatalf("no token on the page: %s", made.text)
	}
	list := b.get(t, http.StatusOK, "/app/locations")
	if strings.Contains(list.text, token) {
		t.Error("the token is shown again")
	}
	path := regexp.MustCompile(`/app/locations/[0-9a-f-]{36}`).FindString(list.text)
	b.get(t, http.StatusOK, path).shows(t, `value="floor=2, site=berlin"`)
	b.follow(t, path, url.Values{"name": {"Office, 2nd floor"}, "labels": {""}}).shows(t, "The location is saved", "Office, 2nd floor")
	b.get(t, http.StatusOK, path+"/rotate-token").shows(t, "another token?")
	if rotated := b.post(
		t,
		http.StatusOK,
		path+"/rotate-token",
		url.Values{},
	); !regexp.MustCompile(`vga_[0-9a-z]{26}`).
		MatchString(rotated.text) ||
		strings.Contains(rotated.text, token) {
		t.Errorf("another token is not shown: %s", rotated.text)
	}
	b.get(t, http.StatusOK, "/app/checks/new").shows(t, "loc-office", "Office, 2nd floor")
	stranger, _ := s.signUp(t)
	for _, of := range []string{"", "/rotate-token", "/delete"} {
		stranger.get(t, http.StatusNotFound, path+of)
	}
	stranger.post(t, http.StatusNotFound, path+"/delete", url.Values{})
	b.get(t, http.StatusOK, path+"/delete").shows(t, "Delete “Office, 2nd floor”?")
	b.follow(t, path+"/delete", url.Values{}).shows(t, "The location is deleted", "No location yet")
}

// TestLocationIsShownByItsName proves that the pages of a check say the name of a location where they say the city of a region.
func TestLocationIsShownByItsName(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	o.call(t, http.MethodPost, "/v1/locations", map[string]any{"name": "Harbor office", "key": "loc-harbor"}, nil)
	var made stored
	o.call(t, http.MethodPost, "/v1/checks", map[string]any{
		"name": "Crane", "type": "https", "interval_seconds": 60, "regions": []string{"loc-harbor", "eu-central-fra"},
		"config": map[string]any{"url": "https://crane.harbor.example/"},
	}, &made)
	if p := o.view(t, "/app/checks/"+made.ID); !strings.Contains(p.raw, "Harbor office") {
		t.Errorf("the page of the check does not show the name of the location: %s", p.raw)
	}
	p := o.view(t, "/app/checks/"+made.ID+"/edit")
	if got := p.values["regions"]; !slices.Contains(got, "loc-harbor") || !strings.Contains(p.raw, "no agent") {
		t.Errorf("the form has the regions %v", got)
	}
	if p = p.press(t, ""); p.status != http.StatusSeeOther {
		t.Errorf("saved as it is: status %d, %s", p.status, p.summary())
	}
}
